// Arithmetic and conversions in the three directed roundings. The host rounds as it is told for the time of one
// operation; the volatile operands keep the operation between the two switches.
#pragma once
extern "C" int fesetround(int) noexcept;
#if defined(__x86_64__)
enum { EMU_RN = 0, EMU_RD = 0x400, EMU_RU = 0x800, EMU_RZ = 0xc00 };
#else
enum { EMU_RN = 0, EMU_RU = 0x400000, EMU_RD = 0x800000, EMU_RZ = 0xc00000 };
#endif
template <class F> EMU_UNCHECKED EMU_INLINE auto emu_rounded(int mode, F operation) {
  fesetround(mode);
  volatile auto r = operation();
  fesetround(EMU_RN);
  return r;
}
#define EMU_DIRECTED2(name, T, expression)                                                                         \
  EMU_INLINE T name##_rd(T a, T b) { volatile T x = a, y = b; return emu_rounded(EMU_RD, [&] { return expression; }); } \
  EMU_INLINE T name##_ru(T a, T b) { volatile T x = a, y = b; return emu_rounded(EMU_RU, [&] { return expression; }); } \
  EMU_INLINE T name##_rz(T a, T b) { volatile T x = a, y = b; return emu_rounded(EMU_RZ, [&] { return expression; }); }
EMU_DIRECTED2(__fadd, float, x + y)
EMU_DIRECTED2(__fsub, float, x - y)
EMU_DIRECTED2(__fmul, float, x * y)
EMU_DIRECTED2(__fdiv, float, x / y)
EMU_DIRECTED2(__dadd, double, x + y)
EMU_DIRECTED2(__dsub, double, x - y)
EMU_DIRECTED2(__dmul, double, x * y)
EMU_DIRECTED2(__ddiv, double, x / y)
#undef EMU_DIRECTED2
#define EMU_DIRECTED1(name, R, T, expression)                                                         \
  EMU_INLINE R name##_rd(T a) { volatile T x = a; return emu_rounded(EMU_RD, [&] { return expression; }); } \
  EMU_INLINE R name##_ru(T a) { volatile T x = a; return emu_rounded(EMU_RU, [&] { return expression; }); } \
  EMU_INLINE R name##_rz(T a) { volatile T x = a; return emu_rounded(EMU_RZ, [&] { return expression; }); }
EMU_DIRECTED1(__frcp, float, float, 1.0f / x)
EMU_DIRECTED1(__fsqrt, float, float, __builtin_sqrtf(x))
EMU_DIRECTED1(__drcp, double, double, 1.0 / x)
EMU_DIRECTED1(__dsqrt, double, double, __builtin_sqrt(x))
EMU_DIRECTED1(__int2float, float, int, (float)x)
EMU_DIRECTED1(__uint2float, float, unsigned, (float)x)
EMU_DIRECTED1(__ll2float, float, long long, (float)x)
EMU_DIRECTED1(__ull2float, float, unsigned long long, (float)x)
EMU_DIRECTED1(__ll2double, double, long long, (double)x)
EMU_DIRECTED1(__ull2double, double, unsigned long long, (double)x)
EMU_DIRECTED1(__double2float, float, double, (float)x)
#undef EMU_DIRECTED1
#define EMU_DIRECTED3(name, T, fused)                                                                                  \
  EMU_INLINE T name##_rd(T a, T b, T c) { volatile T x = a, y = b, z = c; return emu_rounded(EMU_RD, [&] { return fused(x, y, z); }); } \
  EMU_INLINE T name##_ru(T a, T b, T c) { volatile T x = a, y = b, z = c; return emu_rounded(EMU_RU, [&] { return fused(x, y, z); }); } \
  EMU_INLINE T name##_rz(T a, T b, T c) { volatile T x = a, y = b, z = c; return emu_rounded(EMU_RZ, [&] { return fused(x, y, z); }); }
EMU_DIRECTED3(__fmaf, float, __builtin_fmaf)
EMU_DIRECTED3(__fma, double, __builtin_fma)
#undef EMU_DIRECTED3
EMU_INLINE double __dsub_rn(double a, double b) { return a - b; }
EMU_INLINE double __drcp_rn(double x) { return 1.0 / x; }
EMU_INLINE double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
EMU_INLINE double __uint2double_rn(unsigned x) { return (double)x; }
EMU_INLINE double __ll2double_rn(long long x) { return (double)x; }
EMU_INLINE double __ull2double_rn(unsigned long long x) { return (double)x; }
EMU_INLINE float __ull2float_rn(unsigned long long x) { return (float)x; }
// To unsigned long long: saturates, NaN becomes the largest value with the top bit (CUDA math API, type casting).
#define EMU_TO_ULL(from, F, suffix, how)                                                               \
  EMU_INLINE unsigned long long __##from##2ull_##suffix(F x) {                                         \
    const F r = how(x);                                                                                \
    return x != x ? 1ull << 63 : r <= 0 ? 0 : r >= (F)18446744073709551616.0 ? ~0ull : (unsigned long long)r; \
  }
EMU_TO_ULL(float, float, rn, __builtin_rintf)
EMU_TO_ULL(float, float, rz, __builtin_truncf)
EMU_TO_ULL(float, float, ru, __builtin_ceilf)
EMU_TO_ULL(float, float, rd, __builtin_floorf)
EMU_TO_ULL(double, double, rn, __builtin_rint)
EMU_TO_ULL(double, double, rz, __builtin_trunc)
EMU_TO_ULL(double, double, ru, __builtin_ceil)
EMU_TO_ULL(double, double, rd, __builtin_floor)
#undef EMU_TO_ULL
