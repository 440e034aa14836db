// Memory checks: bounds and initialisation by a state byte for each byte of memory, races by happens-before.
#include "machine.h"

namespace {
enum class Access : u8 { read, write, atomic };

// A past access. `phase` orders blocks and barriers; `who` is the thread, and in bits 10-13 the bytes of the granule.
struct Stamp {
  u32 phase, site;
  u16 who, clock;
};
// The shadow of one granule: the last write, atomics and reads of two distinct threads each. Two readers of distinct
// warps always leave one that differs from any later writer; in one warp, two distinct lanes do the same.
struct Cell {
  Stamp write, atomic[2], read[2];
  u32 newest;  // the latest phase of a write or an atomic
};
static_assert(sizeof(Cell) == 64, "one cache line");

u8 hot[1024];  // the space that an instruction touched last
u64 cells_used;
u32 last_site;  // of the last checked access: where a loop is, when its time is up

inline u32 thread_of(const Stamp &s) { return s.who & 1023; }
inline u32 bytes_of(const Stamp &s) { return s.who >> 10 & 15; }

bool released(const Stamp &s);  // fences.cpp
bool acquired_in_block(const Stamp &s);

// Whether the access of `s` happens before the current one. `floor` is the phase in which the memory came to be: the
// launch's for global memory, the block's for shared.
inline bool before(const Stamp &s, u32 floor) {
  if (s.phase < floor) return true;
  if (s.phase < block_phase) return released(s);
  if (s.phase < phase || thread_of(s) == current) return true;
  const bool same_warp = (thread_of(s) ^ current) < WARP;
  if (same_warp && lanes[current].clock[s.who & 31] >= s.clock) return true;
  if (mbarriers_used && !same_warp && seen[current][thread_of(s)] >= s.clock) return true;
  return any_fence && acquired_in_block(s);
}

struct DoubtfulRace {
  Space *space;
  uptr at;
  u32 bytes;
  Stamp then;
  u32 site;
};
DoubtfulRace doubtful_race;
bool settling;

u32 ordinal_of(const Stamp &s);
void synchronize(uptr address);
void synchronize_threads(uptr address);

__attribute__((noinline)) void race(Space &s, uptr a, u32 n, Access now, const Stamp &then, Access was, u32 site) {
  const bool both_write = now == Access::write && was == Access::write, same_block = then.phase >= block_phase;
  if (both_write && same_block && n <= sizeof doubtful.before && !settling) {
    doubtful_race = {&s, a, n, then, site};
    doubtful.bytes = n;
    doubtful.at = (void *)a;
    memcpy(doubtful.before, (void *)a, n);
    return;
  }
  emu_finding *f = merge(both_write && !same_block ? EMU_WRITE_CONFLICT : EMU_RACE, site, then.site, u32(&s - spaces));
  if (!f) return;
  f->offset = (long long)(a - s.low);
  f->size = n;
  f->now = u32(now);
  f->other_kind = u32(was);
  f->other_block = block_order[ordinal_of(then)];
  set_thread(f->thread, current);
  const u32 t = thread_of(then);
  f->other_thread[0] = t % blockDim.x;
  f->other_thread[1] = t / blockDim.x % blockDim.y;
  f->other_thread[2] = t / blockDim.x / blockDim.y;
}

// A plain read beside an atomicCAS of another thread is no race: what such a loop starts from, or leaves with
// (`while (*p < v) ... atomicCAS(p, old, v)`), is a guess that only a comparison makes good.
bool comparing;                       // the access that is checked is that of an atomicCAS
std::unordered_set<u32> comparisons;  // the sites of all of them

void settle() {
  const u32 n = doubtful.bytes;
  doubtful.bytes = 0;
  if (!memcmp(doubtful.before, doubtful.at, n)) return;
  settling = true;
  race(*doubtful_race.space, doubtful_race.at, n, Access::write, doubtful_race.then, Access::write, doubtful_race.site);
  settling = false;
}

// Splits every cell: an access is narrower than any before.
void refine(Space &s, u32 shift) {
  for (; s.shift > shift; s.shift--) {
    const u32 half = 1u << (s.shift - 1);
    for (u64 c = (s.high - s.low + (1u << s.shift) - 1) >> s.shift; c-- > 0;) {
      const Cell old = s.cells[c];
      for (u32 k = 0; k < 2; k++) {
        Cell part = old;
        for (Stamp *q : {&part.write, &part.atomic[0], &part.atomic[1], &part.read[0], &part.read[1]}) {
          const u32 m = bytes_of(*q) >> (k * half) & ((1u << half) - 1);
          if (m)
            q->who = u16((q->who & ~(15u << 10)) | m << 10);
          else
            *q = Stamp{};
        }
        s.cells[2 * c + k] = part;
      }
    }
  }
}

template <Access K>
__attribute__((noinline)) void order_check_slowly(Space &s, uptr a, u32 n, u32 site) {
  const u32 grain = 1u << s.shift, floor = s.shared ? block_phase : launch_phase;
  for (uptr p = a; p < a + n;) {
    const u64 c = (p - s.low) >> s.shift;
    const uptr next = s.low + ((c + 1) << s.shift), end = next < a + n ? next : a + n;
    Cell &x = s.cells[c];
    const u32 bytes = ((1u << (end - p)) - 1) << ((p - s.low) & (grain - 1));
    const Stamp now{phase, site, u16(current | bytes << 10), my_clock};
    auto clash = [&](const Stamp &t) { return bytes_of(t) & bytes && !before(t, floor); };
    if (clash(x.write)) race(s, p, u32(end - p), K, x.write, Access::write, site);
    if (K != Access::atomic)
      for (const Stamp &t : x.atomic)
        if (clash(t) && (K == Access::write || !comparisons.count(t.site)))
          race(s, p, u32(end - p), K, t, Access::atomic, site);
    if (K == Access::write || (K == Access::atomic && !comparing))
      for (const Stamp &t : x.read)
        if (clash(t)) race(s, p, u32(end - p), K, t, Access::read, site);
    if (K != Access::read) x.newest = phase;
    if (K == Access::write) {
      x.write = now;
    } else {
      Stamp *slot = K == Access::read ? x.read : x.atomic;
      const bool same_warp = (thread_of(slot[0]) ^ thread_of(slot[1])) < WARP;
      if (before(slot[0], floor)) {
        slot[0] = now;
        if (before(slot[1], floor)) slot[1] = Stamp{};
      } else if (before(slot[1], floor) || (same_warp && (thread_of(slot[0]) ^ current) >= WARP)) {
        slot[1] = now;
      }
    }
    p = end;
  }
}

// The common cases in a few comparisons: one whole granule of shared memory (or of global memory that this launch has not
// touched) whose last writes a barrier has ordered.
template <Access K>
inline __attribute__((always_inline)) void order_check(Space &s, uptr a, u32 n, u32 site) {
  if (__builtin_expect(n < (1u << s.shift), 0)) refine(s, n == 2 && !(a & 1) ? 1 : 0);
  if (K == Access::atomic || n != 1u << s.shift || (a - s.low) & (n - 1)) return order_check_slowly<K>(s, a, n, site);
  Cell &x = s.cells[(a - s.low) >> s.shift];
  const u32 floor = s.shared ? block_phase : launch_phase;
  const auto old = [&](u32 p) { return p < phase && (p >= block_phase || p < floor); };
  if (__builtin_expect(!old(x.newest), 0)) return order_check_slowly<K>(s, a, n, site);
  Stamp &first = x.read[0], &second = x.read[1];
  const u16 who = u16(current | ((1u << n) - 1) << 10), clock = my_clock;
  if (K == Access::write) {
    if (!old(first.phase) || !old(second.phase)) return order_check_slowly<K>(s, a, n, site);
    x.write = Stamp{phase, site, who, clock};
    x.newest = phase;
  } else if (old(first.phase)) {
    first = Stamp{phase, site, who, clock};
  } else if (clock != 1 || mbarriers_used) {  // a synchronisation of less than this block: the clocks decide
    order_check_slowly<K>(s, a, n, site);
  } else if (old(second.phase)) {
    if (thread_of(first) != current) second = Stamp{phase, site, who, clock};
  } else if ((thread_of(first) ^ thread_of(second)) < WARP && (thread_of(first) ^ current) >= WARP) {
    second = Stamp{phase, site, who, clock};
  }
}

inline bool inside(const Space &s, uptr a, u32 n) { return a >= s.low && a + n <= s.high; }

__attribute__((noinline)) void outside(uptr a, u32 n, Access k, u32 site) {
  if (k == Access::read && a >= module.low && a < module.readonly_high) return;  // literals and constant tables
  for (const Dim *d : {&threadIdx, &blockIdx, &blockDim, &gridDim})  // clang instruments reads of constants, g++ does not
    if (k == Access::read && a - uptr(d) < sizeof *d) return;
  u64 best = ~0ull;
  u32 which = ~0u;
  for (const bool written : {false, true}) {  // what lies beyond every allocation was meant for something writable
    if (written && (k == Access::read || which == ~0u || (a >= spaces[which].safe_low && a + n <= spaces[which].safe_high)))
      break;
    u64 nearest = ~0ull;
    for (u32 i = 0; i < space_count; i++) {
      const Space &s = spaces[i];
      const u64 e = a >= s.high ? a - s.high : a + n <= s.low ? s.low - a : 0;
      if (e < nearest && (s.tracked || !written)) best = nearest = e, which = i;
    }
  }
  const bool known = which != ~0u && best < 1ull << 40;
  if (any_wrapped && known) reach(spaces[which], a, n, site);
  emu_finding *f = merge(known ? k == Access::read ? EMU_OUTSIDE_READ : EMU_OUTSIDE_WRITE : EMU_WILD, site, 0, known ? which : ~0u);
  if (f) {
    f->offset = known ? (long long)(a - spaces[which].low) : (long long)a;
    f->size = n;
    f->now = u32(k);
    set_thread(f->thread, current);
  }
  if (!known || a < spaces[which].safe_low || a + n > spaces[which].safe_high) stopping = true;
}

__attribute__((noinline)) void problem(Space &s, uptr a, u32 n, Access k, u32 site) {
  const u8 *state = s.state + (a - s.low);
  u8 all = 0xff;
  for (u32 i = 0; i < n; i++) all &= state[i];
  const u32 kind = !(all & EMU_ELEMENT)                          ? k == Access::read ? EMU_GAP_READ : EMU_GAP_WRITE
                   : k != Access::read && !(all & EMU_WRITABLE) ? EMU_INPUT_WRITE
                                                                 : EMU_UNINITIALIZED;
  emu_finding *f = merge(kind, site, 0, u32(&s - spaces));
  if (f) {
    f->offset = (long long)(a - s.low);
    f->size = n;
    f->now = u32(k);
    set_thread(f->thread, current);
  }
}

__attribute__((noinline)) void misaligned(uptr a, u32 n, Access k, u32 site) {
  record(EMU_MISALIGNED, current, site, 0, "%s %u bytes at an address that is %u above a multiple of %u",
         k == Access::read ? "reads" : "writes", n, u32(a & (n - 1)), n);
  stopping = true;  // the host may trap here, a GPU certainly does
}

template <Access K, class Word>
inline void state_check(Space &s, uptr a, u32 site) {
  const Word ones = Word(~Word(0)) / 0xff;
  Word state;
  u8 *at = s.state + (a - s.low);
  memcpy(&state, at, sizeof state);
  const Word need = ones * (K == Access::read ? EMU_ELEMENT | EMU_INIT
                            : K == Access::write ? EMU_ELEMENT | EMU_WRITABLE : EMU_ELEMENT | EMU_WRITABLE | EMU_INIT);
  if (__builtin_expect((state & need) != need, 0)) problem(s, a, sizeof state, K, site);
  if (K != Access::read && (state & ones * EMU_INIT) != ones * EMU_INIT) {
    state |= ones * EMU_INIT;
    memcpy(at, &state, sizeof state);
  }
}

template <Access K>
inline __attribute__((always_inline)) void access(const void *q, u32 n, u32 site, bool aligned) {
  const uptr a = uptr(q);
  if (a - stack_low < STACK_BYTES || !stack_low) return;  // a thread's own local memory; the host between launches
  if (aligned && a & (n - 1)) {
    misaligned(a, n, K, site);
    yield();
  }
  if (__builtin_expect(doubtful.bytes, 0)) settle();
  last_site = site;
  u8 &h = hot[site & 1023];
  Space *s = &spaces[h];
  if (__builtin_expect(!inside(*s, a, n), 0)) {
    s = nullptr;
    for (u32 i = 0; i < space_count; i++)
      if (inside(spaces[i], a, n)) {
        s = &spaces[i];
        if (i < 256) h = u8(i);
        break;
      }
    if (!s) {
      outside(a, n, K, site);
      if (stopping) yield();
      return;
    }
  }
  if (s->ignored) return;
  s->touched = true;
  if (__builtin_expect(any_wrapped, 0)) reach(*s, a, n, site);
  if (K == Access::read)
    (s->shared ? report->shared_reads : report->reads)++;
  else
    (s->shared ? report->shared_writes : report->writes)++;
  switch (n) {
    case 1: state_check<K, u8>(*s, a, site); break;
    case 2: state_check<K, u16>(*s, a, site); break;
    case 4: state_check<K, u32>(*s, a, site); break;
    case 8: state_check<K, u64>(*s, a, site); break;
    case 16:
      state_check<K, u64>(*s, a, site);
      state_check<K, u64>(*s, a + 8, site);
      break;
    default:
      for (u32 i = 0; i < n; i++) state_check<K, u8>(*s, a + i, site);
  }
  if (s->tracked) order_check<K>(*s, a, n, site);
  if (__builtin_expect(stopping, 0)) yield();
}
}  // namespace

extern "C" __attribute__((noinline)) void emu_atomic(const void *p, u32 n) {
  report->float_atomics |= (n & (EMU_ROUNDS | EMU_COMPARES)) != 0;
  if (!checking) return;
  comparing = n & EMU_COMPARES;
  if (comparing) comparisons.insert(EMU_SITE);
  n %= EMU_ROUNDS;
  access<Access::atomic>(p, n, EMU_SITE, true);
  if (any_fence) synchronize_threads(uptr(p));
  if (uptr(p) - uptr(dynamic_shared) >= sizeof dynamic_shared) synchronize(uptr(p));
}
