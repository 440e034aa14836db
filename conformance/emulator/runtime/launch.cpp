// One launch: the memory that it may touch, the grid, and the report.
#include <sys/mman.h>
#include "machine.h"

namespace {
void add_space(const emu_space &b) {
  Space &s = spaces[space_count++];
  s = Space{};
  s.low = uptr(b.base);
  s.high = s.low + b.bytes;
  s.safe_low = s.low - b.margin_low;
  s.safe_high = s.high + b.margin_high;
  s.state = b.state;
  s.shift = b.grain >= 4 ? 2 : b.grain == 2 ? 1 : 0;
  s.shared = b.flags & EMU_SHARED;
  s.tracked = b.flags & EMU_TRACKED;
  s.ignored = b.flags & EMU_IGNORED;
  s.touched = s.shared;
  if (!checking || !s.tracked) return;
  const u64 bytes = (b.bytes + 8) * sizeof(Cell);  // room to split cells down to one byte
  if (cells_used + bytes > pool.cell_bytes) {
    s.tracked = false;
    return;
  }
  s.cells = (Cell *)(pool.cells + cells_used);
  cells_used += bytes;
}
}  // namespace

extern "C" void emu_run(void (*entry)(void **), void **args, const emu_launch *c, emu_report *r) {
  module = c->module;
  subscripts = c->subscripts;
  subscript_count = c->subscript_count;
  report = r;
  memset(r, 0, offsetof(emu_report, finding));
  stopping = false;
  kernel = entry;
  kernel_args = args;
  checking = c->checked;
  order = c->order;
  seed_state = c->seed * 0x9E3779B97F4A7C15ull + 1;
  dynamic_bytes = c->dynamic_bytes;
  blockDim = {c->block[0], c->block[1], c->block[2]};
  gridDim = {c->grid[0], c->grid[1], c->grid[2]};
  threads = blockDim.x * blockDim.y * blockDim.z;
  warps = (threads + WARP - 1) / WARP;
  if (phase > 0xE0000000u) {
    madvise(pool.cells, pool.cell_bytes, MADV_DONTNEED);
    phase = 1;
  }
  launch_phase = phase + 1;
  block_order.clear();
  begin_grid();
  space_count = 0;
  cells_used = 0;
  last_site = 0;
  doubtful.bytes = 0;
  memset(hot, 0, sizeof hot);
  for (u32 i = 0; i < c->spaces; i++) add_space(c->space[i]);
  make_fibers();
  {
    Interruptible signals;
    c->isolated ? run_isolated(c) : run_guarded(c);
    r->interrupted |= interrupted;
  }
  if (cells_used > 1ull << 28) madvise(pool.cells, cells_used, MADV_DONTNEED);  // give 256 MiB and more back
  r->stopped = stopping;
  abandoned = stopping;
  fflush(stdout);  // the kernel's printf
}
