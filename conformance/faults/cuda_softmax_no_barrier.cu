// Softmax of rows, a block each, whose two reductions go through the same shared memory.
constexpr int BLOCK = 128;

template <bool FIXED> __device__ __forceinline__ float reduce(float v, bool largest, float *shared) {
    if (FIXED) __syncthreads();  // without it a fast warp overwrites what a slow one has still to read
    shared[threadIdx.x] = v;
    __syncthreads();
    float all = shared[0];
    for (int i = 1; i < BLOCK; i++) all = largest ? (shared[i] > all || shared[i] != shared[i] ? shared[i] : all) : all + shared[i];
    return all;
}

template <bool FIXED> __device__ __forceinline__ void softmax(const float *x, float *out, int columns) {
    __shared__ float shared[BLOCK];
    x += (long long)blockIdx.x * columns;
    out += (long long)blockIdx.x * columns;
    float top = -__int_as_float(0x7f800000), sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += BLOCK) top = x[i] > top || x[i] != x[i] ? x[i] : top;
    top = reduce<FIXED>(top, true, shared);
    for (int i = threadIdx.x; i < columns; i += BLOCK) sum += expf(x[i] - top);
    sum = reduce<FIXED>(sum, false, shared);
    for (int i = threadIdx.x; i < columns; i += BLOCK) out[i] = expf(x[i] - top) / sum;
}

extern "C" __global__ void faulty(const float *x, float *out, int columns) { softmax<false>(x, out, columns); }

extern "C" __global__ void fixed(const float *x, float *out, int columns) { softmax<true>(x, out, columns); }
