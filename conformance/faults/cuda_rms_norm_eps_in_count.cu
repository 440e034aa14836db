// RMSNorm of rows, a block each.
constexpr int BLOCK = 128;

template <bool FIXED>
__device__ __forceinline__ void rms_norm(const float *x, const float *w, float *out, int columns, float eps) {
    __shared__ float squares[BLOCK];
    x += (long long)blockIdx.x * columns;
    out += (long long)blockIdx.x * columns;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += BLOCK) sum += x[i] * x[i];
    squares[threadIdx.x] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int i = 0; i < BLOCK; i++) sum += squares[i];
    const float mean = FIXED ? sum / columns + eps : sum / (columns + eps);
    for (int i = threadIdx.x; i < columns; i += BLOCK) out[i] = x[i] / sqrtf(mean) * w[i];
}

extern "C" __global__ void faulty(const float *x, const float *w, float *out, int columns, float eps) {
    rms_norm<false>(x, w, out, columns, eps);
}

extern "C" __global__ void fixed(const float *x, const float *w, float *out, int columns, float eps) {
    rms_norm<true>(x, w, out, columns, eps);
}
