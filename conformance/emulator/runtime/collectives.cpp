// Warp collectives complete when every lane that is named in the mask and has not exited has arrived.
#include "machine.h"

namespace {
void record(u32 kind, u32 thread, u32 site, u32 other_site, const char *format, ...);

u64 reduce(u8 op, u64 a, u64 b) {
  switch (op) {
    case EMU_MIN: return (long long)b < (long long)a ? b : a;
    case EMU_MAX: return (long long)b > (long long)a ? b : a;
    case EMU_UMIN: return b < a ? b : a;
    case EMU_UMAX: return b > a ? b : a;
    case EMU_AND: return a & b;
    case EMU_OR: return a | b;
    case EMU_XOR: return a ^ b;
    default: return a + b;
  }
}

void join_clocks(u32 base, u32 lanes_in) {
  u16 joined[WARP] = {};
  for (u32 m = lanes_in; m; m &= m - 1) {
    const u16 *c = lanes[base + u32(__builtin_ctz(m))].clock;
    for (u32 i = 0; i < WARP; i++) joined[i] = c[i] > joined[i] ? c[i] : joined[i];
  }
  for (u32 m = lanes_in; m; m &= m - 1) {
    u32 l = u32(__builtin_ctz(m));
    Lane &a = lanes[base + l];
    memcpy(a.clock, joined, sizeof joined);
    if (a.clock[l] != 0xffff) a.clock[l]++;  // saturates: from here on a race may be missed, none is invented
  }
  if (!mbarriers_used) return;
  for (u32 u = 0; u < threads; u++) {
    u16 most = 0;
    for (u32 m = lanes_in; m; m &= m - 1) {
      const u16 known = seen[base + u32(__builtin_ctz(m))][u];
      most = known > most ? known : most;
    }
    for (u32 m = lanes_in; m; m &= m - 1) seen[base + u32(__builtin_ctz(m))][u] = most;
  }
}

void complete(u32 base, u32 part) {
  const u8 op = lanes[base + u32(__builtin_ctz(part))].op;
  u32 ballot = 0;
  u64 total = 0;
  bool first = true, same = true;
  for (u32 m = part; m; m &= m - 1) {
    u32 l = u32(__builtin_ctz(m));
    u64 v = lanes[base + l].value;
    ballot |= u32(v != 0) << l;
    same &= first || v == lanes[base + u32(__builtin_ctz(part))].value;
    total = first ? v : reduce(op, total, v);
    first = false;
  }
  if (op == EMU_SYNC && checking) join_clocks(base, part);
  if (op == EMU_CALL) {
    void *p[WARP] = {};
    for (u32 m = part; m; m &= m - 1) p[__builtin_ctz(m)] = (void *)lanes[base + u32(__builtin_ctz(m))].value;
    lanes[base + u32(__builtin_ctz(part))].call(p);
  }
  for (u32 m = part; m; m &= m - 1) {
    u32 l = u32(__builtin_ctz(m));
    Lane &a = lanes[base + l];
    a.state = State::ready;
    switch (op) {
      case EMU_SHUFFLE:
        a.result = a.value;
        if (a.source < 0) break;
        if (part >> a.source & 1)
          a.result = lanes[base + u32(a.source)].value;
        else {
          a.result = 0x7ff7fffd7fb77ffdull;  // a signalling NaN in every float width: undefined must not look right
          record(EMU_WARP, base + l, a.site, 0, "shuffle reads lane %d, which takes no part (lanes %08x do): the value is undefined",
                 a.source, part);
        }
        break;
      case EMU_BALLOT: a.result = ballot; break;
      case EMU_ANY: a.result = ballot != 0; break;
      case EMU_ALL: a.result = ballot == part; break;
      case EMU_MATCH_ALL: a.result = same ? part : 0; break;
      case EMU_MATCH_ANY:
        a.result = 0;
        for (u32 k = part; k; k &= k - 1) {
          u32 j = u32(__builtin_ctz(k));
          if (lanes[base + j].value == a.value) a.result |= 1u << j;
        }
        break;
      case EMU_SYNC: case EMU_ARRIVE: case EMU_CALL: break;
      default: a.result = total;
    }
  }
}

void complete_warp(u32 base) {
  u32 waiting = warp_waiting[base / WARP];
  for (u32 m = waiting; m;) {
    const u32 l = u32(__builtin_ctz(m)), mask = lanes[base + l].mask, need = mask & warp_running[base / WARP];
    u32 same = 0;
    for (u32 k = waiting; k; k &= k - 1) {
      const Lane &b = lanes[base + u32(__builtin_ctz(k))];
      if (b.mask == mask && b.op == lanes[base + l].op) same |= 1u << __builtin_ctz(k);
    }
    if (!(need & ~same)) {
      complete(base, need);
      waiting &= ~need;
      warp_waiting[base / WARP] &= ~need;
    }
    m &= ~same & ~(1u << l);
  }
}
// Answers the lanes that ask for the active mask, once no lane of the warp can go on; false where none asks.
bool answer_masks(u32 base, u32 n) {
  u32 asking = 0;
  for (u32 l = 0; l < n; l++) asking |= u32(lanes[base + l].state == State::at_mask) << l;
  for (u32 m = asking; m;) {
    const u32 site = lanes[base + u32(__builtin_ctz(m))].site;
    u32 together = 0;
    for (u32 k = m; k; k &= k - 1) together |= u32(lanes[base + u32(__builtin_ctz(k))].site == site) << __builtin_ctz(k);
    for (u32 k = together; k; k &= k - 1) {
      Lane &a = lanes[base + u32(__builtin_ctz(k))];
      a.result = together;
      a.state = State::ready;
    }
    m &= ~together;
  }
  return asking;
}
}  // namespace

extern "C" {
u64 emu_warp(u32 op, u32 mask, u64 value, int source, void (*call)(void **)) {
  if (doubtful.bytes) settle();
  Lane &a = lanes[current];
  a.site = EMU_SITE;
  if (!(mask >> (current & 31) & 1)) {
    record(EMU_WARP, current, a.site, 0, "the calling lane %u is not in its own mask %08x", current & 31, mask);
    stopping = true;
    yield();
  }
  a.op = u8(op);
  a.mask = mask;
  a.value = value;
  a.source = source;
  a.call = call;
  a.state = State::at_warp;
  const u32 waiting = warp_waiting[current / WARP] |= 1u << (current & 31);
  if (!(mask & warp_running[current / WARP] & ~waiting)) complete_warp(current & ~(WARP - 1));
  if (a.state == State::at_warp || stopping) yield();
  my_clock = a.clock[current & 31];
  return a.result;
}

// The lanes that come to this place while the others wait elsewhere: those are the ones that have diverged.
u32 emu_active_mask() {
  if (doubtful.bytes) settle();
  Lane &a = lanes[current];
  a.site = EMU_SITE;
  a.state = State::at_mask;
  yield();
  my_clock = a.clock[current & 31];
  return u32(a.result);
}
}
