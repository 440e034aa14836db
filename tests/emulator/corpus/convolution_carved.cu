// grid 2, block 32; in x float32 64; in w float32 5; out y float32 64; shared 164
extern "C" __global__ void convolution_carved(const float* x, const float* w, float* y) {
    extern __shared__ float memory[];
    float *line = memory, *weights = memory + 36;
    const int t = threadIdx.x, i = blockIdx.x * 32 + t;
    line[t + 2] = x[i];
    if (t < 2) line[t] = i >= 2 ? x[i - 2] : 0.0f;
    if (t >= 30) line[t + 4] = i + 2 < 64 ? x[i + 2] : 0.0f;
    if (t < 5) weights[t] = w[t];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 5; k++) sum += weights[k] * line[t + k];
    y[i] = sum;
}
