// Addition of matrices by tiles of 16 x 16.
template <bool FIXED>
__device__ __forceinline__ void add(const float *x, const float *y, float *out, int rows, int columns) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && (!FIXED || column < columns)) {
        const long long i = (long long)row * columns + column;
        out[i] = x[i] + y[i];
    }
}

extern "C" __global__ void faulty(const float *x, const float *y, float *out, int rows, int columns) {
    add<false>(x, y, out, rows, columns);
}

extern "C" __global__ void fixed(const float *x, const float *y, float *out, int rows, int columns) {
    add<true>(x, y, out, rows, columns);
}
