// grid 2, block 160; in x float32 300; out sums float32 2; n 300
__device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}
extern "C" __global__ void reduce_warp(const float* x, float* sums, int n) {
    __shared__ float part[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float v = warp_sum(i < n ? x[i] : 0.0f);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = warp_sum(lane < blockDim.x / 32 ? part[lane] : 0.0f);
        if (lane == 0) sums[blockIdx.x] = v;
    }
}
