// What both 16-bit formats have beyond arithmetic: comparisons of pairs, saturation, conversions to integers.
#pragma once
#define EMU_UNORDERED(a, b) (__hisnan(a) || __hisnan(b))
// A comparison: of two values that may be unordered, and of pairs as numbers, as a mask, and as one answer.
#define EMU_COMPARE16(H, V, name, operation)                                                                   \
  EMU_INLINE bool __h##name##u(H a, H b) { return EMU_UNORDERED(a, b) || a operation b; }                        \
  EMU_INLINE V __h##name##2(V a, V b) { return {H(float(a.x operation b.x)), H(float(a.y operation b.y))}; }     \
  EMU_INLINE V __h##name##u2(V a, V b) { return {H(float(__h##name##u(a.x, b.x))), H(float(__h##name##u(a.y, b.y)))}; } \
  EMU_INLINE unsigned __h##name##2_mask(V a, V b) { return (a.x operation b.x ? 0xffffu : 0) | (a.y operation b.y ? 0xffff0000u : 0); } \
  EMU_INLINE unsigned __h##name##u2_mask(V a, V b) { return (__h##name##u(a.x, b.x) ? 0xffffu : 0) | (__h##name##u(a.y, b.y) ? 0xffff0000u : 0); } \
  EMU_INLINE bool __hb##name##2(V a, V b) { return a.x operation b.x && a.y operation b.y; }                     \
  EMU_INLINE bool __hb##name##u2(V a, V b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); }
#define EMU_EACH16(V, name, of) EMU_INLINE V name(V a) { return {of(a.x), of(a.y)}; }
#define EMU_INTEGER16(H, word, T, name)                                                        \
  EMU_INLINE T __##word##2##name##_rn(H h) { return (T)emu_integer<T>(__builtin_rintf((float)h)); }  \
  EMU_INLINE T __##word##2##name##_rd(H h) { return (T)emu_integer<T>(__builtin_floorf((float)h)); } \
  EMU_INLINE T __##word##2##name##_ru(H h) { return (T)emu_integer<T>(__builtin_ceilf((float)h)); }  \
  EMU_INLINE T __##word##2##name##_rz(H h) { return (T)emu_integer<T>(__builtin_truncf((float)h)); }
// A whole number as T: saturates; NaN is 0, and the top bit in 64 bits, as the instruction gives it.
template <class T> EMU_INLINE T emu_integer(float r) {
  constexpr bool has_sign = T(-1) < T(0);
  constexpr T low = has_sign ? T(1ull << (8 * sizeof(T) - 1)) : T(0), high = T(~low);
  if (r != r) return sizeof(T) == 8 ? T(1ull << 63) : T(0);
  return r <= (float)low ? low : r >= (float)high ? high : (T)r;
}
// The value next to f towards zero (0), minus infinity (-1) or plus infinity (1).
template <class H> EMU_INLINE H emu_toward(float f, int direction) {
  H h(f);
  const float v = (float)h;
  if (f != f || v == f || __builtin_isinf(f)) return h;
  const bool larger = __builtin_fabsf(v) > __builtin_fabsf(f), grow = direction * (__builtin_signbitf(f) ? -1 : 1) > 0;
  if (larger && !grow) h.bits--;
  if (!larger && grow) h.bits++;
  return h;
}
#define EMU_FLOAT16_MORE(H, V, word)                                                                           \
  EMU_COMPARE16(H, V, eq, ==) EMU_COMPARE16(H, V, ne, !=) EMU_COMPARE16(H, V, lt, <)                             \
  EMU_COMPARE16(H, V, le, <=) EMU_COMPARE16(H, V, gt, >) EMU_COMPARE16(H, V, ge, >=)                             \
  EMU_EACH16(V, h2exp2, hexp2) EMU_EACH16(V, h2log, hlog) EMU_EACH16(V, h2log2, hlog2) EMU_EACH16(V, h2sqrt, hsqrt) \
  EMU_EACH16(V, h2rcp, hrcp) EMU_EACH16(V, h2sin, hsin) EMU_EACH16(V, h2cos, hcos) EMU_EACH16(V, h2tanh, htanh)  \
  EMU_EACH16(V, h2floor, hfloor) EMU_EACH16(V, h2ceil, hceil) EMU_EACH16(V, h2rint, hrint)                       \
  EMU_EACH16(V, h2trunc, htrunc)                                                                                 \
  EMU_INLINE H hexp10(H a) { return H(exp10f(a)); }                                                              \
  EMU_INLINE H hlog10(H a) { return H(log10f(a)); }                                                              \
  EMU_EACH16(V, h2exp10, hexp10) EMU_EACH16(V, h2log10, hlog10)                                                  \
  EMU_INLINE V __hisnan2(V a) { return {H(float(__hisnan(a.x))), H(float(__hisnan(a.y)))}; }                      \
  EMU_INLINE V __hmax2_nan(V a, V b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }                    \
  EMU_INLINE V __hmin2_nan(V a, V b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }                    \
  EMU_INLINE H emu_saturated(H a) { return H(__saturatef((float)a)); }                                              \
  EMU_INLINE V emu_saturated(V a) { return {emu_saturated(a.x), emu_saturated(a.y)}; }                           \
  EMU_INLINE H emu_relu(H a) { return __hisnan(a) ? a : __hmax(a, H(0.0f)); }                                    \
  EMU_INLINE V emu_relu(V a) { return {emu_relu(a.x), emu_relu(a.y)}; }                                          \
  EMU_INLINE H __hadd_rn(H a, H b) { return a + b; }                                                             \
  EMU_INLINE H __hsub_rn(H a, H b) { return a - b; }                                                             \
  EMU_INLINE H __hmul_rn(H a, H b) { return a * b; }                                                             \
  EMU_INLINE V __hadd2_rn(V a, V b) { return a + b; }                                                            \
  EMU_INLINE V __hsub2_rn(V a, V b) { return a - b; }                                                            \
  EMU_INLINE V __hmul2_rn(V a, V b) { return a * b; }                                                            \
  EMU_INLINE H __hadd_sat(H a, H b) { return emu_saturated(a + b); }                                             \
  EMU_INLINE H __hsub_sat(H a, H b) { return emu_saturated(a - b); }                                             \
  EMU_INLINE H __hmul_sat(H a, H b) { return emu_saturated(a * b); }                                             \
  EMU_INLINE H __hfma_sat(H a, H b, H c) { return emu_saturated(__hfma(a, b, c)); }                              \
  EMU_INLINE H __hfma_relu(H a, H b, H c) { return emu_relu(__hfma(a, b, c)); }                                  \
  EMU_INLINE V __hadd2_sat(V a, V b) { return emu_saturated(a + b); }                                            \
  EMU_INLINE V __hsub2_sat(V a, V b) { return emu_saturated(a - b); }                                            \
  EMU_INLINE V __hmul2_sat(V a, V b) { return emu_saturated(a * b); }                                            \
  EMU_INLINE V __hfma2_sat(V a, V b, V c) { return emu_saturated(__hfma2(a, b, c)); }                            \
  EMU_INLINE V __hfma2_relu(V a, V b, V c) { return emu_relu(__hfma2(a, b, c)); }                                \
  EMU_INLINE V &operator-=(V &a, V b) { return a = a - b; }                                                      \
  EMU_INLINE V &operator/=(V &a, V b) { return a = a / b; }                                                      \
  EMU_INLINE bool operator==(V a, V b) { return a.x == b.x && a.y == b.y; }                                      \
  EMU_INLINE bool operator!=(V a, V b) { return !(a == b); }                                                     \
  EMU_INTEGER16(H, word, short, short) EMU_INTEGER16(H, word, unsigned short, ushort)                            \
  EMU_INTEGER16(H, word, int, int) EMU_INTEGER16(H, word, unsigned, uint)                                        \
  EMU_INTEGER16(H, word, long long, ll) EMU_INTEGER16(H, word, unsigned long long, ull)                          \
  EMU_INTEGER16(H, word, signed char, char) EMU_INTEGER16(H, word, unsigned char, uchar)                         \
  EMU_INLINE H __short2##word##_rn(short i) { return H((int)i); }                                                \
  EMU_INLINE H __ushort2##word##_rn(unsigned short i) { return H((int)i); }                                      \
  EMU_INLINE H __uint2##word##_rn(unsigned i) { return H(i); }                                                   \
  EMU_INLINE H __ll2##word##_rn(long long i) { return H(i); }                                                    \
  EMU_INLINE H __ull2##word##_rn(unsigned long long i) { return H(emu_odd((double)i)); }                         \
  EMU_INLINE H __float2##word##_rz(float f) { return emu_toward<H>(f, 0); }              \
  EMU_INLINE H __float2##word##_rd(float f) { return emu_toward<H>(f, -1); }                              \
  EMU_INLINE H __float2##word##_ru(float f) { return emu_toward<H>(f, 1); }
