// x / sqrt(mean(x * x) + eps) * w along the last axis. The result is contiguous.
//
// Which thread sums which elements depends on the number of columns alone, never on strides or alignment: a strided
// input gives the bits of its contiguous copy, and a row alone the bits that it has in any batch.
#include "packs.cuh"

// Elements of a row that one thread holds in registers.
constexpr int WARP_ITEMS = 32;
template <typename T> constexpr int BLOCK_ITEMS = sizeof(Compute<T>) == 8 ? 8 : 16;

template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void scale_pack(
    T *to, long long pack, Compute<T> *values, Compute<T> scale, const T *w, long long w_stride) {
    Compute<T> weight[N];
    load_pack<T, N, VECTOR>(weight, w, w_stride, pack);
#pragma unroll
    for (int i = 0; i < N; i++) values[i] = values[i] * scale * weight[i];
    store_pack<T, N, VECTOR>(to, pack, values);
}

// One warp a row of at most 32 * WARP_ITEMS columns, held in registers.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void warp_rows(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
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
            for (int i = 0; i < N; i++) v[p][i] = 0;
        }
    }
    C sum = 0;
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int i = 0; i < N; i++) sum += v[p][i] * v[p][i];
    const C scale = 1 / root(warp_sum(sum) / (C)rows.columns + eps);
#pragma unroll
    for (int p = 0; p < PACKS; p++)
        if (lane + 32 * p < packs)
            scale_pack<T, N, VECTOR>(out + row * rows.columns, lane + 32 * p, v[p], scale, w, w_stride);
}

// One block a row of any length; the elements that do not fit in registers are read twice.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void block_rows(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
    using C = Compute<T>;
    constexpr int PACKS = BLOCK_ITEMS<T> / N;
    __shared__ C sums[32];
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
            for (int i = 0; i < N; i++) v[p][i] = 0;
        }
    }
    C sum = 0;
#pragma unroll
    for (int p = 0; p < PACKS; p++)
#pragma unroll
        for (int i = 0; i < N; i++) sum += v[p][i] * v[p][i];
    for (long long pack = threadIdx.x + (long long)PACKS * blockDim.x; pack < packs; pack += blockDim.x) {
        C more[N];
        load_pack<T, N, VECTOR>(more, from, rows.column_stride, pack);
#pragma unroll
        for (int i = 0; i < N; i++) sum += more[i] * more[i];
    }
    sum = warp_sum(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = warp_sum(lane < warps ? sums[lane] : 0);
    const C scale = 1 / root(sum / (C)rows.columns + eps);
#pragma unroll
    for (int p = 0; p < PACKS; p++) {
        const long long pack = threadIdx.x + (long long)p * blockDim.x;
        if (pack < packs) scale_pack<T, N, VECTOR>(to, pack, v[p], scale, w, w_stride);
    }
    for (long long pack = threadIdx.x + (long long)PACKS * blockDim.x; pack < packs; pack += blockDim.x) {
        C more[N];
        load_pack<T, N, VECTOR>(more, from, rows.column_stride, pack);
        scale_pack<T, N, VECTOR>(to, pack, more, scale, w, w_stride);
    }
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void warp_any(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
    if (rows.columns % PACK<T> == 0) warp_rows<T, PACK<T>, false>(x, w, out, rows, w_stride, eps);
    else warp_rows<T, 1, false>(x, w, out, rows, w_stride, eps);
}

// Any strides and alignment.
template <typename T>
__device__ __forceinline__ void block_any(
    const T *x, const T *w, T *out, const Rows &rows, long long w_stride, Compute<T> eps) {
    if (rows.columns % PACK<T> == 0) block_rows<T, PACK<T>, false>(x, w, out, rows, w_stride, eps);
    else block_rows<T, 1, false>(x, w, out, rows, w_stride, eps);
}

// The `vector` kernels are for rows of whole packs that are 16-byte aligned in every tensor; `any` is for all others.
extern "C" __global__ void __launch_bounds__(128, 8) rms_norm_warp_vector_float16(
    const half *x, const half *w, half *out, Rows rows, long long w_stride, float eps) {
    warp_rows<half, PACK<half>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 8) rms_norm_warp_vector_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *w, __nv_bfloat16 *out, Rows rows, long long w_stride, float eps) {
    warp_rows<__nv_bfloat16, PACK<__nv_bfloat16>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 8) rms_norm_warp_vector_float32(
    const float *x, const float *w, float *out, Rows rows, long long w_stride, float eps) {
    warp_rows<float, PACK<float>, true>(x, w, out, rows, w_stride, eps);
}
extern "C" __global__ void __launch_bounds__(128, 4) rms_norm_warp_vector_float64(
    const double *x, const double *w, double *out, Rows rows, long long w_stride, double eps) {
    warp_rows<double, PACK<double>, true>(x, w, out, rows, w_stride, eps);
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
