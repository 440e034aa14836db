// grid 3, block 128; in x float32 1000; in y float32 1000; out z float32 1000; n 1000
extern "C" __global__ void vector_add(const float* x, const float* y, float* z, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) z[i] = x[i] + y[i];
}
