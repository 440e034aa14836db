// Softmax along the last axis. The result is contiguous.
//
// Which thread sums which elements depends on the number of columns alone, never on strides or alignment: a strided
// input gives the bits of its contiguous copy, and a row alone the bits that it has in any batch.
#include "packs.cuh"

// Elements of a row that one thread holds in registers.
constexpr int WARP_ITEMS = 32;
template <typename T> constexpr int BLOCK_ITEMS = sizeof(Compute<T>) == 8 ? 8 : 16;

// One warp a row of at most 32 * WARP_ITEMS columns, held in registers.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void warp_rows(const T *x, T *out, const Rows &rows) {
    using C = Compute<T>;
    constexpr int PACKS = WARP_ITEMS / N;
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const int packs = (int)(rows.columns / N);
    const long long row = block_number() * warps + threadIdx.x / 32;
    if (row >= rows.count) return;
    const T *from = x + row_offset(rows, row);
    C v[PACKS][N];
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        if (lane + 32 * p < packs) {
            load_pack<T, N, VECTOR>(v[p], from, rows.column_stride, lane + 32 * p);
        } else {
#pragma unroll
            for (int i = 0; i < N; i++) v[p][i] = -INFINITY;
        }
    }
    C top = -INFINITY;
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int i = 0; i < N; i++) top = maximum(top, v[p][i]);
    top = warp_max(top);
    C sum = 0;
#pragma unroll
    for (int p = 0; p < PACKS; p++)
        if (lane + 32 * p < packs) {
#pragma unroll
            for (int i = 0; i < N; i++) {
                v[p][i] = exponential(v[p][i] - top);
                sum += v[p][i];
            }
        }
    const C scale = 1 / warp_sum(sum);
#pragma unroll
    for (int p = 0; p < PACKS; p++)
        if (lane + 32 * p < packs) {
#pragma unroll
            for (int i = 0; i < N; i++) v[p][i] *= scale;
            store_pack<T, N, VECTOR>(out + row * rows.columns, lane + 32 * p, v[p]);
        }
}

// One block a row of any length. A thread holds its first BLOCK_ITEMS elements in registers; over those that follow it
// keeps a running maximum and a sum that is rescaled whenever the maximum grows (Milakov and Gimelshein,
// arXiv:1805.02867), and reads them once more to write the result.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void block_rows(const T *x, T *out, const Rows &rows) {
    using C = Compute<T>;
    constexpr int PACKS = BLOCK_ITEMS<T> / N;
    __shared__ C tops[32], sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const long long packs = rows.columns / N;
    const long long row = block_number();
    if (row >= rows.count) return;
    const T *from = x + row_offset(rows, row);
    T *to = out + row * rows.columns;
    C v[PACKS][N];
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        const long long pack = threadIdx.x + (long long)p * blockDim.x;
        if (pack < packs) {
            load_pack<T, N, VECTOR>(v[p], from, rows.column_stride, pack);
        } else {
#pragma unroll
            for (int i = 0; i < N; i++) v[p][i] = -INFINITY;
        }
    }
    C running = -INFINITY, rest = 0;
    for (long long pack = threadIdx.x + (long long)PACKS * blockDim.x; pack < packs; pack += blockDim.x) {
        C w[N];
        load_pack<T, N, VECTOR>(w, from, rows.column_stride, pack);
        C top = running;
#pragma unroll
        for (int i = 0; i < N; i++) top = maximum(top, w[i]);
        if (top == -INFINITY) continue;  // -inf - -inf is NaN, and nothing has been added yet
        rest *= exponential(running - top);
#pragma unroll
        for (int i = 0; i < N; i++) rest += exponential(w[i] - top);
        running = top;
    }
    C top = running;
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int i = 0; i < N; i++) top = maximum(top, v[p][i]);
    top = warp_max(top);
    if (lane == 0) tops[warp] = top;
    __syncthreads();
    top = warp_max(lane < warps ? tops[lane] : -INFINITY);

    // A row of -inf alone is NaN in torch: exp(-inf - -inf).
    C sum = rest * exponential(running - top);
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[p][i] = exponential(v[p][i] - top);
            sum += v[p][i];
        }
    sum = warp_sum(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    const C scale = 1 / warp_sum(lane < warps ? sums[lane] : 0);
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        const long long pack = threadIdx.x + (long long)p * blockDim.x;
        if (pack < packs) {
#pragma unroll
            for (int i = 0; i < N; i++) v[p][i] *= scale;
            store_pack<T, N, VECTOR>(to, pack, v[p]);
        }
    }
    for (long long pack = threadIdx.x + (long long)PACKS * blockDim.x; pack < packs; pack += blockDim.x) {
        C w[N];
        load_pack<T, N, VECTOR>(w, from, rows.column_stride, pack);
#pragma unroll
        for (int i = 0; i < N; i++) w[i] = exponential(w[i] - top) * scale;
        store_pack<T, N, VECTOR>(to, pack, w);
    }
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void warp_any(const T *x, T *out, const Rows &rows) {
    if (rows.columns % PACK<T> == 0) warp_rows<T, PACK<T>, false>(x, out, rows);
    else warp_rows<T, 1, false>(x, out, rows);
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void block_any(const T *x, T *out, const Rows &rows) {
    if (rows.columns % PACK<T> == 0) block_rows<T, PACK<T>, false>(x, out, rows);
    else block_rows<T, 1, false>(x, out, rows);
}

// The `vector` kernels are for rows of whole packs that are 16-byte aligned in every tensor; `any` is for all others.
extern "C" __global__ void __launch_bounds__(128, 8) softmax_warp_vector_float16(
    const half *x, half *out, Rows rows) {
    warp_rows<half, PACK<half>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 8) softmax_warp_vector_bfloat16(
    const __nv_bfloat16 *x, __nv_bfloat16 *out, Rows rows) {
    warp_rows<__nv_bfloat16, PACK<__nv_bfloat16>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 8) softmax_warp_vector_float32(
    const float *x, float *out, Rows rows) {
    warp_rows<float, PACK<float>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 4) softmax_warp_vector_float64(
    const double *x, double *out, Rows rows) {
    warp_rows<double, PACK<double>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 4) softmax_warp_any_float16(
    const half *x, half *out, Rows rows) {
    warp_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 4) softmax_warp_any_bfloat16(
    const __nv_bfloat16 *x, __nv_bfloat16 *out, Rows rows) {
    warp_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 4) softmax_warp_any_float32(
    const float *x, float *out, Rows rows) {
    warp_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 3) softmax_warp_any_float64(
    const double *x, double *out, Rows rows) {
    warp_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512, 2) softmax_block_vector_float16(
    const half *x, half *out, Rows rows) {
    block_rows<half, PACK<half>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512, 2) softmax_block_vector_bfloat16(
    const __nv_bfloat16 *x, __nv_bfloat16 *out, Rows rows) {
    block_rows<__nv_bfloat16, PACK<__nv_bfloat16>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512, 2) softmax_block_vector_float32(
    const float *x, float *out, Rows rows) {
    block_rows<float, PACK<float>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512) softmax_block_vector_float64(
    const double *x, double *out, Rows rows) {
    block_rows<double, PACK<double>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512) softmax_block_any_float16(
    const half *x, half *out, Rows rows) {
    block_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512) softmax_block_any_bfloat16(
    const __nv_bfloat16 *x, __nv_bfloat16 *out, Rows rows) {
    block_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512) softmax_block_any_float32(
    const float *x, float *out, Rows rows) {
    block_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512) softmax_block_any_float64(
    const double *x, double *out, Rows rows) {
    block_any(x, out, rows);
}
