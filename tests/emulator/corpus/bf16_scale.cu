// grid 2, block 64; in x bfloat16 200; inout y bfloat16 200; n 200; a 0.5
#include <cuda_bf16.h>
extern "C" __global__ void bf16_scale(const __nv_bfloat16* x, __nv_bfloat16* y, int n, float a) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = __float2bfloat16(a * __bfloat162float(x[i]) + __bfloat162float(y[i]));
}
