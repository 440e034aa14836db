// Order between blocks: an atomic after `__threadfence()` releases what its block did before it, and an atomic on the
// same address in a later block acquires it (the last-block pattern of the programming guide). Between threads of one
// block `__threadfence_block()` is enough (a lock in shared memory).
#include <unordered_map>
#include <vector>
#include "machine.h"

namespace {
struct Fence {
  u32 phase, clock;  // accesses of the thread before them, and of its block in earlier phases, are fenced
};
struct Release {
  Fence fence;
  u32 thread, index;
};
struct Location {
  std::unordered_map<u32, Release> by_block;  // the last release of each block
  u32 releases = 0;
};
std::vector<u32> block_starts;  // the first phase of each block that has run
std::unordered_map<uptr, Location> locations;
std::unordered_map<uptr, u32> acquired;  // what the running block has seen of each location: its first n releases
Fence fences[MAX_THREADS];

// Of each thread of the block, the clock up to which its accesses are known.
using Clocks = std::unordered_map<u32, u16>;
Clocks known[MAX_THREADS];
std::unordered_map<uptr, Clocks> published;  // by the atomics on each address
u16 fenced[MAX_THREADS];  // the clock of the thread's last fence, 0 for none

void merge(Clocks &into, const Clocks &from) {
  for (const auto &[thread, clock] : from) {
    u16 &mine = into[thread];
    if (clock > mine) mine = clock;
  }
}

bool acquired_in_block(const Stamp &s) {
  const auto at = known[current].find(thread_of(s));
  return at != known[current].end() && s.clock < at->second;
}

void synchronize_threads(uptr address) {
  Clocks &there = published[address];
  merge(known[current], there);
  if (!fenced[current]) return;
  merge(there, known[current]);
  merge(there, {{current, fenced[current]}});
}

void begin_grid() {
  block_starts.clear();
  locations.clear();
}

void begin_block() {
  block_starts.push_back(block_phase);
  acquired.clear();
  memset(fences, 0, threads * sizeof(Fence));
  if (!any_fence) return;
  any_fence = false;
  published.clear();
  memset(fenced, 0, sizeof fenced);
  for (Clocks &clocks : known) clocks.clear();
}

u32 ordinal_of(const Stamp &s) {  // blocks are numbered in the order in which they run
  u32 low = 0, high = u32(block_starts.size());
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    (block_starts[middle] <= s.phase ? low : high) = middle;
  }
  return low;
}

bool released(const Stamp &s) {
  if (acquired.empty()) return false;
  const u32 block = ordinal_of(s);
  for (const auto &[address, seen] : acquired) {
    const auto &by_block = locations[address].by_block;
    const auto at = by_block.find(block);
    if (at == by_block.end() || at->second.index >= seen) continue;
    const Release &r = at->second;
    if (s.phase < r.fence.phase) return true;
    if (s.phase == r.fence.phase && thread_of(s) == r.thread && s.clock < r.fence.clock) return true;
  }
  return false;
}

void synchronize(uptr address) {
  Location &l = locations[address];
  acquired[address] = l.releases;
  if (!fences[current].phase) return;
  const u32 block = u32(block_starts.size()) - 1;
  l.by_block[block] = Release{fences[current], current, l.releases++};
}
}  // namespace

extern "C" void emu_fence(int device) {
  if (!checking) return;
  u16 &clock = lanes[current].clock[current & 31];
  if (clock != 0xffff) clock++;
  my_clock = clock;
  any_fence = true;
  fenced[current] = clock;
  if (device) fences[current] = Fence{phase, clock};
}
