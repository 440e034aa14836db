// grid 4, block 32; in x float32 128; inout total float32 1 zeros; inout lock int32 1 zeros
extern "C" __global__ void locked_sum(const float* x, float* total, int* lock) {
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        *total += v;
        __threadfence();
        atomicExch(lock, 0);
    }
}
