#include <cuda_fp16.h>
extern "C" __global__ void shfl_types(const float* x, float* y, int n) {
  int i = threadIdx.x; double d = __shfl_xor_sync(0xffffffff, (double)x[i], 1);
  long long l = __shfl_up_sync(0xffffffff, (long long)i << 33, 1);
  half2 h = __shfl_sync(~0u, __floats2half2_rn(i, i + 1), (i + 1) & 31);
  half g = __shfl_down_sync(~0u, __float2half(1.f), 2, 16);
  unsigned b = __ballot_sync(~0u, i & 1); int an = __any_sync(~0u, i == 3), al = __all_sync(~0u, 1);
  unsigned short us = __shfl_xor_sync(~0u, (unsigned short)i, 1); char c = __shfl_sync(~0u, (char)i, 0); bool q = __shfl_sync(~0u, i == 0, 0);
  y[i] = (float)d + (l >> 40) * 0 + __low2float(h) * 0 + (__half2float(g) - 1.f) + (b == 0xaaaaaaaa ? 0 : 100) + (al - 1) + an * 0 + us * 0 + c * 0 + q * 0;
}
