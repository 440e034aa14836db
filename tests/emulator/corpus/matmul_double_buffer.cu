// grid 1, block 256; in a float32 16 64; in b float32 64 16; out c float32 16 16
#include <cuda_pipeline.h>
extern "C" __global__ void matmul_double_buffer(const float* a, const float* b, float* c) {
    __shared__ __align__(16) float as[2][256], bs[2][256];
    const int t = threadIdx.x, x = t % 16, y = t / 16;
    auto fetch = [&](int tile, int to) {
        __pipeline_memcpy_async(&as[to][t], &a[y * 64 + tile * 16 + x], 4);
        __pipeline_memcpy_async(&bs[to][t], &b[(tile * 16 + y) * 16 + x], 4);
    };
    fetch(0, 0);
    __pipeline_commit();
    float sum = 0.0f;
    for (int tile = 0; tile < 4; tile++) {
        if (tile + 1 < 4) fetch(tile + 1, (tile + 1) % 2);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int i = 0; i < 16; i++) sum = fmaf(as[tile % 2][y * 16 + i], bs[tile % 2][i * 16 + x], sum);
        __syncthreads();
    }
    c[t] = sum;
}
