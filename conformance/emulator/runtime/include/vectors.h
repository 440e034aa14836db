// Vector types with CUDA's alignments (programming guide, built-in vector types).
#pragma once
#define EMU_VECTOR(T, N)                                                                     \
  struct N##1 { T x; };                                                                      \
  struct alignas(sizeof(T) * 2) N##2 { T x, y; };                                            \
  struct N##3 { T x, y, z; };                                                                \
  struct alignas(sizeof(T) * 4 > 16 ? 16 : sizeof(T) * 4) N##4 { T x, y, z, w; };            \
  EMU_MAKE(T, N)
#define EMU_MAKE(T, N)                                                                       \
  EMU_INLINE N##1 make_##N##1(T x) { return {x}; }                                           \
  EMU_INLINE N##2 make_##N##2(T x, T y) { return {x, y}; }                                   \
  EMU_INLINE N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; }                           \
  EMU_INLINE N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMU_VECTOR(signed char, char)
EMU_VECTOR(unsigned char, uchar)
EMU_VECTOR(short, short)
EMU_VECTOR(unsigned short, ushort)
EMU_VECTOR(int, int)
EMU_VECTOR(long, long)
EMU_VECTOR(unsigned long, ulong)
EMU_VECTOR(long long, longlong)
EMU_VECTOR(unsigned long long, ulonglong)
EMU_VECTOR(float, float)
EMU_VECTOR(double, double)
struct uint1 { unsigned x; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };  // uint3 is the type of threadIdx
EMU_MAKE(unsigned, uint)
#undef EMU_MAKE
#undef EMU_VECTOR
