// The state of the abstract machine: one block at a time, its threads as fibers.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_set>
#include <vector>
#include "abi.h"
using u8 = emu_u8;
using u16 = emu_u16;
using u32 = emu_u32;
using u64 = emu_u64;
using uptr = __UINTPTR_TYPE__;

struct Dim {
  u32 x, y, z;
};
// Constant for the kernel: they hold while one fiber runs.
#pragma GCC visibility push(default)
extern "C" {
Dim threadIdx, blockIdx, blockDim, gridDim;
}
#pragma GCC visibility pop

namespace {
enum : u32 {
  MAX_THREADS = 1024,       // CUDA's largest block
  WARP = 32,
  STACK_BYTES = 256 << 10,  // virtual: pages are committed when touched
  DYNAMIC_BYTES = 227 << 10,  // opt-in limit of sm_90 (CUDA programming guide, compute capabilities)
  RED_ZONE = 1024,
  MAX_SPACES = 512,
};
enum class State : u8 { fresh, ready, at_barrier, at_warp, at_mask, at_mbarrier, done };

struct Lane {
  int fiber;
  State state;
  u8 op;
  Dim index;
  u32 mask, site;
  int barrier, source;
  u64 value, result;
  void (*call)(void **);
  u16 clock[WARP];  // what this lane knows of the accesses of each lane of its warp
};

struct Cell;

struct Space {
  uptr low, high, safe_low, safe_high;
  u8 *state;
  Cell *cells;
  u32 shift;
  bool shared, tracked, ignored, touched;
};

// Stacks and shadow cells: virtual memory that launches reuse.
struct Pool {
  char *stacks;
  char *cells;
  u64 cell_bytes;
  u32 guarded;  // stacks that end in a page without access
};

Lane lanes[MAX_THREADS];
u32 threads, warps, current, live, at_barrier;
u16 my_clock;  // of the running lane: lanes[current].clock[current % 32]
u32 warp_running[MAX_THREADS / WARP], warp_waiting[MAX_THREADS / WARP];  // lanes not exited; lanes at a warp operation
u32 phase = 1;  // rises at every block and barrier of every launch: stamps of an earlier launch are old by comparison
u32 block_phase, launch_phase;
// What a thread knows through mbarriers of the accesses of threads of other warps, as Lane::clock is of its own warp's.
u16 seen[MAX_THREADS][MAX_THREADS];
bool mbarriers_used;  // in this block
u32 woken;  // threads that the end of an mbarrier's phase made ready
std::vector<u32> block_order;  // linear block ids in the order in which they ran
bool checking, stopping;
u64 seed_state;
u32 order;
Pool pool;
Space spaces[MAX_SPACES];
u32 space_count;
emu_report *report;
emu_module module;  // of the running kernel
uptr stack_low;
const u64 *subscripts;  // of the running kernel: hashes of places, in order
u32 subscript_count;
alignas(1024) char dynamic_shared[RED_ZONE + DYNAMIC_BYTES + RED_ZONE];
u32 dynamic_bytes;

inline u32 random_below(u32 n) {  // xorshift64*, Vigna 2016
  seed_state ^= seed_state >> 12;
  seed_state ^= seed_state << 25;
  seed_state ^= seed_state >> 27;
  return u32((seed_state * 0x2545F4914F6CDD1Dull >> 32) * n >> 32);
}
inline u32 site_of(void *return_address) { return u32(uptr(return_address) - module.low); }
#define EMU_SITE site_of(__builtin_return_address(0))

// A write over another thread's write in the same block, until it is seen whether the value changes: threads that all
// write the same value do no harm.
struct Doubtful {
  u32 bytes;
  void *at;
  u8 before[16];
};
Doubtful doubtful;
bool any_fence;  // in this block

void yield();
void settle();
void complete_warp(u32 base);
}  // namespace
