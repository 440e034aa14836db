// grid 6, block 64; in x float32 384; scratch part float32 6; inout done int32 1 zeros; out total float32 1; n 384
extern "C" __global__ void reduce_last_block(const float* x, float* part, int* done, float* total, int n) {
    __shared__ float s[64];
    __shared__ bool last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    if (threadIdx.x < gridDim.x) s[threadIdx.x] = part[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int b = 0; b < gridDim.x; b++) sum += s[b];
        *total = sum;
    }
}
