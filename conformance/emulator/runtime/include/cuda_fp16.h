// half: 16 bits of storage, float arithmetic rounded once (exact for + - * / and sqrt, as 24 >= 2 * 11 + 2).
#pragma once
#include "float16.h"
struct __half;
template <> struct emu_kind<__half> { static constexpr char letter = 'e'; };
EMU_FLOAT16(__half, __half2, emu_to_half, emu_from_half)
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
EMU_INLINE float __half2float(__half h) { return h; }
EMU_INLINE __half __float2half(float f) { return f; }
EMU_INLINE __half __float2half_rn(float f) { return f; }
EMU_INLINE __half __double2half(double d) { return d; }
EMU_INLINE __half __int2half_rn(int i) { return i; }
EMU_INLINE __half2 __halves2half2(__half a, __half b) { return {a, b}; }
EMU_INLINE __half2 __half2half2(__half a) { return {a, a}; }
EMU_INLINE __half2 make_half2(__half a, __half b) { return {a, b}; }
EMU_INLINE __half2 __float2half2_rn(float f) { return {f, f}; }
EMU_INLINE __half2 __floats2half2_rn(float a, float b) { return {a, b}; }
EMU_INLINE __half2 __float22half2_rn(float2 f) { return {f.x, f.y}; }
EMU_INLINE float2 __half22float2(__half2 h) { return {h.x, h.y}; }
EMU_INLINE __half __low2half(__half2 h) { return h.x; }
EMU_INLINE __half __high2half(__half2 h) { return h.y; }
EMU_INLINE float __low2float(__half2 h) { return h.x; }
EMU_INLINE float __high2float(__half2 h) { return h.y; }
EMU_INLINE __half2 __lowhigh2highlow(__half2 h) { return {h.y, h.x}; }
EMU_INLINE unsigned short __half_as_ushort(__half h) { return h.bits; }
EMU_INLINE short __half_as_short(__half h) { return (short)h.bits; }
EMU_INLINE __half __ushort_as_half(unsigned short b) { return emu_raw___half(b); }
EMU_INLINE __half __short_as_half(short b) { return emu_raw___half((unsigned short)b); }
#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
#ifdef EMU_FURTHER
#include "float16_more.h"
EMU_FLOAT16_MORE(__half, __half2, half)
#endif
EMU_INLINE __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
EMU_INLINE __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
EMU_INLINE __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
EMU_INLINE __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
