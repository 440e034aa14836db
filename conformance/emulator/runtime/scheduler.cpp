// Blocks one after another, the warps of a block in turn, each lane up to its next barrier or warp operation.
#include "machine.h"

namespace {
int barrier_op, barrier_count, barrier_result;

void visit(u32 *v, u32 n) {
  for (u32 i = 0; i < n; i++) v[i] = order == EMU_REVERSE ? n - 1 - i : i;
  if (order == EMU_RANDOM)
    for (u32 i = n; i > 1; i--) {
      const u32 j = random_below(i), t = v[i - 1];
      v[i - 1] = v[j];
      v[j] = t;
    }
}

void report_deadlock() {
  u32 blocked = 0, waiting = 0, exited = 0, b = 0, w = 0, m = ~0u;
  for (u32 t = 0; t < threads; t++) {
    if (lanes[t].state == State::at_mbarrier && m == ~0u) m = t;
    if (lanes[t].state == State::at_barrier) blocked++, b = t;
    if (lanes[t].state == State::at_warp) waiting++, w = t;
    if (lanes[t].state == State::done) exited++;
  }
  if (m != ~0u) {
    const Mbarrier &at = mbarriers[waits_for[m]];
    if (waits_for[m] < NAMED)
      record(EMU_DEADLOCK, m, lanes[m].site, 0, "waits at named barrier %u, which %u of %u threads never reach; %u have exited",
             u32(waits_for[m]), at.pending, at.arrivals, exited);
    else
      record(EMU_DEADLOCK, m, lanes[m].site, 0,
             "waits at an mbarrier whose phase %u never ends: %u of %u arrivals and %lld bytes are missing; %u threads have exited",
             at.phase, at.pending, at.arrivals, at.bytes, exited);
  } else if (blocked)
    record(EMU_DEADLOCK, w, lanes[w].site, lanes[b].site,
           "%u threads wait at a warp operation (mask %08x) and %u at a block barrier; %u have exited", waiting,
           lanes[w].mask, blocked, exited);
  else
    record(EMU_DEADLOCK, w, lanes[w].site, 0,
           "%u threads wait at warp operations that the lanes of the mask (%08x) never reach together; %u have exited",
           waiting, lanes[w].mask, exited);
  stopping = true;
}

// Lets the block pass its barrier; false when that ends the launch.
bool pass_barrier() {
  u32 first = ~0u;
  for (u32 t = 0; t < threads; t++) {
    Lane &a = lanes[t];
    if (a.state != State::at_barrier) continue;
    if (first == ~0u) first = t;
    if (checking && a.barrier != lanes[first].barrier) {
      record(EMU_BARRIER, t, a.site, lanes[first].site, "threads of one block wait at different barriers");
      return false;
    }
  }
  if (checking && live != threads) {
    record(EMU_BARRIER, first, lanes[first].site, 0, "barrier in divergent code: %u of %u threads have exited",
           threads - live, threads);
    return false;
  }
  barrier_result = barrier_op == EMU_BARRIER_AND  ? barrier_count == int(live)
                   : barrier_op == EMU_BARRIER_OR ? barrier_count != 0
                                                  : barrier_count;
  for (u32 t = 0; t < threads; t++)
    if (lanes[t].state == State::at_barrier) lanes[t].state = State::ready;
  barrier_count = 0;
  at_barrier = 0;
  phase++;
  return true;
}

void begin_block_state() {
  block_phase = ++phase;
  live = threads;
  at_barrier = 0;
  barrier_count = 0;
  for (u32 i = 0; i < space_count; i++) {
    Space &s = spaces[i];
    if (!s.shared || !s.touched) continue;
    memset((void *)s.low, 0xff, s.high - s.low);
    if (checking) memset(s.state, EMU_ELEMENT | EMU_WRITABLE, s.high - s.low);
    s.touched = false;
  }
  u32 t = 0;
  for (u32 z = 0; z < blockDim.z; z++)
    for (u32 y = 0; y < blockDim.y; y++)
      for (u32 x = 0; x < blockDim.x; x++, t++) {
        Lane &a = lanes[t];
        a.state = State::fresh;
        a.index = {x, y, z};
        memset(a.clock, 0, sizeof a.clock);
        a.clock[t & 31] = 1;
      }
  for (u32 w = 0; w < warps; w++) {
    const u32 n = threads - w * WARP;
    warp_running[w] = n >= WARP ? ~0u : (1u << n) - 1;
    warp_waiting[w] = 0;
  }
  begin_overflow();
  if (checking) begin_block();
}

void run_block() {
  begin_block_state();
  u32 warp_order[WARP];
  while (live && !stopping) {
    visit(warp_order, warps);
    for (u32 i = 0; i < warps; i++) {
      turn.base = warp_order[i] * WARP;
      turn.n = threads - turn.base < WARP ? threads - turn.base : WARP;
      for (bool any = true; any;) {
        visit(turn.lane, turn.n);
        any = run_turn() || answer_masks(turn.base, turn.n);
        if (stopping) return;
      }
    }
    if (!live) return;
    if (land_awaited()) continue;
    if (at_barrier != live) return report_deadlock();
    if (!pass_barrier()) {
      stopping = true;
      return;
    }
  }
}

u64 common_divisor(u64 a, u64 b) {
  while (b) {
    const u64 t = a % b;
    a = b;
    b = t;
  }
  return a;
}

void run_grid(const emu_launch *c) {
  const u64 blocks = u64(c->grid[0]) * c->grid[1] * c->grid[2];
  u64 step = 1, start = 0;
  if (order == EMU_RANDOM && blocks > 1) {
    const u32 range = blocks > ~0u ? ~0u : u32(blocks);
    start = random_below(range);
    do step = 1 + random_below(range);
    while (common_divisor(blocks, step) != 1);
  }
  for (u64 i = 0; i < blocks && !stopping; i++) {
    const u64 b = order == EMU_REVERSE ? blocks - 1 - i : order == EMU_RANDOM ? u64((start + __uint128_t(i) * step) % blocks) : i;
    blockIdx = {u32(b % c->grid[0]), u32(b / c->grid[0] % c->grid[1]), u32(b / c->grid[0] / c->grid[1])};
    block_order.push_back(u32(b));
    begin_mbarriers();
    run_block();
    end_mbarriers();
    drop_copies();
    drop_products();
  }
}
}  // namespace

extern "C" {
int emu_barrier(int op, int predicate, int identity) {
  if (doubtful.bytes) settle();
  Lane &a = lanes[current];
  a.site = EMU_SITE;
  a.barrier = identity;
  a.state = State::at_barrier;
  at_barrier++;
  barrier_op = op;
  barrier_count += predicate != 0;
  yield();
  return barrier_result;
}

void *emu_dynamic_shared() { return dynamic_shared + RED_ZONE; }

void emu_dynamic_shared_size(u32 *bytes) { *bytes = dynamic_bytes; }
}
