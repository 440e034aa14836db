// Cooperative groups: blocks, tiles of a warp, coalesced groups; grids only as far as one block at a time can go.
#pragma once
namespace cooperative_groups {
struct emu_index {
  static EMU_INLINE unsigned thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
  static EMU_INLINE unsigned threads() { return blockDim.x * blockDim.y * blockDim.z; }
};
// Barriers are told apart by the line that calls them, which a default argument knows.
struct thread_block {
  EMU_INLINE void sync(int line = __builtin_LINE()) const { emu_barrier(EMU_BARRIER_PLAIN, 0, 1 << 24 | line); }
  EMU_INLINE unsigned thread_rank() const { return emu_index::thread(); }
  EMU_INLINE unsigned size() const { return emu_index::threads(); }
  EMU_INLINE unsigned num_threads() const { return size(); }
  EMU_INLINE dim3 group_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  EMU_INLINE dim3 thread_index() const { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  EMU_INLINE dim3 group_dim() const { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  EMU_INLINE dim3 dim_threads() const { return group_dim(); }
};
EMU_INLINE thread_block this_thread_block() { return {}; }

// One block runs after another, so that a barrier of the grid can only be passed where the grid is one block.
struct grid_group {
  EMU_INLINE bool is_valid() const { return true; }
  EMU_INLINE void sync(int line = __builtin_LINE()) const {
    if (size() == emu_index::threads()) return (void)emu_barrier(EMU_BARRIER_PLAIN, 0, 1 << 24 | line);
    emu_stop("grid.sync() is not modelled: blocks run one after another (docs/cuda.md)");
  }
  EMU_INLINE unsigned long long block_rank() const {
    return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  }
  EMU_INLINE unsigned long long num_blocks() const { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  EMU_INLINE unsigned long long thread_rank() const { return block_rank() * emu_index::threads() + emu_index::thread(); }
  EMU_INLINE unsigned long long size() const { return num_blocks() * emu_index::threads(); }
  EMU_INLINE unsigned long long num_threads() const { return size(); }
  EMU_INLINE dim3 group_dim() const { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  EMU_INLINE dim3 dim_blocks() const { return group_dim(); }
};
EMU_INLINE grid_group this_grid() { return {}; }

struct emu_lanes {  // what every group inside one warp can do
  unsigned mask;
  EMU_INLINE void sync() const { __syncwarp(mask); }
  EMU_INLINE unsigned size() const { return (unsigned)__popc(mask); }
  EMU_INLINE unsigned num_threads() const { return size(); }
  EMU_INLINE unsigned thread_rank() const { return (unsigned)__popc(mask & ((1u << emu_lane()) - 1)); }
  EMU_INLINE unsigned pack(unsigned lanes) const {  // lane bits of the warp as ranks of the group
    unsigned r = 0, n = 0;
    for (unsigned m = mask; m; m &= m - 1, n++) r |= (lanes >> __builtin_ctz(m) & 1) << n;
    return r;
  }
  EMU_INLINE int lane_of(unsigned rank) const {
    unsigned m = mask;
    for (unsigned i = 0; i < rank && m; i++) m &= m - 1;
    return m ? __builtin_ctz(m) : 32 + (int)rank;
  }
  template <class T> EMU_INLINE T shfl(T v, unsigned rank) const { return emu_shuffle(mask, v, lane_of(rank % size())); }
  template <class T> EMU_INLINE T shfl_up(T v, unsigned d) const {
    const unsigned r = thread_rank();
    return emu_shuffle(mask, v, r < d ? -1 : lane_of(r - d));
  }
  template <class T> EMU_INLINE T shfl_down(T v, unsigned d) const {
    const unsigned r = thread_rank();
    return emu_shuffle(mask, v, r + d >= size() ? -1 : lane_of(r + d));
  }
  EMU_INLINE int any(int p) const { return __any_sync(mask, p); }
  EMU_INLINE int all(int p) const { return __all_sync(mask, p); }
  EMU_INLINE unsigned ballot(int p) const { return pack(__ballot_sync(mask, p)); }
  template <class T> EMU_INLINE unsigned match_any(T v) const { return pack(__match_any_sync(mask, v)); }
};
template <unsigned Size, class Parent = thread_block> struct thread_block_tile : emu_lanes {
  static_assert(Size >= 1 && Size <= 32 && !(Size & (Size - 1)), "a tile has 1, 2, 4, 8, 16 or 32 threads");
  template <class T> EMU_INLINE T shfl_xor(T v, unsigned lanes) const {
    return emu_shuffle(this->mask, v, (int)(emu_lane() ^ lanes));
  }
  EMU_INLINE unsigned meta_group_rank() const { return emu_index::thread() / Size; }
  EMU_INLINE unsigned meta_group_size() const { return (emu_index::threads() + Size - 1) / Size; }
};
struct coalesced_group : emu_lanes {};
template <unsigned Size> EMU_INLINE unsigned emu_tile_mask() {
  return (Size == 32 ? ~0u : (1u << (Size & 31)) - 1) << (emu_lane() & ~(Size - 1) & 31);
}
template <unsigned Size, class Group> EMU_INLINE thread_block_tile<Size, Group> tiled_partition(const Group &) {
  thread_block_tile<Size, Group> t;
  t.mask = emu_tile_mask<Size>();
  return t;
}
EMU_INLINE coalesced_group emu_group(unsigned mask) {
  coalesced_group g;
  g.mask = mask;
  return g;
}
// The lanes that give the same label, or the same answer.
template <class Group, class T> EMU_INLINE coalesced_group labeled_partition(const Group &g, T label) {
  return emu_group(__match_any_sync(g.mask, label));
}
template <class Group> EMU_INLINE coalesced_group binary_partition(const Group &g, bool answer) {
  const unsigned yes = __ballot_sync(g.mask, answer);
  return emu_group(answer ? yes : g.mask & ~yes);
}
EMU_INLINE coalesced_group coalesced_threads() {
  coalesced_group g;
  g.mask = __activemask();
  return g;
}
EMU_INLINE void emu_sync_at(const emu_lanes &g, int) { g.sync(); }
EMU_INLINE void emu_sync_at(const thread_block &g, int line) { g.sync(line); }
EMU_INLINE void emu_sync_at(const grid_group &g, int line) { g.sync(line); }
template <class Group> EMU_INLINE void sync(const Group &g, int line = __builtin_LINE()) { emu_sync_at(g, line); }

template <class T> struct plus {
  EMU_INLINE T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
  EMU_INLINE T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
  EMU_INLINE T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
  EMU_INLINE T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
  EMU_INLINE T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
  EMU_INLINE T operator()(T a, T b) const { return a ^ b; }
};
template <unsigned Size, class Parent, class T, class F>
EMU_INLINE T reduce(const thread_block_tile<Size, Parent> &g, T v, F f) {
  for (unsigned d = Size / 2; d; d >>= 1) v = f(v, g.shfl_xor(v, d));
  return v;
}
template <class T, class F> EMU_INLINE T reduce(const coalesced_group &g, T v, F f) {  // of any number of lanes
  T total = g.shfl(v, 0);
  for (unsigned i = 1; i < g.size(); i++) total = f(total, g.shfl(v, i));
  return total;
}
template <class Group, class T, class F> EMU_INLINE T inclusive_scan(const Group &g, T v, F f) {
  for (unsigned d = 1; d < g.size(); d <<= 1) {
    T other = g.shfl_up(v, d);
    if (g.thread_rank() >= d) v = f(other, v);
  }
  return v;
}
template <class Group, class T> EMU_INLINE T inclusive_scan(const Group &g, T v) { return inclusive_scan(g, v, plus<T>()); }
template <class Group, class T> EMU_INLINE T exclusive_scan(const Group &g, T v) {
  T sum = inclusive_scan(g, v, plus<T>()), before = g.shfl_up(sum, 1);
  return g.thread_rank() ? before : T(0);
}
}  // namespace cooperative_groups
