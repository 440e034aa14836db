// x + y, element by element. The result is dense: element i of the index space lies at out[i].
#include "packs.cuh"

// Sizes and strides of one index space over both inputs, outermost axis first.
struct Axes {
    int dims;
    long long size[MAX_DIMS];
    long long x_stride[MAX_DIMS];
    long long y_stride[MAX_DIMS];
};

// Two packs of each input a thread: four independent 16-byte loads in flight hide the latency of device memory.
constexpr int UNROLL = 2;

// x, y and out are contiguous and 16-byte aligned.
template <typename T>
__device__ __forceinline__ void add_contiguous(const T *x, const T *y, T *out, long long count) {
    constexpr int N = PACK<T>;
    const long long packs = count / N;
    const long long step = (long long)gridDim.x * blockDim.x * UNROLL;
    for (long long first = (long long)blockIdx.x * blockDim.x * UNROLL + threadIdx.x; first < packs; first += step) {
        Compute<T> a[UNROLL][N], b[UNROLL][N];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const long long pack = first + (long long)u * blockDim.x;
            if (pack < packs) {
                load_pack<T, N, true>(a[u], x, 1, pack);
                load_pack<T, N, true>(b[u], y, 1, pack);
            }
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const long long pack = first + (long long)u * blockDim.x;
            if (pack < packs) {
#pragma unroll
                for (int i = 0; i < N; i++) a[u][i] += b[u][i];
                store_pack<T, N, true>(out, pack, a[u]);
            }
        }
    }
    const long long tail = packs * N + threadIdx.x;
    if (blockIdx.x == 0 && tail < count) out[tail] = narrow<T>(widen(x[tail]) + widen(y[tail]));
}

template <typename T>
__device__ __forceinline__ void add_strided(const T *x, const T *y, T *out, long long count, const Axes &axes) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        long long x_offset = 0, y_offset = 0, rest = i;
        for (int d = axes.dims - 1; d > 0; d--) {
            const long long index = rest % axes.size[d];
            rest /= axes.size[d];
            x_offset += index * axes.x_stride[d];
            y_offset += index * axes.y_stride[d];
        }
        x_offset += rest * axes.x_stride[0];
        y_offset += rest * axes.y_stride[0];
        out[i] = narrow<T>(widen(x[x_offset]) + widen(y[y_offset]));
    }
}

extern "C" __global__ void add_contiguous_float16(const half *x, const half *y, half *out, long long count) {
    add_contiguous(x, y, out, count);
}
extern "C" __global__ void add_contiguous_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *y, __nv_bfloat16 *out, long long count) {
    add_contiguous(x, y, out, count);
}
extern "C" __global__ void add_contiguous_float32(const float *x, const float *y, float *out, long long count) {
    add_contiguous(x, y, out, count);
}
extern "C" __global__ void add_contiguous_float64(const double *x, const double *y, double *out, long long count) {
    add_contiguous(x, y, out, count);
}
extern "C" __global__ void add_strided_float16(
    const half *x, const half *y, half *out, long long count, Axes axes) {
    add_strided(x, y, out, count, axes);
}
extern "C" __global__ void add_strided_bfloat16(
    const __nv_bfloat16 *x, const __nv_bfloat16 *y, __nv_bfloat16 *out, long long count, Axes axes) {
    add_strided(x, y, out, count, axes);
}
extern "C" __global__ void add_strided_float32(
    const float *x, const float *y, float *out, long long count, Axes axes) {
    add_strided(x, y, out, count, axes);
}
extern "C" __global__ void add_strided_float64(
    const double *x, const double *y, double *out, long long count, Axes axes) {
    add_strided(x, y, out, count, axes);
}
