// x / sqrt(mean(x * x) + eps) * w along the last axis. The result is contiguous.
//
// Which thread sums which elements depends on the number of columns alone, never on strides or alignment: a strided
// input gives the bits of its contiguous copy, and a row alone the bits that it has in any batch.
#include "packs.cuh"

// One warp ROWS rows of at most 32 * ITEMS / ROWS columns.
template <typename T, int N, bool VECTOR, int ITEMS, int ROWS>
__device__ __forceinline__ void warp_rows(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
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
                for (int i = 0; i < N; i++) v[r][p][i] = 0;
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        C sum = 0;
#pragma unroll
        for (int p = 0; p < PACKS; p++)
#pragma unroll
            for (int i = 0; i < N; i++) sum += v[r][p][i] * v[r][p][i];
        scale[r] = 1 / root(warp_sum(sum) / (C)rows.columns + eps);
    }
#pragma unroll
    for (int p = 0; p < PACKS; p++)
        if (lane + 32 * p < packs) {
            C weight[N];
            load_pack<T, N, VECTOR>(weight, w, w_stride, lane + 32 * p);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if (first + r < rows.count) {
#pragma unroll
                    for (int i = 0; i < N; i++) v[r][p][i] = v[r][p][i] * scale[r] * weight[i];
                    store_pack<T, N, VECTOR>(out + (first + r) * rows.columns, lane + 32 * p, v[r][p]);
                }
        }
}

template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void scale_pack(
    T *to, long long pack, Compute<T> *values, Compute<T> scale, const T *w, long long w_stride) {
    Compute<T> weight[N];
    load_pack<T, N, VECTOR>(weight, w, w_stride, pack);
#pragma unroll
    for (int i = 0; i < N; i++) values[i] = values[i] * scale * weight[i];
    store_pack<T, N, VECTOR>(to, pack, values);
}

// One block a row of at most BLOCK_ITEMS columns a thread, held in registers.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void block_rows(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
    using C = Compute<T>;
    constexpr int PACKS = BLOCK_ITEMS<T> / N;
    const int packs = (int)(rows.columns / N), step = (int)blockDim.x;
    const long long row = block_number();
    if (row >= rows.count) return;
    const T *from = x + row_offset(rows, row);
    C v[PACKS][N], sum = 0;
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        const int pack = threadIdx.x + p * step;
        if (pack < packs) {
            load_pack<T, N, VECTOR>(v[p], from, rows.column_stride, pack);
        } else {
#pragma unroll
            for (int i = 0; i < N; i++) v[p][i] = 0;
        }
    }
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int i = 0; i < N; i++) sum += v[p][i] * v[p][i];
    const C scale = 1 / root(block_sum(sum) / (C)rows.columns + eps);
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        const int pack = threadIdx.x + p * step;
        if (pack < packs) scale_pack<T, N, VECTOR>(out + row * rows.columns, pack, v[p], scale, w, w_stride);
    }
}

// One block rows of any length, one after the other, each of which is read twice.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void long_rows(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
    using C = Compute<T>;
    const long long packs = rows.columns / N;
    const int batches = (int)((packs + BATCH * blockDim.x - 1) / (BATCH * blockDim.x));
    if (VECTOR)
        for (int batch = 0; batch < BATCHES; batch++)
            start_batch(x + row_offset(rows, blockIdx.x), packs, batch);
    for (long long row = blockIdx.x; row < rows.count; row += gridDim.x) {
        const T *from = x + row_offset(rows, row);
        const T *next = row + gridDim.x < rows.count ? x + row_offset(rows, row + gridDim.x) : nullptr;
        C sum = 0, v[BATCH][N], weight[BATCH][N];
        for (int batch = 0; batch < batches; batch++) {
            if (VECTOR) wait_batch(batch);
            load_batch<T, N, VECTOR>(v, from, rows.column_stride, packs, batch, 0);
#pragma unroll
            for (int p = 0; p < BATCH; p++)
#pragma unroll
                for (int i = 0; i < N; i++) sum += v[p][i] * v[p][i];
        }
        const C scale = 1 / root(block_sum(sum) / (C)rows.columns + eps);
        for (int batch = 0; batch < batches; batch++) {
#pragma unroll
            for (int p = 0; p < BATCH; p++) {
                const long long pack = (long long)(batch * BATCH + p) * blockDim.x + threadIdx.x;
                if (pack < packs) load_pack<T, N, VECTOR>(weight[p], w, w_stride, pack);
            }
            load_batch<T, N, VECTOR>(v, from, rows.column_stride, packs, batch, 0);
            if (VECTOR) start_batch(next, packs, batch);
#pragma unroll
            for (int p = 0; p < BATCH; p++) {
                const long long pack = (long long)(batch * BATCH + p) * blockDim.x + threadIdx.x;
                if (pack >= packs) continue;
#pragma unroll
                for (int i = 0; i < N; i++) v[p][i] = v[p][i] * scale * weight[p][i];
                store_pack<T, N, VECTOR>(out + row * rows.columns, pack, v[p]);
            }
        }
        if (VECTOR)
            for (int batch = batches; batch < BATCHES; batch++) start_batch(next, packs, batch);
        __syncthreads();  // the next row's block_sum writes what this one's reads
    }
}

template <typename T> __device__ __forceinline__ void warp_vector(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
    if (rows.columns <= 16 * WARP_ITEMS) warp_rows<T, PACK<T>, true, WARP_ITEMS, 2>(x, w, out, rows, w_stride, eps);
    else warp_rows<T, PACK<T>, true, WARP_ITEMS, 1>(x, w, out, rows, w_stride, eps);
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void warp_any(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
    if (rows.columns % PACK<T> == 0) warp_rows<T, PACK<T>, false, WARP_ITEMS, 1>(x, w, out, rows, w_stride, eps);
    else warp_rows<T, 1, false, WARP_ITEMS, 1>(x, w, out, rows, w_stride, eps);
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void block_any(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
    if (rows.columns % PACK<T> == 0) block_rows<T, PACK<T>, false>(x, w, out, rows, w_stride, eps);
    else block_rows<T, 1, false>(x, w, out, rows, w_stride, eps);
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void long_any(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
    if (rows.columns % PACK<T> == 0) long_rows<T, PACK<T>, false>(x, w, out, rows, w_stride, eps);
    else long_rows<T, 1, false>(x, w, out, rows, w_stride, eps);
}

// The `vector` kernels are for rows of whole packs that are 16-byte aligned in every tensor; `any` is for all others.
extern "C" __global__ void __launch_bounds__(128, 12) rms_norm_short_vector_float16(
    const half *x, const half *w, half *out, Rows rows, long long w_stride, float eps) {
    warp_rows<half, PACK<half>, true, SHORT_ITEMS, 1>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 12) rms_norm_short_vector_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *out, Rows rows, long long w_stride, float eps) {
    warp_rows<__nv_bfloat16, PACK<__nv_bfloat16>, true, SHORT_ITEMS, 1>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 12) rms_norm_short_vector_float32(
    const float *x, const float *w, float *out, Rows rows, long long w_stride, float eps) {
    warp_rows<float, PACK<float>, true, SHORT_ITEMS, 1>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 8) rms_norm_short_vector_float64(
    const double *x, const double *w, double *out, Rows rows, long long w_stride, double eps) {
    warp_rows<double, PACK<double>, true, SHORT_ITEMS, 1>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 7) rms_norm_warp_vector_float16(
    const half *x, const half *w, half *out, Rows rows, long long w_stride, float eps) {
    warp_vector(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 7) rms_norm_warp_vector_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *out, Rows rows, long long w_stride, float eps) {
    warp_vector(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 7) rms_norm_warp_vector_float32(
    const float *x, const float *w, float *out, Rows rows, long long w_stride, float eps) {
    warp_vector(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 4) rms_norm_warp_vector_float64(
    const double *x, const double *w, double *out, Rows rows, long long w_stride, double eps) {
    warp_vector(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 4) rms_norm_warp_any_float16(
    const half *x, const half *w, half *out, Rows rows, long long w_stride, float eps) {
    warp_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 4) rms_norm_warp_any_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *out, Rows rows, long long w_stride, float eps) {
    warp_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 4) rms_norm_warp_any_float32(
    const float *x, const float *w, float *out, Rows rows, long long w_stride, float eps) {
    warp_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 3) rms_norm_warp_any_float64(
    const double *x, const double *w, double *out, Rows rows, long long w_stride, double eps) {
    warp_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512, 2) rms_norm_block_vector_float16(
    const half *x, const half *w, half *out, Rows rows, long long w_stride, float eps) {
    block_rows<half, PACK<half>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512, 2) rms_norm_block_vector_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *out, Rows rows, long long w_stride, float eps) {
    block_rows<__nv_bfloat16, PACK<__nv_bfloat16>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512, 2) rms_norm_block_vector_float32(
    const float *x, const float *w, float *out, Rows rows, long long w_stride, float eps) {
    block_rows<float, PACK<float>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512) rms_norm_block_vector_float64(
    const double *x, const double *w, double *out, Rows rows, long long w_stride, double eps) {
    block_rows<double, PACK<double>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512) rms_norm_block_any_float16(
    const half *x, const half *w, half *out, Rows rows, long long w_stride, float eps) {
    block_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512) rms_norm_block_any_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *out, Rows rows, long long w_stride, float eps) {
    block_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512) rms_norm_block_any_float32(
    const float *x, const float *w, float *out, Rows rows, long long w_stride, float eps) {
    block_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512) rms_norm_block_any_float64(
    const double *x, const double *w, double *out, Rows rows, long long w_stride, double eps) {
    block_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(1024) rms_norm_long_vector_float16(
    const half *x, const half *w, half *out, Rows rows, long long w_stride, float eps) {
    long_rows<half, PACK<half>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(1024) rms_norm_long_vector_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *out, Rows rows, long long w_stride, float eps) {
    long_rows<__nv_bfloat16, PACK<__nv_bfloat16>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(1024) rms_norm_long_vector_float32(
    const float *x, const float *w, float *out, Rows rows, long long w_stride, float eps) {
    long_rows<float, PACK<float>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512) rms_norm_long_vector_float64(
    const double *x, const double *w, double *out, Rows rows, long long w_stride, double eps) {
    long_rows<double, PACK<double>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(1024) rms_norm_long_any_float16(
    const half *x, const half *w, half *out, Rows rows, long long w_stride, float eps) {
    long_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(1024) rms_norm_long_any_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *out, Rows rows, long long w_stride, float eps) {
    long_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(1024) rms_norm_long_any_float32(
    const float *x, const float *w, float *out, Rows rows, long long w_stride, float eps) {
    long_any(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(512) rms_norm_long_any_float64(
    const double *x, const double *w, double *out, Rows rows, long long w_stride, double eps) {
    long_any(x, w, out, rows, w_stride, eps);
}
