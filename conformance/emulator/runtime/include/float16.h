// half and __nv_bfloat16.
#pragma once
#include "halves.h"
// A double as a float that rounds on to 16 bits as the double itself would (round to odd).
EMU_INLINE float emu_odd(double d) {
  float f = (float)d;
  if (d != d || (double)f == d || __builtin_isinf(f)) return f;
  unsigned u = (unsigned)emu_bits(f);
  if (__builtin_fabs((double)f) > __builtin_fabs(d)) u--;
  return emu_from<float>(u | 1);
}
// Everything that both formats have; H is the struct, P the prefix of its conversions, V its pair.
#define EMU_FLOAT16(H, V, encode, decode)                                                                     \
  struct alignas(2) H {                                                                                       \
    unsigned short bits;                                                                                      \
    H() = default;                                                                                            \
    EMU_INLINE H(float f) : bits(encode(f)) {}                                                                \
    EMU_INLINE H(double d) : bits(encode(emu_odd(d))) {}                                                      \
    EMU_INLINE H(int i) : bits(encode(emu_odd((double)i))) {}                                                 \
    EMU_INLINE H(unsigned i) : bits(encode(emu_odd((double)i))) {}                                            \
    EMU_INLINE H(long long i) : bits(encode(emu_odd((double)i))) {}                                           \
    EMU_INLINE operator float() const { return decode(bits); }                                                \
    EMU_INLINE H &operator+=(H o) { return *this = H((float)*this + (float)o); }                              \
    EMU_INLINE H &operator-=(H o) { return *this = H((float)*this - (float)o); }                              \
    EMU_INLINE H &operator*=(H o) { return *this = H((float)*this * (float)o); }                              \
    EMU_INLINE H &operator/=(H o) { return *this = H((float)*this / (float)o); }                              \
  };                                                                                                          \
  EMU_INLINE H emu_raw_##H(unsigned short b) { H h; h.bits = b; return h; }                                    \
  EMU_INLINE H operator+(H a, H b) { return H((float)a + (float)b); }                                          \
  EMU_INLINE H operator-(H a, H b) { return H((float)a - (float)b); }                                          \
  EMU_INLINE H operator*(H a, H b) { return H((float)a * (float)b); }                                          \
  EMU_INLINE H operator/(H a, H b) { return H((float)a / (float)b); }                                          \
  EMU_INLINE H operator-(H a) { return emu_raw_##H(a.bits ^ 0x8000u); }                                        \
  EMU_INLINE bool operator==(H a, H b) { return (float)a == (float)b; }                                        \
  EMU_INLINE bool operator!=(H a, H b) { return (float)a != (float)b; }                                        \
  EMU_INLINE bool operator<(H a, H b) { return (float)a < (float)b; }                                          \
  EMU_INLINE bool operator>(H a, H b) { return (float)a > (float)b; }                                          \
  EMU_INLINE bool operator<=(H a, H b) { return (float)a <= (float)b; }                                        \
  EMU_INLINE bool operator>=(H a, H b) { return (float)a >= (float)b; }                                        \
  struct alignas(4) V {                                                                                       \
    H x, y;                                                                                                   \
    V() = default;                                                                                            \
    EMU_INLINE V(H a, H b) : x(a), y(b) {}                                                                    \
  };                                                                                                          \
  EMU_INLINE V operator+(V a, V b) { return {a.x + b.x, a.y + b.y}; }                                          \
  EMU_INLINE V operator-(V a, V b) { return {a.x - b.x, a.y - b.y}; }                                          \
  EMU_INLINE V operator*(V a, V b) { return {a.x * b.x, a.y * b.y}; }                                          \
  EMU_INLINE V operator/(V a, V b) { return {a.x / b.x, a.y / b.y}; }                                          \
  EMU_INLINE V operator-(V a) { return {-a.x, -a.y}; }                                                         \
  EMU_INLINE V &operator+=(V &a, V b) { return a = a + b; }                                                    \
  EMU_INLINE V &operator*=(V &a, V b) { return a = a * b; }                                                    \
  EMU_INLINE V atomicAdd(V *p, V v) { return {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)}; }                 \
  template <> struct emu_kind<V> { static constexpr char letter = emu_kind<H>::letter; };                      \
  EMU_INLINE H __hadd(H a, H b) { return a + b; }                                                              \
  EMU_INLINE H __hsub(H a, H b) { return a - b; }                                                              \
  EMU_INLINE H __hmul(H a, H b) { return a * b; }                                                              \
  EMU_INLINE H __hdiv(H a, H b) { return a / b; }                                                              \
  EMU_INLINE H __hneg(H a) { return -a; }                                                                      \
  EMU_INLINE H __habs(H a) { return emu_raw_##H(a.bits & 0x7fffu); }                                           \
  EMU_INLINE H __hfma(H a, H b, H c) { return H(__builtin_fma((double)(float)a, (double)(float)b, (double)(float)c)); } \
  EMU_INLINE bool __heq(H a, H b) { return a == b; }                                                           \
  EMU_INLINE bool __hne(H a, H b) { return a != b; }                                                           \
  EMU_INLINE bool __hlt(H a, H b) { return a < b; }                                                            \
  EMU_INLINE bool __hle(H a, H b) { return a <= b; }                                                           \
  EMU_INLINE bool __hgt(H a, H b) { return a > b; }                                                            \
  EMU_INLINE bool __hge(H a, H b) { return a >= b; }                                                           \
  EMU_INLINE bool __hisnan(H a) { return (float)a != (float)a; }                                               \
  EMU_INLINE int __hisinf(H a) { return __builtin_isinf((float)a) ? ((float)a > 0 ? 1 : -1) : 0; }             \
  EMU_INLINE H __hmax(H a, H b) { return H(fmaxf((float)a, (float)b)); }                             \
  EMU_INLINE H __hmin(H a, H b) { return H(fminf((float)a, (float)b)); }                             \
  EMU_INLINE H __hmax_nan(H a, H b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }               \
  EMU_INLINE H __hmin_nan(H a, H b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }               \
  EMU_INLINE H hexp(H a) { return H(expf(a)); }                                                                \
  EMU_INLINE H hexp2(H a) { return H(exp2f(a)); }                                                              \
  EMU_INLINE H hlog(H a) { return H(logf(a)); }                                                                \
  EMU_INLINE H hlog2(H a) { return H(log2f(a)); }                                                              \
  EMU_INLINE H hsqrt(H a) { return H(__builtin_sqrtf(a)); }                                                    \
  EMU_INLINE H hrsqrt(H a) { return H(rsqrtf(a)); }                                                            \
  EMU_INLINE H hrcp(H a) { return H(1.0f / (float)a); }                                                        \
  EMU_INLINE H hsin(H a) { return H(sinf(a)); }                                                                \
  EMU_INLINE H hcos(H a) { return H(cosf(a)); }                                                                \
  EMU_INLINE H htanh(H a) { return H(tanhf(a)); }                                                              \
  EMU_INLINE H hfloor(H a) { return H(floorf(a)); }                                                            \
  EMU_INLINE H hceil(H a) { return H(ceilf(a)); }                                                              \
  EMU_INLINE H hrint(H a) { return H(rintf(a)); }                                                              \
  EMU_INLINE H htrunc(H a) { return H(truncf(a)); }                                                            \
  EMU_INLINE V __hadd2(V a, V b) { return a + b; }                                                             \
  EMU_INLINE V __hsub2(V a, V b) { return a - b; }                                                             \
  EMU_INLINE V __hmul2(V a, V b) { return a * b; }                                                             \
  EMU_INLINE V __h2div(V a, V b) { return a / b; }                                                             \
  EMU_INLINE V __hneg2(V a) { return -a; }                                                                     \
  EMU_INLINE V __habs2(V a) { return {__habs(a.x), __habs(a.y)}; }                                             \
  EMU_INLINE V __hfma2(V a, V b, V c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }               \
  EMU_INLINE V __hmax2(V a, V b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                              \
  EMU_INLINE V __hmin2(V a, V b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                              \
  EMU_INLINE V h2exp(V a) { return {hexp(a.x), hexp(a.y)}; }                                                   \
  EMU_INLINE V h2rsqrt(V a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }
  
