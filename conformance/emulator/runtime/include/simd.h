// SIMD in a word: two 16-bit or four 8-bit lanes (CUDA math API, SIMD intrinsics). S and U are the signed and the
// unsigned lane; x and y, as int, the lanes of the operands.
#pragma once
template <class S, class F> EMU_INLINE unsigned emu_lanes_of(unsigned a, unsigned b, F f) {
  constexpr int bits = sizeof(S) * 8;
  constexpr unsigned mask = (1u << bits) - 1;
  unsigned r = 0;
  for (int i = 0; i < 32; i += bits) r |= ((unsigned)f((int)(S)(a >> i), (int)(S)(b >> i)) & mask) << i;
  return r;
}
EMU_INLINE int emu_clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
#define EMU_SIMD(name, n, T, result)                                                  \
  EMU_INLINE unsigned name##n(unsigned a, unsigned b) {                               \
    return emu_lanes_of<T>(a, b, [](int x, int y) -> int { (void)x; (void)y; return result; }); \
  }
#define EMU_SIMD1(name, n, T, result)                                                 \
  EMU_INLINE unsigned name##n(unsigned a) {                                           \
    return emu_lanes_of<T>(a, 0, [](int x, int) -> int { return result; });           \
  }
#define EMU_SIMD_COMPARE(n, letter, T)                                                                             \
  EMU_SIMD(__vcmpge##letter, n, T, x >= y ? -1 : 0) EMU_SIMD(__vcmpgt##letter, n, T, x > y ? -1 : 0)               \
  EMU_SIMD(__vcmple##letter, n, T, x <= y ? -1 : 0) EMU_SIMD(__vcmplt##letter, n, T, x < y ? -1 : 0)               \
  EMU_SIMD(__vsetge##letter, n, T, x >= y) EMU_SIMD(__vsetgt##letter, n, T, x > y)                                 \
  EMU_SIMD(__vsetle##letter, n, T, x <= y) EMU_SIMD(__vsetlt##letter, n, T, x < y)                                 \
  EMU_SIMD(__vmax##letter, n, T, x > y ? x : y) EMU_SIMD(__vmin##letter, n, T, x < y ? x : y)                      \
  EMU_SIMD(__vabsdiff##letter, n, T, x > y ? x - y : y - x)
#define EMU_SIMD_ALL(n, S, U, low, high, top)                                                                      \
  EMU_SIMD_COMPARE(n, s, S) EMU_SIMD_COMPARE(n, u, U)                                                              \
  EMU_SIMD(__vcmpeq, n, U, x == y ? -1 : 0) EMU_SIMD(__vcmpne, n, U, x != y ? -1 : 0)                              \
  EMU_SIMD(__vseteq, n, U, x == y) EMU_SIMD(__vsetne, n, U, x != y)                                                \
  EMU_SIMD(__vadd, n, U, x + y) EMU_SIMD(__vsub, n, U, x - y)                                                      \
  EMU_SIMD(__vaddss, n, S, emu_clamp(x + y, low, high)) EMU_SIMD(__vsubss, n, S, emu_clamp(x - y, low, high))      \
  EMU_SIMD(__vaddus, n, U, emu_clamp(x + y, 0, top)) EMU_SIMD(__vsubus, n, U, emu_clamp(x - y, 0, top))            \
  EMU_SIMD(__vavgs, n, S, (x + y + (x + y >= 0)) >> 1) EMU_SIMD(__vavgu, n, U, (x + y + 1) >> 1)                   \
  EMU_SIMD(__vhaddu, n, U, (x + y) >> 1)                                                                           \
  EMU_SIMD1(__vabs, n, S, x < 0 ? -x : x) EMU_SIMD1(__vabsss, n, S, emu_clamp(x < 0 ? -x : x, low, high))          \
  EMU_SIMD1(__vneg, n, S, -x) EMU_SIMD1(__vnegss, n, S, emu_clamp(-x, low, high))                                  \
  EMU_INLINE unsigned __vsads##n(unsigned a, unsigned b) {                                                         \
    unsigned sum = 0;                                                                                              \
    for (int i = 0; i < 32; i += 32 / n) {                                                                         \
      const int d = (int)(S)(a >> i) - (int)(S)(b >> i);                                                           \
      sum += (unsigned)(d < 0 ? -d : d);                                                                           \
    }                                                                                                              \
    return sum;                                                                                                    \
  }                                                                                                                \
  EMU_INLINE unsigned __vsadu##n(unsigned a, unsigned b) {                                                         \
    unsigned sum = 0;                                                                                              \
    for (int i = 0; i < 32; i += 32 / n) {                                                                         \
      const int d = (int)(U)(a >> i) - (int)(U)(b >> i);                                                           \
      sum += (unsigned)(d < 0 ? -d : d);                                                                           \
    }                                                                                                              \
    return sum;                                                                                                    \
  }
EMU_SIMD_ALL(2, short, unsigned short, -32768, 32767, 65535)
EMU_SIMD_ALL(4, signed char, unsigned char, -128, 127, 255)
#undef EMU_SIMD_ALL
#undef EMU_SIMD_COMPARE
#undef EMU_SIMD1
#undef EMU_SIMD
