// wmma (programming guide, warp matrix functions). CUDA leaves the map from elements to lanes open: here the parts of n
// neighbours of the row-major tile go to the lanes in an order of no kernel, so that a lane which reads what it takes
// for its own part reads that of another. Products are exact in float, sums go in ascending k, rounded once to the
// accumulator; tf32 operands lose their low 13 bits, as the tensor cores read them.
#pragma once
#include "cuda_fp16.h"
#include "cuda_bf16.h"
namespace nvcuda {
namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
namespace precision {
struct tf32 {};
}
enum layout_t { mem_row_major, mem_col_major };
template <class Use, int M, int N, int K> struct emu_tile;
template <int M, int N, int K> struct emu_tile<matrix_a, M, N, K> { enum { rows = M, columns = K }; };
template <int M, int N, int K> struct emu_tile<matrix_b, M, N, K> { enum { rows = K, columns = N }; };
template <int M, int N, int K> struct emu_tile<accumulator, M, N, K> { enum { rows = M, columns = N }; };
// What a fragment stores, and what it multiplies: the shapes and types that the hardware has, no others.
template <class T> struct emu_element;
template <> struct emu_element<__half> { typedef __half storage; typedef float sum; };
template <> struct emu_element<__nv_bfloat16> { typedef __nv_bfloat16 storage; typedef float sum; };
template <> struct emu_element<precision::tf32> { typedef float storage; typedef float sum; };
template <> struct emu_element<float> { typedef float storage; typedef float sum; };
template <> struct emu_element<double> { typedef double storage; typedef double sum; };
template <> struct emu_element<signed char> { typedef signed char storage; typedef int sum; };
template <> struct emu_element<unsigned char> { typedef unsigned char storage; typedef int sum; };
template <> struct emu_element<int> { typedef int storage; typedef int sum; };
template <class T, int M, int N, int K> constexpr bool emu_shape =
    (K == 16 && M * N == 256 && (M == 16 || M == 8 || M == 32));
template <int M, int N, int K> constexpr bool emu_shape<precision::tf32, M, N, K> = M == 16 && N == 16 && K == 8;
template <int M, int N, int K> constexpr bool emu_shape<double, M, N, K> = M == 8 && N == 8 && K == 4;
template <int M, int N, int K> constexpr bool emu_shape<float, M, N, K> =
    emu_shape<__half, M, N, K> || emu_shape<precision::tf32, M, N, K>;

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
  static_assert(emu_shape<T, M, N, K>, "no tensor core computes this shape in this type");
  enum {
    rows = emu_tile<Use, M, N, K>::rows,
    columns = emu_tile<Use, M, N, K>::columns,
    num_elements = rows * columns / 32,
    num_storage_elements = num_elements
  };
  typedef typename emu_element<T>::storage element_type;
  element_type x[num_elements];
};
// The part of a tile that a lane holds.
EMU_UNCHECKED EMU_INLINE int emu_part(int lane) { return lane ^ 21; }
EMU_INLINE float __float_to_tf32(float f) {  // to nearest, ties away from zero (PTX cvt.rna.tf32)
  return emu_from<float>(((unsigned)emu_bits(f) + 0x1000u) & 0xffffe000u);
}
template <class F, class P> EMU_INLINE void emu_move(F &f, P *p, unsigned ld, bool row, bool load) {
  emu_warp(EMU_ARRIVE, ~0u, 0, 0, nullptr);
  for (int i = 0; i < (int)F::num_elements; i++) {
    const int e = emu_part((int)emu_lane()) * F::num_elements + i, r = e / F::columns, c = e % F::columns;
    P *q = p + (row ? (size_t)r * ld + c : (size_t)c * ld + r);
    if (load) f.x[i] = *q;
    else *q = f.x[i];
  }
}
template <class U, int M, int N, int K, class T, class P>
EMU_INLINE void load_matrix_sync(fragment<U, M, N, K, T, row_major> &f, const P *p, unsigned ld) {
  emu_move(f, const_cast<P *>(p), ld, true, true);
}
template <class U, int M, int N, int K, class T, class P>
EMU_INLINE void load_matrix_sync(fragment<U, M, N, K, T, col_major> &f, const P *p, unsigned ld) {
  emu_move(f, const_cast<P *>(p), ld, false, true);
}
template <int M, int N, int K, class T>
EMU_INLINE void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const T *p, unsigned ld, layout_t layout) {
  emu_move(f, const_cast<T *>(p), ld, layout == mem_row_major, true);
}
template <int M, int N, int K, class T>
EMU_INLINE void store_matrix_sync(T *p, const fragment<accumulator, M, N, K, T> &f, unsigned ld, layout_t layout) {
  emu_move(const_cast<fragment<accumulator, M, N, K, T> &>(f), p, ld, layout == mem_row_major, false);
}
template <class U, int M, int N, int K, class T, class L, class V>
EMU_INLINE void fill_fragment(fragment<U, M, N, K, T, L> &f, V v) {
  for (auto &e : f.x) e = (typename fragment<U, M, N, K, T, L>::element_type)v;
}
template <class T> EMU_UNCHECKED EMU_INLINE typename emu_element<T>::sum emu_operand(typename emu_element<T>::storage v) {
  return v;
}
template <> EMU_UNCHECKED EMU_INLINE float emu_operand<precision::tf32>(float v) {
  return emu_from<float>((unsigned)emu_bits(v) & 0xffffe000u);
}
template <int M, int N, int K, class T, class D, class C> struct emu_product {
  typedef typename emu_element<T>::storage E;
  typedef typename emu_element<T>::sum S;
  D *d;
  const E *a, *b;
  const C *c;
  EMU_UNCHECKED static void run(void **lane) {
    S a[M][K], b[K][N];
    const int na = M * K / 32, nb = K * N / 32, nc = M * N / 32;
    for (int l = 0; l < 32; l++) {
      const emu_product *p = (const emu_product *)lane[l];
      const int part = emu_part(l);
      for (int i = 0; i < na; i++) a[(part * na + i) / K][(part * na + i) % K] = emu_operand<T>(p->a[i]);
      for (int i = 0; i < nb; i++) b[(part * nb + i) / N][(part * nb + i) % N] = emu_operand<T>(p->b[i]);
    }
    for (int l = 0; l < 32; l++) {
      const emu_product *p = (const emu_product *)lane[l];
      for (int i = 0; i < nc; i++) {
        const int e = emu_part(l) * nc + i, r = e / N, j = e % N;
        S s = (S)p->c[i];
        for (int k = 0; k < K; k++) s += a[r][k] * b[k][j];
        p->d[i] = (D)s;
      }
    }
  }
};
template <int M, int N, int K, class T, class LA, class LB, class D, class C>
inline void mma_sync(fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, T, LA> &a,
                     const fragment<matrix_b, M, N, K, T, LB> &b, const fragment<accumulator, M, N, K, C> &c) {
  typedef emu_product<M, N, K, T, D, C> P;
  P p{d.x, a.x, b.x, c.x};
  emu_warp(EMU_CALL, ~0u, (emu_u64)&p, 0, &P::run);
}
}  // namespace wmma
}  // namespace nvcuda
