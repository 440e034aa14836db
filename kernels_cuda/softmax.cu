// Softmax along the last axis. The result is contiguous.
//
// Which thread sums which elements depends on the number of columns alone, never on strides or alignment: a strided
// input gives the bits of its contiguous copy, and a row alone the bits that it has in any batch.
//
// The largest element of a row drops NaN; it comes back through the sum. A row of -inf alone is NaN in torch, as is
// -inf - -inf here.
#include "packs.cuh"

// One warp ROWS rows of at most 32 * ITEMS / ROWS columns.
template <typename T, int N, bool VECTOR, int ITEMS, int ROWS>
__device__ __forceinline__ void warp_rows(const T *x, T *out, const Rows &rows) {
    using C = Compute<T>;
    constexpr int PACKS = ITEMS / N / ROWS;
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const int packs = (int)(rows.columns / N);
    const long long first = (block_number() * warps + threadIdx.x / 32) * ROWS;
    C v[ROWS][PACKS][N], scale[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const T *from = x + row_offset(rows, first + r);
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
            if (first + r < rows.count && lane + 32 * p < packs) {
                load_pack<T, N, VECTOR>(v[r][p], from, rows.column_stride, lane + 32 * p);
            } else {
#pragma unroll
                for (int i = 0; i < N; i++) v[r][p][i] = -INFINITY;
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        C top = -INFINITY, sum = 0;
#pragma unroll
        for (int p = 0; p < PACKS; p++)
#pragma unroll
            for (int i = 0; i < N; i++) top = maximum(top, v[r][p][i]);
        top = warp_max(top);
#pragma unroll
        for (int p = 0; p < PACKS; p++)
            if (lane + 32 * p < packs) {
#pragma unroll
                for (int i = 0; i < N; i++) {
                    v[r][p][i] = exponential<T>(v[r][p][i] - top);
                    sum += v[r][p][i];
                }
            }
        scale[r] = 1 / warp_sum(sum);
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int p = 0; p < PACKS; p++)
            if (first + r < rows.count && lane + 32 * p < packs) {
#pragma unroll
                for (int i = 0; i < N; i++) v[r][p][i] *= scale[r];
                store_pack<T, N, VECTOR>(out + (first + r) * rows.columns, lane + 32 * p, v[r][p]);
            }
}

// One block a row of at most BLOCK_ITEMS columns a thread, held in registers.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void block_rows(const T *x, T *out, const Rows &rows) {
    using C = Compute<T>;
    constexpr int PACKS = BLOCK_ITEMS<T> / N;
    const int packs = (int)(rows.columns / N), step = (int)blockDim.x;
    const long long row = block_number();
    if (row >= rows.count) return;
    const T *from = x + row_offset(rows, row);
    C v[PACKS][N], top = -INFINITY, sum = 0;
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        const int pack = threadIdx.x + p * step;
        if (pack < packs) {
            load_pack<T, N, VECTOR>(v[p], from, rows.column_stride, pack);
        } else {
#pragma unroll
            for (int i = 0; i < N; i++) v[p][i] = -INFINITY;
        }
    }
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int i = 0; i < N; i++) top = maximum(top, v[p][i]);
    top = block_max(top);
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[p][i] = exponential<T>(v[p][i] - top);
            sum += v[p][i];
        }
    const C scale = 1 / block_sum(sum);
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        const int pack = threadIdx.x + p * step;
        if (pack < packs) {
#pragma unroll
            for (int i = 0; i < N; i++) v[p][i] *= scale;
            store_pack<T, N, VECTOR>(out + row * rows.columns, pack, v[p]);
        }
    }
}

// One block rows of any length, one after the other. A thread has a running maximum and a sum that is rescaled whenever
// the maximum grows (Milakov and Gimelshein, arXiv:1805.02867), and reads its elements once more to write the result.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void long_rows(const T *x, T *out, const Rows &rows) {
    using C = Compute<T>;
    const long long packs = rows.columns / N;
    const int batches = (int)((packs + BATCH * blockDim.x - 1) / (BATCH * blockDim.x));
    if (VECTOR)
        for (int batch = 0; batch < BATCHES; batch++)
            start_batch(x + row_offset(rows, blockIdx.x), packs, batch);
    for (long long row = blockIdx.x; row < rows.count; row += gridDim.x) {
        const T *from = x + row_offset(rows, row);
        const T *next = row + gridDim.x < rows.count ? x + row_offset(rows, row + gridDim.x) : nullptr;
        C running = -INFINITY, rest = 0, v[BATCH][N];
        for (int batch = 0; batch < batches; batch++) {
            if (VECTOR) wait_batch(batch);
            load_batch<T, N, VECTOR>(v, from, rows.column_stride, packs, batch, -INFINITY);
            C top = running;
#pragma unroll
            for (int p = 0; p < BATCH; p++)
#pragma unroll
                for (int i = 0; i < N; i++) top = maximum(top, v[p][i]);
            const C shift = top == -INFINITY ? 0 : top;  // -inf - -inf is NaN, and may not be the last word
            rest *= term<T>(running - shift);
#pragma unroll
            for (int p = 0; p < BATCH; p++)
#pragma unroll
                for (int i = 0; i < N; i++) rest += term<T>(v[p][i] - shift);
            running = top;
        }
        const C top = block_max(running);
        const C scale = 1 / block_sum(rest * term<T>(running - top));
        for (int batch = 0; batch < batches; batch++) {
            load_batch<T, N, VECTOR>(v, from, rows.column_stride, packs, batch, -INFINITY);
            if (VECTOR) start_batch(next, packs, batch);
#pragma unroll
            for (int p = 0; p < BATCH; p++) {
                const long long pack = (long long)(batch * BATCH + p) * blockDim.x + threadIdx.x;
                if (pack >= packs) continue;
#pragma unroll
                for (int i = 0; i < N; i++) v[p][i] = exponential<T>(v[p][i] - top) * scale;
                store_pack<T, N, VECTOR>(out + row * rows.columns, pack, v[p]);
            }
        }
        if (VECTOR)
            for (int batch = batches; batch < BATCHES; batch++) start_batch(next, packs, batch);
    }
}

template <typename T> __device__ __forceinline__ void warp_vector(const T *x, T *out, const Rows &rows) {
    if (rows.columns <= 16 * WARP_ITEMS) warp_rows<T, PACK<T>, true, WARP_ITEMS, 2>(x, out, rows);
    else warp_rows<T, PACK<T>, true, WARP_ITEMS, 1>(x, out, rows);
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void warp_any(const T *x, T *out, const Rows &rows) {
    if (rows.columns % PACK<T> == 0) warp_rows<T, PACK<T>, false, WARP_ITEMS, 1>(x, out, rows);
    else warp_rows<T, 1, false, WARP_ITEMS, 1>(x, out, rows);
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void block_any(const T *x, T *out, const Rows &rows) {
    if (rows.columns % PACK<T> == 0) block_rows<T, PACK<T>, false>(x, out, rows);
    else block_rows<T, 1, false>(x, out, rows);
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void long_any(const T *x, T *out, const Rows &rows) {
    if (rows.columns % PACK<T> == 0) long_rows<T, PACK<T>, false>(x, out, rows);
    else long_rows<T, 1, false>(x, out, rows);
}

// The `vector` kernels are for rows of whole packs that are 16-byte aligned in every tensor; `any` is for all others.
extern "C" __global__ void __launch_bounds__(128, 12) softmax_short_vector_float16(
    const half *x, half *out, Rows rows) {
    warp_rows<half, PACK<half>, true, SHORT_ITEMS, 1>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 12) softmax_short_vector_bfloat16(
    const __nv_bfloat16 *x, __nv_bfloat16 *out, Rows rows) {
    warp_rows<__nv_bfloat16, PACK<__nv_bfloat16>, true, SHORT_ITEMS, 1>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 12) softmax_short_vector_float32(
    const float *x, float *out, Rows rows) {
    warp_rows<float, PACK<float>, true, SHORT_ITEMS, 1>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 8) softmax_short_vector_float64(
    const double *x, double *out, Rows rows) {
    warp_rows<double, PACK<double>, true, SHORT_ITEMS, 1>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 8) softmax_warp_vector_float16(
    const half *x, half *out, Rows rows) {
    warp_vector(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 8) softmax_warp_vector_bfloat16(
    const __nv_bfloat16 *x, __nv_bfloat16 *out, Rows rows) {
    warp_vector(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 8) softmax_warp_vector_float32(
    const float *x, float *out, Rows rows) {
    warp_vector(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(128, 4) softmax_warp_vector_float64(
    const double *x, double *out, Rows rows) {
    warp_vector(x, out, rows);
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
extern "C" __global__ void __launch_bounds__(1024) softmax_long_vector_float16(
    const half *x, half *out, Rows rows) {
    long_rows<half, PACK<half>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(1024) softmax_long_vector_bfloat16(
    const __nv_bfloat16 *x, __nv_bfloat16 *out, Rows rows) {
    long_rows<__nv_bfloat16, PACK<__nv_bfloat16>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(1024) softmax_long_vector_float32(
    const float *x, float *out, Rows rows) {
    long_rows<float, PACK<float>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512) softmax_long_vector_float64(
    const double *x, double *out, Rows rows) {
    long_rows<double, PACK<double>, true>(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(1024) softmax_long_any_float16(
    const half *x, half *out, Rows rows) {
    long_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(1024) softmax_long_any_bfloat16(
    const __nv_bfloat16 *x, __nv_bfloat16 *out, Rows rows) {
    long_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(1024) softmax_long_any_float32(
    const float *x, float *out, Rows rows) {
    long_any(x, out, rows);
}
extern "C" __global__ void __launch_bounds__(512) softmax_long_any_float64(
    const double *x, double *out, Rows rows) {
    long_any(x, out, rows);
}
