// grid 2, block 96; in x float32 6 50; out y float32 6 50; rows 6; n 50
extern "C" __global__ void softmax_rows(const float* x, float* y, int rows, int n) {
    __shared__ float part[3];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        float m = -3.4e38f;
        for (int c = threadIdx.x; c < n; c += blockDim.x) m = fmaxf(m, x[r * n + c]);
        for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
        if (lane == 0) part[warp] = m;
        __syncthreads();
        m = fmaxf(fmaxf(part[0], part[1]), part[2]);
        __syncthreads();
        float s = 0.0f;
        for (int c = threadIdx.x; c < n; c += blockDim.x) s += expf(x[r * n + c] - m);
        for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
        if (lane == 0) part[warp] = s;
        __syncthreads();
        s = part[0] + part[1] + part[2];
        __syncthreads();
        for (int c = threadIdx.x; c < n; c += blockDim.x) y[r * n + c] = expf(x[r * n + c] - m) / s;
    }
}
