// grid 2, block 64; in x float16 256; in y float16 256; inout total float32 1 zeros
#include <cuda_fp16.h>
extern "C" __global__ void dot_half2(const half* x, const half* y, float* total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const half2 a = reinterpret_cast<const half2*>(x)[i], b = reinterpret_cast<const half2*>(y)[i];
    const float2 p = __half22float2(__hmul2(a, b));
    float v = p.x + p.y;
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(total, v);
}
