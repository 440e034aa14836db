// Further functions of the math and integer API; those of arithmetic.h are the usual ones.
#pragma once
extern "C" {
double j0(double) noexcept; double j1(double) noexcept; double jn(int, double) noexcept;
double y0(double) noexcept; double y1(double) noexcept; double yn(int, double) noexcept;
float j0f(float) noexcept; float j1f(float) noexcept; float jnf(int, float) noexcept;
float y0f(float) noexcept; float y1f(float) noexcept; float ynf(int, float) noexcept;
double modf(double, double *) noexcept; float modff(float, float *) noexcept;
double scalbn(double, int) noexcept; float scalbnf(float, int) noexcept;
int ilogb(double) noexcept; int ilogbf(float) noexcept;
double remquo(double, double, int *) noexcept; float remquof(float, float, int *) noexcept;
long lround(double) noexcept; long long llround(double) noexcept; long long llroundf(float) noexcept;
}
EMU_INLINE float modf(float x, float *whole) { return modff(x, whole); }
EMU_INLINE float nanf(const char *) { return __builtin_nanf(""); }
EMU_INLINE double nan(const char *) { return __builtin_nan(""); }
EMU_INLINE double exp10(double x) { return __builtin_pow(10.0, x); }
EMU_INLINE float exp10(float x) { return exp10f(x); }
EMU_INLINE double rcbrt(double x) { return 1.0 / cbrt(x); }
EMU_INLINE double sinpi(double x) { return __builtin_sin(3.141592653589793 * __builtin_fmod(x, 2.0)); }
EMU_INLINE double cospi(double x) { return __builtin_cos(3.141592653589793 * __builtin_fmod(x, 2.0)); }
EMU_INLINE void sincospi(double x, double *s, double *c) { *s = sinpi(x), *c = cospi(x); }
EMU_INLINE void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
EMU_INLINE double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
EMU_INLINE float rhypotf(float x, float y) { return (float)(1.0 / hypot((double)x, (double)y)); }
EMU_INLINE double norm3d(double a, double b, double c) { return hypot(hypot(a, b), c); }
EMU_INLINE double norm4d(double a, double b, double c, double d) { return hypot(hypot(a, b), hypot(c, d)); }
EMU_INLINE float norm3df(float a, float b, float c) { return (float)norm3d(a, b, c); }
EMU_INLINE float norm4df(float a, float b, float c, float d) { return (float)norm4d(a, b, c, d); }
EMU_INLINE double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
EMU_INLINE double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
EMU_INLINE float rnorm3df(float a, float b, float c) { return (float)rnorm3d(a, b, c); }
EMU_INLINE float rnorm4df(float a, float b, float c, float d) { return (float)rnorm4d(a, b, c, d); }
EMU_INLINE double normcdf(double x) { return 0.5 * __builtin_erfc(-0.7071067811865476 * x); }
// exp(x^2) erfc(x): the product while erfc is no subnormal, its asymptotic series beyond, where six terms give 1e-16.
EMU_INLINE double erfcx(double x) {
  if (x < 25.0) return __builtin_exp(x * x) * __builtin_erfc(x);
  const double t = 1.0 / (2.0 * x * x);
  return 0.5641895835477563 / x * (1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t)))));
}
EMU_INLINE float erfcxf(float x) { return (float)erfcx(x); }
EMU_INLINE double fdivide(double a, double b) { return a / b; }

EMU_INLINE unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
EMU_INLINE unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
EMU_INLINE long long llmin(long long a, long long b) { return b < a ? b : a; }
EMU_INLINE long long llmax(long long a, long long b) { return a < b ? b : a; }
EMU_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
EMU_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
EMU_INLINE unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
EMU_INLINE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
EMU_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
EMU_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }
EMU_INLINE unsigned __sad(int a, int b, unsigned c) { return c + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a); }
EMU_INLINE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
EMU_INLINE unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((emu_u64)a + b) >> 1); }
EMU_INLINE unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((emu_u64)a + b + 1) >> 1); }
EMU_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned s) {
  return s >= 32 ? low : (unsigned)((((emu_u64)high << 32 | low) << s) >> 32);
}
EMU_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned s) {
  return s >= 32 ? high : (unsigned)(((emu_u64)high << 32 | low) >> s);
}
EMU_INLINE int __dp2a_lo(int a, int b, int c) { return c + (short)a * (signed char)b + (short)(a >> 16) * (signed char)(b >> 8); }
EMU_INLINE int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
EMU_INLINE unsigned __fns(unsigned mask, unsigned base, int offset) {  // the |offset|-th set bit from base on
  if (offset == 0) return mask >> base & 1 ? base : ~0u;
  for (int i = (int)base, step = offset > 0 ? 1 : -1, left = offset * step; i >= 0 && i < 32; i += step)
    if (mask >> i & 1 && --left == 0) return (unsigned)i;
  return ~0u;
}
