// mbarriers, and the copy engine whose bytes they count (PTX ISA, "mbarrier" and "cp.async.bulk.tensor"). An arrival
// releases what its thread did, a wait acquires what the phase released. A copy lands when somebody waits for it and not
// before: a missing wait reads poison.
#include <unordered_map>
#include <vector>
#include "machine.h"

namespace {
struct BoxCopy {
  emu_tensor_map map;
  long long row, column;
  u8 *to;
};
struct Mbarrier {
  u32 arrivals = 0, pending = 0, phase = 0;
  long long bytes = 0;  // still expected in this phase
  bool fenced = false;
  u32 initializer = 0;
  std::vector<BoxCopy> copies;          // under way
  std::vector<u16> gathered, released;  // clocks by thread: of all arrivals so far, and of those up to the last phase
};
std::unordered_map<uptr, Mbarrier> mbarriers;
uptr waits_for[MAX_THREADS];  // the barrier that a thread in State::at_mbarrier waits at

const u32 NAMED = 16;     // barriers of a block (PTX ISA, "bar")
const u32 BOX_ROW = 128;  // bytes: the only swizzle that is modelled is that of 128-byte rows

// Where the hardware puts the byte at `address` of a 128-byte swizzled tile.
inline u8 *swizzled(uptr address) { return (u8 *)(address ^ ((address >> 7 & 7) << 4)); }

u8 *state_of(uptr address) {
  for (u32 i = 0; i < space_count; i++)
    if (inside(spaces[i], address, 1)) return spaces[i].state + (address - spaces[i].low);
  return nullptr;
}

void begin_mbarriers() {
  mbarriers.clear();
  woken = 0;
  if (mbarriers_used)
    for (u32 t = 0; t < threads; t++) memset(seen[t], 0, threads * sizeof(u16));
  mbarriers_used = false;
}

void end_mbarriers() {
  for (const auto &[address, b] : mbarriers)
    if (!b.copies.empty() && !stopping) {
      record(EMU_BARRIER, current, last_site, 0, "the block ends while %u copies into its shared memory are under way",
             u32(b.copies.size()));
      stopping = true;
      return;
    }
}

Mbarrier *find(const void *p, u32 site) {
  if (checking) access<Access::atomic>(p, 8, site, true);
  const auto at = mbarriers.find(uptr(p));
  if (at != mbarriers.end()) return &at->second;
  record(EMU_BARRIER, current, site, 0, "no mbarrier has been initialized at this address");
  stopping = true;
  yield();
  return nullptr;
}

void release(Mbarrier &b) {
  if (!checking) return;
  b.gathered.resize(threads);
  const u32 base = current & ~(WARP - 1);
  for (u32 u = 0; u < threads; u++) {
    const u16 known = (u ^ current) < WARP ? lanes[current].clock[u - base] : seen[current][u];
    if (known > b.gathered[u]) b.gathered[u] = known;
  }
  u16 &own = lanes[current].clock[current & 31];
  if (own != 0xffff) own++;  // saturates: from here on a race may be missed, none is invented
  my_clock = own;
}

void acquire(const Mbarrier &b) {
  const u32 base = current & ~(WARP - 1);
  for (u32 u = 0; u < u32(b.released.size()); u++) {
    u16 &known = (u ^ current) < WARP ? lanes[current].clock[u - base] : seen[current][u];
    if (u != current && b.released[u] > known) known = b.released[u];
  }
}

void end_phase(uptr address, Mbarrier &b) {
  if (b.pending || b.bytes) return;
  b.phase++;
  b.pending = b.arrivals;
  b.released = b.gathered;
  for (u32 t = 0; t < threads; t++)
    if (lanes[t].state == State::at_mbarrier && waits_for[t] == address) {
      lanes[t].state = State::ready;
      woken++;
    }
}

void land_copies(uptr address, Mbarrier &b) {
  if (b.copies.empty()) return;
  for (const BoxCopy &c : b.copies) {
    const emu_tensor_map &m = c.map;
    for (u64 r = 0; r < m.box_rows; r++)
      for (u64 k = 0; k < BOX_ROW; k += m.element) {
        const long long row = c.row + (long long)r, column = c.column + (long long)(k / m.element);
        const bool inner = row >= 0 && u64(row) < m.rows && column >= 0 && u64(column) < m.columns;
        u8 *to = swizzled(uptr(c.to) + r * BOX_ROW + k);
        if (inner) memcpy(to, (const u8 *)m.address + row * m.pitch + column * m.element, m.element);
        else memset(to, 0, m.element);
      }
    const u64 bytes = m.box_rows * BOX_ROW;
    if (u8 *state = checking ? state_of(uptr(c.to)) : nullptr)
      for (u64 i = 0; i < bytes; i++) state[i] |= EMU_INIT;
    b.bytes -= (long long)bytes;
  }
  b.copies.clear();
  end_phase(address, b);
}

// A named barrier is an mbarrier that every thread of it knows; its number stands for an address, where none ever lies.
Mbarrier &named(u32 id, u32 participants, u32 site) {
  mbarriers_used = true;
  Mbarrier &b = mbarriers[id];
  const char *wrong = id >= NAMED                                ? "a block has 16 named barriers, 0 to 15"
                      : !participants || participants % WARP    ? "a named barrier takes whole warps of threads"
                      : b.arrivals && b.arrivals != participants ? "threads come to one named barrier with different numbers"
                                                                 : nullptr;
  if (wrong) {
    record(EMU_BARRIER, current, site, 0, "%s", wrong);
    stopping = true;
    yield();
  }
  if (!b.arrivals) b.arrivals = b.pending = participants;
  return b;
}

void arrive_named(u32 id, u32 participants, u32 site) {
  Mbarrier &b = named(id, participants, site);
  release(b);
  b.pending--;
  end_phase(id, b);
}

// Lands the copies that threads wait for, when no thread can go on without; whether one can go on now.
bool land_awaited() {
  if (!mbarriers_used) return false;
  for (u32 t = 0; t < threads && !woken; t++)
    if (lanes[t].state == State::at_mbarrier) land_copies(waits_for[t], mbarriers[waits_for[t]]);
  const bool any = woken;
  woken = 0;
  return any;
}
}  // namespace

extern "C" {
void emu_mbarrier_init(void *p, u32 arrivals) {
  if (doubtful.bytes) settle();
  const u32 site = EMU_SITE;
  if (mbarriers.count(uptr(p))) {  // undefined without mbarrier.inval (PTX ISA, mbarrier.init)
    record(EMU_BARRIER, current, site, 0, "an mbarrier that is in use is initialized again");
    stopping = true;
    yield();
  }
  if (checking) access<Access::write>(p, 8, site, true);
  Mbarrier b;
  b.arrivals = b.pending = arrivals;
  b.initializer = current;
  mbarriers[uptr(p)] = b;
  mbarriers_used = true;
}

void emu_mbarrier_fence() {
  for (auto &[address, b] : mbarriers) b.fenced |= b.initializer == current;
}

// Arrives, and expects `bytes` bytes more of copies in this phase.
void emu_mbarrier_arrive(void *p, u32 bytes) {
  if (doubtful.bytes) settle();
  const u32 site = EMU_SITE;
  Mbarrier &b = *find(p, site);
  if (!b.pending) land_copies(uptr(p), b);
  if (!b.pending) {
    record(EMU_BARRIER, current, site, 0, "more than the %u arrivals that the mbarrier takes in a phase", b.arrivals);
    stopping = true;
    yield();
  }
  release(b);
  b.bytes += bytes;
  b.pending--;
  end_phase(uptr(p), b);
}

void emu_mbarrier_wait(void *p, u32 parity) {
  if (doubtful.bytes) settle();
  const u32 site = EMU_SITE;
  Mbarrier &b = *find(p, site);
  if ((b.phase & 1) == parity) land_copies(uptr(p), b);
  if ((b.phase & 1) == parity) {
    Lane &a = lanes[current];
    a.site = site;
    a.state = State::at_mbarrier;
    waits_for[current] = uptr(p);
    yield();
  }
  if (checking) acquire(b);
}

void emu_bar_arrive(u32 id, u32 participants) {
  if (doubtful.bytes) settle();
  arrive_named(id, participants, EMU_SITE);
}

void emu_bar_sync(u32 id, u32 participants) {
  if (doubtful.bytes) settle();
  const u32 site = EMU_SITE;
  Mbarrier &b = named(id, participants, site);
  const u32 phase = b.phase;
  arrive_named(id, participants, site);
  if (b.phase == phase) {
    Lane &a = lanes[current];
    a.site = site;
    a.state = State::at_mbarrier;
    waits_for[current] = id;
    yield();
  }
  if (checking) acquire(b);
}

void emu_tensor_copy(void *to, const void *map, void *p, long long row, long long column) {
  if (doubtful.bytes) settle();
  const u32 site = EMU_SITE;
  BoxCopy c{*(const emu_tensor_map *)map, row, column, (u8 *)to};
  const emu_tensor_map &m = c.map;
  Mbarrier &b = *find(p, site);
  const char *wrong = !b.fenced ? "the copy engine may not see an mbarrier that was initialized without a fence after it"
                      : m.box_columns * m.element != BOX_ROW ? "a box of other than 128 bytes a row is not modelled"
                      : uptr(to) % 1024                      ? "a 128-byte swizzled box must lie at a multiple of 1024 bytes"
                                                             : nullptr;
  if (wrong) {
    record(EMU_BARRIER, current, site, 0, "%s", wrong);
    stopping = true;
    yield();
  }
  const u64 bytes = m.box_rows * BOX_ROW;
  if (checking) {
    const long long first = column < 0 ? 0 : column, end = column + (long long)m.box_columns;
    const long long last = end < (long long)m.columns ? end : (long long)m.columns;
    for (u64 r = 0; r < m.box_rows; r++) {
      const long long at = row + (long long)r;
      if (at < 0 || u64(at) >= m.rows || first >= last) continue;
      const u64 from = m.address + at * m.pitch + first * m.element;
      access<Access::read>((const void *)from, u32((last - first) * (long long)m.element), site, false);
    }
    for (u64 i = 0; i < bytes; i += 16) access<Access::write>((u8 *)to + i, 16, site, true);
    if (u8 *state = state_of(uptr(to)))
      for (u64 i = 0; i < bytes; i++) state[i] &= u8(~EMU_INIT);
  }
  memset(to, 0xff, bytes);
  b.copies.push_back(c);
  release(b);  // whoever waits for the phase is behind the copy
}
}
