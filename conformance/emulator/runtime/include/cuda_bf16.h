// bfloat16: 16 bits of storage, float arithmetic rounded once (exact for + - * / and sqrt, as 24 >= 2 * 8 + 2).
#pragma once
#include "float16.h"
struct __nv_bfloat16;
template <> struct emu_kind<__nv_bfloat16> { static constexpr char letter = 'y'; };
EMU_FLOAT16(__nv_bfloat16, __nv_bfloat162, emu_to_bfloat, emu_from_bfloat)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
EMU_INLINE float __bfloat162float(__nv_bfloat16 h) { return h; }
EMU_INLINE __nv_bfloat16 __float2bfloat16(float f) { return f; }
EMU_INLINE __nv_bfloat16 __float2bfloat16_rn(float f) { return f; }
EMU_INLINE __nv_bfloat16 __double2bfloat16(double d) { return d; }
EMU_INLINE __nv_bfloat16 __int2bfloat16_rn(int i) { return i; }
EMU_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
EMU_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
EMU_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
EMU_INLINE __nv_bfloat162 __float2bfloat162_rn(float f) { return {f, f}; }
EMU_INLINE __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
EMU_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 f) { return {f.x, f.y}; }
EMU_INLINE float2 __bfloat1622float2(__nv_bfloat162 h) { return {h.x, h.y}; }
EMU_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 h) { return h.x; }
EMU_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 h) { return h.y; }
EMU_INLINE float __low2float(__nv_bfloat162 h) { return h.x; }
EMU_INLINE float __high2float(__nv_bfloat162 h) { return h.y; }
EMU_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }
EMU_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short b) { return emu_raw___nv_bfloat16(b); }
#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#ifdef EMU_FURTHER
#include "float16_more.h"
EMU_FLOAT16_MORE(__nv_bfloat16, __nv_bfloat162, bfloat16)
#endif
EMU_INLINE __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
EMU_INLINE __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
EMU_INLINE __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
EMU_INLINE __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
EMU_INLINE short __bfloat16_as_short(__nv_bfloat16 h) { return (short)h.bits; }
EMU_INLINE __nv_bfloat16 __short_as_bfloat16(short b) { return emu_raw___nv_bfloat16((unsigned short)b); }
