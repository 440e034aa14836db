// grid 5, block 64; in x float32 300; inout total float32 1 zeros; n 300
extern "C" __global__ void reduce_atomic(const float* x, float* total, int n) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0.0f;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&sum, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, sum);
}
