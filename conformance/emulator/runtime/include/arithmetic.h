// Mathematical functions. The host's libm computes them; CUDA promises the following largest errors in ulp
// (CUDA C++ programming guide, mathematical functions), so that results agree within the sum of both:
//   single precision, default flags                     intrinsics
//   + - * / sqrtf fmaf  0     rsqrtf, exp2f   2         __fdividef     2 for 2^-126 <= |y| <= 2^126
//   expf, sinf, cosf    2     logf, log2f     1         __expf         2 + floor(|1.173 x|)
//   expm1f, log1pf      1     log10f          2         __exp10f       2 + floor(|2.97 x|)
//   tanf                4     tanhf           2         __logf         3, absolute 2^-21.41 in [0.5, 2]
//   erff                2     erfcf           4         __log2f        2, absolute 2^-22 in [0.5, 2]
//   sinhf               3     coshf           2         __sinf         absolute 2^-21.41 in [-pi, pi]
//   atanf               2     atan2f          3         __cosf         absolute 2^-21.19 in [-pi, pi]
//   powf                4     cbrtf           1         __powf         of exp2f(y * __log2f(x))
//   hypotf              3     asinf, acosf    2         rsqrt (double) 1
// glibc stays within 2 ulp for all of these but lgamma and tgamma (glibc manual, errors in math functions).
#pragma once
template <class T> constexpr EMU_INLINE T min(T a, T b) { return b < a ? b : a; }
template <class T> constexpr EMU_INLINE T max(T a, T b) { return a < b ? b : a; }
#define EMU_MIXED(A, B, R)                                                          \
  constexpr EMU_INLINE R min(A a, B b) { return (R)b < (R)a ? (R)b : (R)a; }         \
  constexpr EMU_INLINE R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
EMU_MIXED(int, unsigned, unsigned) EMU_MIXED(unsigned, int, unsigned)
EMU_MIXED(int, long long, long long) EMU_MIXED(long long, int, long long)
EMU_MIXED(unsigned, long long, long long) EMU_MIXED(long long, unsigned, long long)
EMU_MIXED(long, long long, long long) EMU_MIXED(long long, long, long long)
EMU_MIXED(int, long, long) EMU_MIXED(long, int, long)
EMU_MIXED(unsigned, unsigned long long, unsigned long long) EMU_MIXED(unsigned long long, unsigned, unsigned long long)
#undef EMU_MIXED
// A NaN gives way to a number. Not libm's: kernels of rows call these for every element, and a call costs more than they do.
#define EMU_EXTREME(name, T, compares)                      \
  extern "C" EMU_INLINE T name(T a, T b) noexcept {         \
    const T either = a compares b ? a : b;                  \
    return b != b ? a : either;                             \
  }
EMU_EXTREME(fminf, float, <) EMU_EXTREME(fmaxf, float, >) EMU_EXTREME(fmin, double, <) EMU_EXTREME(fmax, double, >)
#undef EMU_EXTREME
EMU_INLINE float fmin(float a, float b) { return fminf(a, b); }
EMU_INLINE float fmax(float a, float b) { return fmaxf(a, b); }
EMU_INLINE float min(float a, float b) { return fminf(a, b); }
EMU_INLINE float max(float a, float b) { return fmaxf(a, b); }
EMU_INLINE double min(double a, double b) { return fmin(a, b); }
EMU_INLINE double max(double a, double b) { return fmax(a, b); }
EMU_INLINE double min(float a, double b) { return fmin((double)a, b); }
EMU_INLINE double max(float a, double b) { return fmax((double)a, b); }
EMU_INLINE double min(double a, float b) { return fmin(a, (double)b); }
EMU_INLINE double max(double a, float b) { return fmax(a, (double)b); }

extern "C" {
#define EMU_LIBM(name) double name(double) noexcept; float name##f(float) noexcept;
#define EMU_LIBM2(name) double name(double, double) noexcept; float name##f(float, float) noexcept;
#define EMU_EACH1(F)                                                                                           \
  F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sqrt) F(cbrt) F(fabs) F(sin) F(cos) F(tan) F(asin) \
  F(acos) F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(erf) F(erfc) F(tgamma) F(lgamma)        \
  F(floor) F(ceil) F(trunc) F(round) F(rint) F(nearbyint) F(logb)
#define EMU_EACH2(F) F(pow) F(fmod) F(atan2) F(hypot) F(fdim) F(copysign) F(nextafter) F(remainder)
EMU_EACH1(EMU_LIBM)
EMU_EACH2(EMU_LIBM2)
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double frexp(double, int *) noexcept;
float frexpf(float, int *) noexcept;
long lrintf(float) noexcept;
long lrint(double) noexcept;
long lroundf(float) noexcept;
long long llrintf(float) noexcept;
long long llrint(double) noexcept;
void sincosf(float, float *, float *) noexcept;
void sincos(double, double *, double *) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
}
#define EMU_OVERLOAD(name) EMU_INLINE float name(float x) { return name##f(x); }
#define EMU_OVERLOAD2(name) EMU_INLINE float name(float x, float y) { return name##f(x, y); }
EMU_EACH1(EMU_OVERLOAD)
EMU_EACH2(EMU_OVERLOAD2)
EMU_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EMU_INLINE float ldexp(float x, int e) { return ldexpf(x, e); }
EMU_INLINE float abs(float x) { return __builtin_fabsf(x); }
EMU_INLINE double abs(double x) { return __builtin_fabs(x); }
EMU_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
EMU_INLINE long abs(long x) { return x < 0 ? -x : x; }
#undef EMU_LIBM
#undef EMU_LIBM2
#undef EMU_OVERLOAD
#undef EMU_OVERLOAD2
#undef EMU_EACH1
#undef EMU_EACH2
EMU_INLINE float pow(float x, int n) { return powf(x, (float)n); }
EMU_INLINE double pow(double x, int n) { return pow(x, (double)n); }
EMU_INLINE float rsqrtf(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
EMU_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
EMU_INLINE float rsqrt(float x) { return rsqrtf(x); }
EMU_INLINE float exp10f(float x) { return (float)__builtin_pow(10.0, (double)x); }
EMU_INLINE float erfinvf(float p) {  // two Newton steps on Winitzki's approximation, in double
  if (!(p > -1.0f && p < 1.0f)) return p == 1.0f ? __builtin_inff() : p == -1.0f ? -__builtin_inff() : __builtin_nanf("");
  double l = __builtin_log(1.0 - (double)p * p), t = 4.330746750799873 + l / 2;
  double x = __builtin_copysign(__builtin_sqrt(__builtin_sqrt(t * t - l / 0.147) - t), (double)p);
  for (int i = 0; i < 4; i++) x -= (__builtin_erf(x) - p) / (1.1283791670955126 * __builtin_exp(-x * x));
  return (float)x;
}
EMU_INLINE float normcdff(float x) { return (float)(0.5 * __builtin_erfc(-0.7071067811865476 * (double)x)); }
EMU_INLINE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
EMU_INLINE float sinpif(float x) { return (float)__builtin_sin(3.141592653589793 * __builtin_fmod((double)x, 2.0)); }
EMU_INLINE float cospif(float x) { return (float)__builtin_cos(3.141592653589793 * __builtin_fmod((double)x, 2.0)); }
EMU_INLINE float fdividef(float a, float b) { return a / b; }
EMU_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
EMU_INLINE float __expf(float x) { return expf(x); }
EMU_INLINE float __exp10f(float x) { return exp10f(x); }
EMU_INLINE float __logf(float x) { return logf(x); }
EMU_INLINE float __log2f(float x) { return log2f(x); }
EMU_INLINE float __log10f(float x) { return log10f(x); }
EMU_INLINE float __sinf(float x) { return sinf(x); }
EMU_INLINE float __cosf(float x) { return cosf(x); }
EMU_INLINE float __tanf(float x) { return tanf(x); }
EMU_INLINE float __tanhf(float x) { return tanhf(x); }
EMU_INLINE float __powf(float x, float y) { return powf(x, y); }
EMU_INLINE void __sincosf(float x, float *s, float *c) { sincosf(x, s, c); }
EMU_INLINE float __fdividef(float a, float b) { return a / b; }
EMU_INLINE float __frcp_rn(float x) { return 1.0f / x; }
EMU_INLINE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
EMU_INLINE float __frsqrt_rn(float x) { return rsqrtf(x); }
EMU_INLINE float __fadd_rn(float a, float b) { return a + b; }
EMU_INLINE float __fsub_rn(float a, float b) { return a - b; }
EMU_INLINE float __fmul_rn(float a, float b) { return a * b; }
EMU_INLINE float __fdiv_rn(float a, float b) { return a / b; }
EMU_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EMU_INLINE double __dadd_rn(double a, double b) { return a + b; }
EMU_INLINE double __dmul_rn(double a, double b) { return a * b; }
EMU_INLINE double __ddiv_rn(double a, double b) { return a / b; }
EMU_INLINE double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
EMU_INLINE bool isnan(float x) { return x != x; }
EMU_INLINE bool isnan(double x) { return x != x; }
EMU_INLINE bool isinf(float x) { return __builtin_isinf(x); }
EMU_INLINE bool isinf(double x) { return __builtin_isinf(x); }
EMU_INLINE bool isfinite(float x) { return __builtin_isfinite(x); }
EMU_INLINE bool isfinite(double x) { return __builtin_isfinite(x); }
EMU_INLINE bool signbit(float x) { return __builtin_signbitf(x); }
EMU_INLINE bool signbit(double x) { return __builtin_signbit(x); }

// Conversions saturate and map NaN to 0 (int) or the smallest value (long long), where C++ leaves them undefined.
#define EMU_CONVERT(name, T, F, round, low, high, nan)                                          \
  EMU_INLINE T name(F x) {                                                                      \
    F r = round(x);                                                                             \
    return x != x ? (T)(nan) : r <= (F)(low) ? (T)(low) : r >= (F)(high) ? (T)(high) : (T)r;     \
  }
#define EMU_CONVERTS(T, to, F, from, suffix, low, high, nan)                                    \
  EMU_CONVERT(__##from##2##to##_rn, T, F, __builtin_rint##suffix, low, high, nan)               \
  EMU_CONVERT(__##from##2##to##_rz, T, F, __builtin_trunc##suffix, low, high, nan)              \
  EMU_CONVERT(__##from##2##to##_ru, T, F, __builtin_ceil##suffix, low, high, nan)               \
  EMU_CONVERT(__##from##2##to##_rd, T, F, __builtin_floor##suffix, low, high, nan)
EMU_CONVERTS(int, int, float, float, f, -2147483647 - 1, 2147483647, 0)
EMU_CONVERTS(unsigned, uint, float, float, f, 0, 4294967295u, 0)
EMU_CONVERTS(long long, ll, float, float, f, -9223372036854775807ll - 1, 9223372036854775807ll, -9223372036854775807ll - 1)
EMU_CONVERTS(int, int, double, double, , -2147483647 - 1, 2147483647, 0)
EMU_CONVERTS(unsigned, uint, double, double, , 0, 4294967295u, 0)
EMU_CONVERTS(long long, ll, double, double, , -9223372036854775807ll - 1, 9223372036854775807ll, -9223372036854775807ll - 1)
#undef EMU_CONVERTS
#undef EMU_CONVERT
EMU_INLINE float __int2float_rn(int x) { return (float)x; }
EMU_INLINE float __uint2float_rn(unsigned x) { return (float)x; }
EMU_INLINE float __ll2float_rn(long long x) { return (float)x; }
EMU_INLINE float __double2float_rn(double x) { return (float)x; }
EMU_INLINE double __int2double_rn(int x) { return (double)x; }

EMU_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
EMU_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
EMU_INLINE int __ffs(int x) { return __builtin_ffs(x); }
EMU_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
EMU_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
EMU_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
EMU_INLINE unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
EMU_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  emu_u64 v = (emu_u64)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned byte = (unsigned)(v >> ((s >> (4 * i) & 7) * 8)) & 255;
    if (s >> (4 * i) & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << (8 * i);
  }
  return r;
}
EMU_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned s) {
  return (unsigned)((((emu_u64)high << 32 | low) << (s & 31)) >> 32);
}
EMU_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned s) {
  return (unsigned)(((emu_u64)high << 32 | low) >> (s & 31));
}
EMU_INLINE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
EMU_INLINE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((emu_u64)a * b >> 32); }
EMU_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
EMU_INLINE int __mul24(int a, int b) { return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)); }
EMU_INLINE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++) c += (int)(signed char)(a >> 8 * i) * (int)(signed char)(b >> 8 * i);
  return c;
}
EMU_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
  return c;
}
EMU_INLINE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
EMU_INLINE unsigned __float_as_uint(float f) { return (unsigned)emu_bits(f); }
EMU_INLINE int __float_as_int(float f) { return (int)emu_bits(f); }
EMU_INLINE float __uint_as_float(unsigned u) { return emu_from<float>(u); }
EMU_INLINE float __int_as_float(int u) { return emu_from<float>((unsigned)u); }
EMU_INLINE long long __double_as_longlong(double d) { return (long long)emu_bits(d); }
EMU_INLINE double __longlong_as_double(long long u) { return emu_from<double>((emu_u64)u); }
EMU_INLINE int __double2loint(double d) { return (int)(unsigned)emu_bits(d); }
EMU_INLINE int __double2hiint(double d) { return (int)(emu_bits(d) >> 32); }
EMU_INLINE double __hiloint2double(int hi, int lo) { return emu_from<double>((emu_u64)(unsigned)hi << 32 | (unsigned)lo); }
#define EMU_LOAD(name) template <class T> EMU_INLINE T name(const T *p) { return *p; }
EMU_LOAD(__ldg) EMU_LOAD(__ldcg) EMU_LOAD(__ldca) EMU_LOAD(__ldcs) EMU_LOAD(__ldlu) EMU_LOAD(__ldcv)
#undef EMU_LOAD
#define EMU_STORE(name) template <class T> EMU_INLINE void name(T *p, typename emu_same<T>::type v) { *p = v; }
EMU_STORE(__stwb) EMU_STORE(__stcg) EMU_STORE(__stcs) EMU_STORE(__stwt)
#undef EMU_STORE
EMU_INLINE size_t __cvta_generic_to_shared(const void *p) { return (size_t)p; }
EMU_INLINE size_t __cvta_generic_to_global(const void *p) { return (size_t)p; }
