// Warp operations. Only `__syncwarp` orders memory; shuffles and votes do not (programming guide, warp functions).
#pragma once
#define EMU_WARP(type, name, op, argument, value)                               \
  EMU_INLINE type name(unsigned mask, argument v) {                             \
    return (type)emu_warp(op, mask, value, 0, nullptr);                         \
  }
EMU_INLINE void __syncwarp(unsigned mask = ~0u) { emu_warp(EMU_SYNC, mask, 0, 0, nullptr); }
EMU_WARP(unsigned, __ballot_sync, EMU_BALLOT, int, v != 0)
EMU_WARP(int, __any_sync, EMU_ANY, int, v != 0)
EMU_WARP(int, __all_sync, EMU_ALL, int, v != 0)
EMU_WARP(unsigned, __reduce_add_sync, EMU_ADD, unsigned, v)
EMU_WARP(int, __reduce_add_sync, EMU_ADD, int, (emu_u64)(long long)v)
EMU_WARP(unsigned, __reduce_min_sync, EMU_UMIN, unsigned, v)
EMU_WARP(int, __reduce_min_sync, EMU_MIN, int, (emu_u64)(long long)v)
EMU_WARP(unsigned, __reduce_max_sync, EMU_UMAX, unsigned, v)
EMU_WARP(int, __reduce_max_sync, EMU_MAX, int, (emu_u64)(long long)v)
EMU_WARP(unsigned, __reduce_and_sync, EMU_AND, unsigned, v)
EMU_WARP(unsigned, __reduce_or_sync, EMU_OR, unsigned, v)
EMU_WARP(unsigned, __reduce_xor_sync, EMU_XOR, unsigned, v)
#undef EMU_WARP
EMU_INLINE unsigned __activemask() { return emu_active_mask(); }
template <class T> EMU_INLINE unsigned __match_any_sync(unsigned mask, T v) {
  return (unsigned)emu_warp(EMU_MATCH_ANY, mask, emu_bits(v), 0, nullptr);
}
template <class T> EMU_INLINE unsigned __match_all_sync(unsigned mask, T v, int *all) {
  unsigned m = (unsigned)emu_warp(EMU_MATCH_ALL, mask, emu_bits(v), 0, nullptr);
  *all = m != 0;
  return m;
}
// `source` < 0: the lane keeps its own value, as where a shuffle leaves its segment.
template <class T> EMU_INLINE T emu_shuffle(unsigned mask, T v, int source) {
  return emu_from<T>(emu_warp(EMU_SHUFFLE, mask, emu_bits(v), source, nullptr));
}
template <class T> EMU_INLINE T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  int lane = (int)emu_lane();
  return emu_shuffle(mask, v, (lane & ~(width - 1)) + (source & (width - 1)));
}
template <class T> EMU_INLINE T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  int lane = (int)emu_lane(), from = lane - (int)delta;
  return emu_shuffle(mask, v, from < (lane & ~(width - 1)) ? -1 : from);
}
template <class T> EMU_INLINE T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32) {
  int lane = (int)emu_lane(), from = lane + (int)delta;
  return emu_shuffle(mask, v, from >= (lane & ~(width - 1)) + width ? -1 : from);
}
template <class T> EMU_INLINE T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32) {
  int lane = (int)emu_lane(), from = lane ^ lanes;
  return emu_shuffle(mask, v, from >= (lane & ~(width - 1)) + width ? -1 : from);
}
