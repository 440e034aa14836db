// grid 4, block 64; in x uint8 700; inout bins int32 256 zeros; n 700
extern "C" __global__ void histogram(const unsigned char* x, int* bins, int n) {
    __shared__ int mine[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[x[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (mine[b]) atomicAdd(&bins[b], mine[b]);
}
