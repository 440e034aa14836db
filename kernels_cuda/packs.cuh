// What the kernels share: dtypes, packs (the elements that one 16-byte access moves), and reductions in a warp.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

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

__device__ __forceinline__ float exponential(float v) { return expf(v); }
__device__ __forceinline__ double exponential(double v) { return exp(v); }
__device__ __forceinline__ float root(float v) { return sqrtf(v); }
__device__ __forceinline__ double root(double v) { return sqrt(v); }
__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }

// fmaxf drops a NaN, torch's amax keeps it.
template <typename C> __device__ __forceinline__ C maximum(C a, C b) { return a > b || a != a ? a : b; }

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
