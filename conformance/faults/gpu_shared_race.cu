// Addition in which each element of x is loaded by one thread and added by the one at the mirrored place of the block.
constexpr int BLOCK = 256;

__device__ __forceinline__ void add(const float *x, const float *y, float *out, int n, bool barrier) {
    __shared__ float tile[BLOCK];
    const int mirrored = BLOCK - 1 - threadIdx.x;
    const int from = blockIdx.x * BLOCK + mirrored;
    tile[mirrored] = from < n ? x[from] : 0.0f;
    if (barrier) __syncthreads();
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) out[i] = tile[threadIdx.x] + y[i];
}

extern "C" __global__ void faulty(const float *x, const float *y, float *out, int n) { add(x, y, out, n, false); }

extern "C" __global__ void fixed(const float *x, const float *y, float *out, int n) { add(x, y, out, n, true); }
