// grid 2 2, block 16 16; in a float32 20 24; in b float32 24 28; out c float32 20 28; m 20; n 28; k 24
extern "C" __global__ void matmul_tiles(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[16][16], bs[16][16];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += 16) {
        as[threadIdx.y][threadIdx.x] = row < m && k0 + threadIdx.x < k ? a[row * k + k0 + threadIdx.x] : 0.0f;
        bs[threadIdx.y][threadIdx.x] = k0 + threadIdx.y < k && column < n ? b[(k0 + threadIdx.y) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum = fmaf(as[threadIdx.y][i], bs[i][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
