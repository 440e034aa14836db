// Conversions between float and the two 16-bit formats, rounding once to nearest even; for kernels and the runtime.
#pragma once
#define EMU_CONVERSION inline __attribute__((always_inline))
EMU_CONVERSION float emu_float(unsigned bits) {
  float f;
  __builtin_memcpy(&f, &bits, sizeof f);
  return f;
}
EMU_CONVERSION unsigned emu_unsigned(float f) {
  unsigned bits;
  __builtin_memcpy(&bits, &f, sizeof bits);
  return bits;
}
#ifdef __F16C__
typedef float emu_float4 __attribute__((vector_size(16)));
typedef short emu_short8 __attribute__((vector_size(16)));
EMU_CONVERSION float emu_from_half(unsigned short h) {
  return __builtin_ia32_vcvtph2ps((emu_short8){(short)h, 0, 0, 0, 0, 0, 0, 0})[0];
}
EMU_CONVERSION unsigned short emu_to_half(float f) {
  return (unsigned short)__builtin_ia32_vcvtps2ph((emu_float4){f, 0, 0, 0}, 0)[0];
}
#else
EMU_CONVERSION float emu_from_half(unsigned short h) {
  unsigned s = (h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 1023;
  if (e == 31) return emu_float(s | 0x7f800000u | m << 13);
  if (e) return emu_float(s | (e + 112) << 23 | m << 13);
  float f = (float)m * 5.9604644775390625e-8f;  // 2^-24, the smallest subnormal
  return s ? -f : f;
}
EMU_CONVERSION unsigned short emu_to_half(float f) {
  unsigned x = emu_unsigned(f), s = x >> 16 & 0x8000u;
  x &= 0x7fffffffu;
  if (x > 0x7f800000u) return (unsigned short)(s | 0x7e00u | (x >> 13 & 0x3ffu));
  if (x >= 0x477ff000u) return (unsigned short)(s | 0x7c00u);  // 65520 and above round to infinity
  if (x < 0x38800000u) return (unsigned short)(s | (emu_unsigned(emu_float(x) + 0.5f) - 0x3f000000u));
  x += 0xc8000fffu + (x >> 13 & 1);
  return (unsigned short)(s | x >> 13);
}
#endif
EMU_CONVERSION float emu_from_bfloat(unsigned short b) { return emu_float((unsigned)b << 16); }
EMU_CONVERSION unsigned short emu_to_bfloat(float f) {
  unsigned x = emu_unsigned(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return 0x7fff;  // CUDA's canonical NaN
  return (unsigned short)((x + 0x7fffu + (x >> 16 & 1)) >> 16);
}
#undef EMU_CONVERSION
