// grid 2, block 32; in x float32 2 32; out where int32 2
extern "C" __global__ void argmax_warp_shared(const float* x, int* where) {
    __shared__ float value[32];
    __shared__ int index[32];
    const int t = threadIdx.x;
    value[t] = x[blockIdx.x * 32 + t];
    index[t] = t;
    __syncwarp();
    for (int d = 16; d; d /= 2) {
        if (t < d && value[t + d] > value[t]) {
            value[t] = value[t + d];
            index[t] = index[t + d];
        }
        __syncwarp();
    }
    if (t == 0) where[blockIdx.x] = index[0];
}
