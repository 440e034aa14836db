// What the kernels share: dtypes, packs (the elements that one 16-byte access moves), and reductions in a warp.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include "ptx.cuh"

// NVRTC has no <math.h> to take INFINITY from; the bit pattern of +inf is IEEE 754's.
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

constexpr int MAX_DIMS = 8;
constexpr unsigned FULL_WARP = 0xffffffffu;

// float64 computes in float64, everything else in float32.
template <typename T> struct Arithmetic { using type = float; };
template <> struct Arithmetic<double> { using type = double; };
template <typename T> using Compute = typename Arithmetic<T>::type;

template <typename T> constexpr int PACK = 16 / (int)sizeof(T);

__device__ __forceinline__ float widen(half v) { return __half2float(v); }
__device__ __forceinline__ float widen(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ __forceinline__ float widen(float v) { return v; }
__device__ __forceinline__ double widen(double v) { return v; }
template <typename T> __device__ __forceinline__ T narrow(Compute<T> v) { return v; }
template <> __device__ __forceinline__ half narrow<half>(float v) { return __float2half_rn(v); }
template <> __device__ __forceinline__ __nv_bfloat16 narrow<__nv_bfloat16>(float v) { return __float2bfloat16_rn(v); }

constexpr float LOG2_E = 1.4426950408889634f;

// exp of a value that is rounded to T in the end. For half precision ex2.approx of a product will do: up to
// 2 + 1.17 |v| ulp of float32 wrong (CUDA C++ programming guide, intrinsic functions). What float32 has no normal
// number for, float16 rounds to 0.
template <typename T> __device__ __forceinline__ Compute<T> exponential(Compute<T> v) { return exp(v); }
template <> __device__ __forceinline__ float exponential<float>(float v) { return expf(v); }
template <> __device__ __forceinline__ float exponential<half>(float v) { return exp2_flushed(v * LOG2_E); }
template <> __device__ __forceinline__ float exponential<__nv_bfloat16>(float v) { return __expf(v); }

// The same, for a sum of such terms one of which is 1.
template <typename T> __device__ __forceinline__ Compute<T> term(Compute<T> v) {
    if constexpr (sizeof(T) == 2) return exp2_flushed(v * LOG2_E);
    else return exponential<T>(v);
}
__device__ __forceinline__ float root(float v) { return sqrtf(v); }
__device__ __forceinline__ double root(double v) { return sqrt(v); }
__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }

// They drop a NaN.
__device__ __forceinline__ float maximum(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double maximum(double a, double b) { return fmax(a, b); }

template <typename T> union Bits {
    uint4 word;
    T at[PACK<T>];
};

// Pack number `pack` of a row, N elements. VECTOR: one 16-byte access, for stride 1 and a 16-byte aligned row.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void load_pack(Compute<T> *values, const T *row, long long stride, long long pack) {
    if constexpr (VECTOR) {
        Bits<T> bits;
        bits.word = *reinterpret_cast<const uint4 *>(row + pack * N);
#pragma unroll
        for (int i = 0; i < N; i++) values[i] = widen(bits.at[i]);
    } else {
#pragma unroll
        for (int i = 0; i < N; i++) values[i] = widen(row[(pack * N + i) * stride]);
    }
}

template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void store_pack(T *row, long long pack, const Compute<T> *values) {
    if constexpr (VECTOR) {
        Bits<T> bits;
#pragma unroll
        for (int i = 0; i < N; i++) bits.at[i] = narrow<T>(values[i]);
        *reinterpret_cast<uint4 *>(row + pack * N) = bits.word;
    } else {
#pragma unroll
        for (int i = 0; i < N; i++) row[pack * N + i] = narrow<T>(values[i]);
    }
}

// Elements of a row that a thread holds in registers: where a warp has a short row, where it has any, and (64 bytes)
// where a block has the row. Short rows have kernels of their own: registers decide how many warps load at a time.
constexpr int SHORT_ITEMS = 8, WARP_ITEMS = 32;
template <typename T> constexpr int BLOCK_ITEMS = 64 / (int)sizeof(T);

// Every lane gets the result; the tree is the same for every lane, so all lanes hold the same bits.
template <typename C> __device__ __forceinline__ C warp_max(C v) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) v = maximum(v, __shfl_xor_sync(FULL_WARP, v, distance));
    return v;
}

template <typename C> __device__ __forceinline__ C warp_sum(C v) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) v += __shfl_xor_sync(FULL_WARP, v, distance);
    return v;
}

// The same for the threads of a block.
template <typename C> __device__ __forceinline__ C block_sum(C v) {
    __shared__ C of_warp[32];
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    v = warp_sum(v);
    if (lane == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    return warp_sum(lane < warps ? of_warp[lane] : 0);
}

template <typename C> __device__ __forceinline__ C block_max(C v) {
    __shared__ C of_warp[32];
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    v = warp_max(v);
    if (lane == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    return warp_max(lane < warps ? of_warp[lane] : -INFINITY);
}

// A grid is at most 2**31 - 1 blocks wide (CUDA C++ programming guide, technical specifications); more go below.
__device__ __forceinline__ long long block_number() { return (long long)blockIdx.y * gridDim.x + blockIdx.x; }

// Rows of a tensor along its last axis: the leading axes, collapsed where their strides allow, and the last one.
struct Rows {
    long long count;
    long long columns;
    long long column_stride;
    int dims;
    long long size[MAX_DIMS];
    long long stride[MAX_DIMS];
};

__device__ __forceinline__ long long row_offset(const Rows &rows, long long row) {
    long long offset = 0;
    for (int d = rows.dims - 1; d > 0; d--) {
        offset += row % rows.size[d] * rows.stride[d];
        row /= rows.size[d];
    }
    return offset + row * rows.stride[0];
}

// A block of the long_vector kernels takes row after row, and a thread the packs threadIdx.x + i * blockDim.x of a row,
// in batches of BATCH. The first BATCHES batches lie in dynamic shared memory, where cp.async brings those of the next
// row as soon as a batch has been read for the last time. A thread reads only what it has copied itself.
constexpr int BATCH = 2, BATCHES = 7;

template <typename T>
__device__ __forceinline__ void start_batch(const T *row, long long packs, int batch) {
    extern __shared__ uint4 row_packs[];
    if (batch < BATCHES && row) {
#pragma unroll
        for (int p = 0; p < BATCH; p++) {
            const int pack = (batch * BATCH + p) * blockDim.x + threadIdx.x;
            if (pack < packs) __pipeline_memcpy_async(row_packs + pack, row + (long long)pack * PACK<T>, 16);
        }
    }
    if (batch < BATCHES) __pipeline_commit();
}

// Waits until batch number `batch` of the row has landed: BATCHES groups are begun after it, those of the later batches
// and one at each wait.
__device__ __forceinline__ void wait_batch(int batch) {
    if (batch >= BATCHES) return;
    __pipeline_commit();
    __pipeline_wait_prior(BATCHES);
}

// Loads the thread's packs of a batch, `empty` where the row has ended.
template <typename T, int N, bool VECTOR>
__device__ __forceinline__ void load_batch(
    Compute<T> (&values)[BATCH][N], const T *row, long long stride, long long packs, int batch, Compute<T> empty) {
    extern __shared__ uint4 row_packs[];
#pragma unroll
    for (int p = 0; p < BATCH; p++) {
        const long long pack = (long long)(batch * BATCH + p) * blockDim.x + threadIdx.x;
        if (pack >= packs) {
#pragma unroll
            for (int i = 0; i < N; i++) values[p][i] = empty;
        } else if (VECTOR && batch < BATCHES) {
            Bits<T> bits;
            bits.word = row_packs[pack];
#pragma unroll
            for (int i = 0; i < N; i++) values[p][i] = widen(bits.at[i]);
        } else {
            load_pack<T, N, VECTOR>(values[p], row, stride, pack);
        }
    }
}
