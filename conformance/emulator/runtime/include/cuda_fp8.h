// 8-bit floats: storage, and conversions rounded once to nearest even. e4m3 has no infinity, its largest is 448.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
struct __half_raw {
  unsigned short x;
  __half_raw() = default;
  EMU_INLINE __half_raw(__half h) : x(h.bits) {}
  EMU_INLINE operator __half() const { return emu_raw___half(x); }
};
struct __half2_raw {
  unsigned short x, y;
  __half2_raw() = default;
  EMU_INLINE __half2_raw(__half2 h) : x(h.x.bits), y(h.y.bits) {}
  EMU_INLINE operator __half2() const { return {emu_raw___half(x), emu_raw___half(y)}; }
};
struct __nv_bfloat16_raw {
  unsigned short x;
  __nv_bfloat16_raw() = default;
  EMU_INLINE __nv_bfloat16_raw(__nv_bfloat16 h) : x(h.bits) {}
  EMU_INLINE operator __nv_bfloat16() const { return emu_raw___nv_bfloat16(x); }
};

EMU_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float f, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
  const bool e4m3 = kind == __NV_E4M3;
  const int mantissa = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  const unsigned bits = (unsigned)emu_bits(f), sign = bits >> 24 & 0x80u, largest = e4m3 ? 0x7eu : 0x7bu;
  unsigned u = bits & 0x7fffffffu, code;
  if (u > 0x7f800000u) return (__nv_fp8_storage_t)(e4m3 ? 0x7fu : 0x7eu);  // the canonical NaN of cuda_fp8.hpp
  if (u < (unsigned)(128 - bias) << 23) {
    code = (unsigned)__builtin_rintf(__builtin_fabsf(f) * (float)(1 << (bias - 1 + mantissa)));
  } else {
    u += (1u << (22 - mantissa)) - 1 + (u >> (23 - mantissa) & 1);
    code = (u >> (23 - mantissa)) - ((unsigned)(127 - bias) << mantissa);
  }
  if (code > largest) code = saturation == __NV_SATFINITE ? largest : e4m3 ? 0x7fu : 0x7cu;
  return (__nv_fp8_storage_t)(sign | code);
}
EMU_INLINE float emu_from_fp8(__nv_fp8_storage_t c, __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E5M2) return emu_from_half((unsigned short)(c << 8));  // the upper half of a half
  const unsigned sign = (c & 0x80u) << 24, rest = c & 0x7fu;
  if (rest == 0x7fu) return emu_from<float>(sign | 0x7fffffffu);
  if (rest < 8) return emu_from<float>(sign | (unsigned)emu_bits((float)rest * 0.001953125f));  // 2^-9
  return emu_from<float>(sign | ((rest << 20) + (120u << 23)));
}
EMU_INLINE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double d, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return __nv_cvt_float_to_fp8(emu_odd(d), s, k);
}
EMU_INLINE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw h, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return __nv_cvt_float_to_fp8((__half)h, s, k);
}
EMU_INLINE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(
    __nv_bfloat16_raw h, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return __nv_cvt_float_to_fp8((__nv_bfloat16)h, s, k);
}
EMU_INLINE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return (__nv_fp8x2_storage_t)(__nv_cvt_float_to_fp8(v.x, s, k) | __nv_cvt_float_to_fp8(v.y, s, k) << 8);
}
EMU_INLINE __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw h, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
  return __nv_cvt_float2_to_fp8x2(__half22float2(h), s, k);
}
EMU_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t c, __nv_fp8_interpretation_t k) {
  return __half(emu_from_fp8(c, k));
}
EMU_INLINE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t c, __nv_fp8_interpretation_t k) {
  return __half2(emu_from_fp8((unsigned char)c, k), emu_from_fp8((unsigned char)(c >> 8), k));
}
#define EMU_FLOAT8(T, kind, l)                                                                              \
  struct T {                                                                                                \
    __nv_fp8_storage_t __x;                                                                                 \
    T() = default;                                                                                          \
    EMU_INLINE explicit T(float f) : __x(__nv_cvt_float_to_fp8(f, __NV_SATFINITE, kind)) {}                 \
    EMU_INLINE explicit T(double d) : __x(__nv_cvt_double_to_fp8(d, __NV_SATFINITE, kind)) {}               \
    EMU_INLINE explicit T(__half h) : T((float)h) {}                                                        \
    EMU_INLINE explicit T(__nv_bfloat16 h) : T((float)h) {}                                                 \
    EMU_INLINE explicit T(int i) : T((double)i) {}                                                          \
    EMU_INLINE explicit operator float() const { return emu_from_fp8(__x, kind); }                          \
    EMU_INLINE explicit operator double() const { return emu_from_fp8(__x, kind); }                         \
    EMU_INLINE explicit operator __half() const { return emu_from_fp8(__x, kind); }                         \
    EMU_INLINE explicit operator __nv_bfloat16() const { return emu_from_fp8(__x, kind); }                  \
  };                                                                                                        \
  EMU_KIND(T, l)
#define EMU_FLOAT8_PACKS(T2, T4, kind)                                                                      \
  struct alignas(2) T2 {                                                                                    \
    __nv_fp8x2_storage_t __x;                                                                               \
    T2() = default;                                                                                         \
    EMU_INLINE explicit T2(float2 v) : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, kind)) {}            \
    EMU_INLINE explicit T2(__half2 v) : T2(__half22float2(v)) {}                                            \
    EMU_INLINE explicit operator float2() const {                                                           \
      return {emu_from_fp8((unsigned char)__x, kind), emu_from_fp8((unsigned char)(__x >> 8), kind)};       \
    }                                                                                                       \
    EMU_INLINE explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, kind); }          \
  };                                                                                                        \
  struct alignas(4) T4 {                                                                                    \
    __nv_fp8x4_storage_t __x;                                                                               \
    T4() = default;                                                                                         \
    EMU_INLINE explicit T4(float4 v)                                                                        \
        : __x(T2(float2{v.x, v.y}).__x | (unsigned)T2(float2{v.z, v.w}).__x << 16) {}                       \
    EMU_INLINE explicit operator float4() const {                                                           \
      return {emu_from_fp8((unsigned char)__x, kind), emu_from_fp8((unsigned char)(__x >> 8), kind),        \
              emu_from_fp8((unsigned char)(__x >> 16), kind), emu_from_fp8((unsigned char)(__x >> 24), kind)}; \
    }                                                                                                       \
  };
EMU_FLOAT8(__nv_fp8_e4m3, __NV_E4M3, '4')
EMU_FLOAT8(__nv_fp8_e5m2, __NV_E5M2, '5')
EMU_FLOAT8_PACKS(__nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
EMU_FLOAT8_PACKS(__nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
EMU_KIND(__nv_fp8x2_e4m3, '4') EMU_KIND(__nv_fp8x4_e4m3, '4')
EMU_KIND(__nv_fp8x2_e5m2, '5') EMU_KIND(__nv_fp8x4_e5m2, '5')
