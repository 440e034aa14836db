// Atomics. One fiber runs at a time, so a plain update under the checker's mark is atomic.
#pragma once
// The update itself, apart: an unchecked function that is inlined into a checked one would be checked after all.
template <class T, class F> EMU_UNCHECKED __attribute__((noinline)) T emu_apply(T *p, F f) {
  T old = *p;
  *p = f(old);
  return old;
}
template <class T, class F> EMU_INLINE T emu_update(T *p, F f, emu_u32 flags = 0) {
  emu_atomic(p, sizeof(T) | flags);
  return emu_apply(p, f);
}
// The second argument takes the type of the first, as in CUDA's overloads.
template <class T> struct emu_same {
  typedef T type;
};
template <class T> constexpr EMU_INLINE emu_u32 emu_rounds() { return (float)T(0.5f) != 0.0f ? EMU_ROUNDS : 0; }
#define EMU_ATOMIC(name, result, rounds)                                                                           \
  template <class T> EMU_INLINE T name(T *p, typename emu_same<T>::type v) {                 \
    return emu_update(p, [v](T old) -> T {                                                   \
      (void)old;                                                                                           \
      return result;                                                                                       \
    }, rounds);                                                                                            \
  }                                                                                                        \
  template <class T> EMU_INLINE T name##_block(T *p, typename emu_same<T>::type v) {         \
    return name(p, v);                                                                                     \
  }                                                                                                        \
  template <class T> EMU_INLINE T name##_system(T *p, typename emu_same<T>::type v) {        \
    return name(p, v);                                                                                     \
  }
EMU_ATOMIC(atomicAdd, T(old + v), emu_rounds<T>())
EMU_ATOMIC(atomicSub, T(old - v), emu_rounds<T>())
EMU_ATOMIC(atomicExch, v, 0)
EMU_ATOMIC(atomicMin, v < old ? v : old, 0)
EMU_ATOMIC(atomicMax, v > old ? v : old, 0)
EMU_ATOMIC(atomicAnd, T(old & v), 0)
EMU_ATOMIC(atomicOr, T(old | v), 0)
EMU_ATOMIC(atomicXor, T(old ^ v), 0)
EMU_ATOMIC(atomicInc, old >= v ? T(0) : T(old + 1), 0)
EMU_ATOMIC(atomicDec, old == 0 || old > v ? v : T(old - 1), 0)
#undef EMU_ATOMIC
template <class T> EMU_INLINE T atomicCAS(T *p, typename emu_same<T>::type compare, typename emu_same<T>::type v) {
  return emu_update(p, [=](T old) -> T { return emu_bits(old) == emu_bits(compare) ? v : old; }, EMU_COMPARES);
}
template <class T> EMU_INLINE T atomicCAS_block(T *p, typename emu_same<T>::type compare, typename emu_same<T>::type v) {
  return atomicCAS(p, compare, v);
}
template <class T> EMU_INLINE T atomicCAS_system(T *p, typename emu_same<T>::type compare, typename emu_same<T>::type v) {
  return atomicCAS(p, compare, v);
}
EMU_INLINE float2 atomicAdd(float2 *p, float2 v) {
  return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)};  // each component on its own, as on sm_90
}
EMU_INLINE float4 atomicAdd(float4 *p, float4 v) {
  return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y), atomicAdd(&p->z, v.z), atomicAdd(&p->w, v.w)};
}
