// Qualifiers, indices, barriers.
#pragma once
#define CONFORMANCE_EMULATOR 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define EMU_INLINE inline __attribute__((always_inline))
#define EMU_UNCHECKED __attribute__((no_sanitize_thread))
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __constant__  // no `static`: the compiler would take a variable that only the host writes for a constant
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define EMU_JOIN2(a, b) a##b
#define EMU_JOIN(a, b) EMU_JOIN2(a, b)
// A red zone before every __shared__ declaration; the Python side reads both from the symbol table.
#define __shared__                                                             \
  static __attribute__((used)) char EMU_JOIN(emu_red_zone_, __COUNTER__)[256]; \
  static __attribute__((used))
#define EMU_DYNAMIC_SHARED(type, name, extents) type(*const name) extents = (type(*) extents)emu_dynamic_shared()

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
extern "C" {
extern const uint3 threadIdx, blockIdx;
extern const uint3 blockDim, gridDim;
int printf(const char *, ...);
}
constexpr int warpSize = 32;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// The source counter tells barriers apart: the compiler may duplicate the code round one.
#define __syncthreads() ((void)emu_barrier(EMU_BARRIER_PLAIN, 0, __COUNTER__))
#define __syncthreads_count(p) emu_barrier(EMU_BARRIER_COUNT, (p), __COUNTER__)
#define __syncthreads_and(p) emu_barrier(EMU_BARRIER_AND, (p), __COUNTER__)
#define __syncthreads_or(p) emu_barrier(EMU_BARRIER_OR, (p), __COUNTER__)
EMU_INLINE void __threadfence() { emu_fence(1); }
EMU_INLINE void __threadfence_system() { emu_fence(1); }
EMU_INLINE void __threadfence_block() { emu_fence(0); }
#define __trap() emu_stop("__trap()")
#define assert(e) ((e) ? (void)0 : emu_stop("assertion failed: " #e))
EMU_INLINE void __nanosleep(unsigned) {}
// Time stands still, and so does what waits for it: a hang.
EMU_INLINE long long clock64() { return 0; }
EMU_INLINE long clock() { return 0; }
#define __builtin_assume(e) ((void)0)
EMU_INLINE unsigned emu_lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;
}
template <class T> EMU_INLINE emu_u64 emu_bits(T v) {
  static_assert(sizeof(T) <= 8, "warp operations move at most 8 bytes");
  emu_u64 b = 0;
  __builtin_memcpy(&b, &v, sizeof v);
  return b;
}
template <class T> EMU_INLINE T emu_from(emu_u64 b) {
  T v;
  __builtin_memcpy(&v, &b, sizeof v);
  return v;
}
