#include <cuda_fp16.h>
extern "C" __global__ void gelu_half2(const __half2* x, __half2* y, int n2) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n2) return;
  const half2 v = x[i];
  const half2 half_ = __float2half2_rn(0.5f), one = __half2half2(__float2half(1.0f));
  float2 f = __half22float2(v);
  f.x = erff(f.x * 0.70710678f); f.y = erff(f.y * 0.70710678f);
  y[i] = __hmul2(__hmul2(v, half_), __hadd2(one, __float22half2_rn(f)));
  if (__hgt(__low2half(v), __high2half(v))) { y[i] = __lowhigh2highlow(__lowhigh2highlow(y[i])); }
}
extern "C" __global__ void scale4(const float4* __restrict__ x, float4* __restrict__ y, float s, int n4) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    float4 v = __ldg(x + i);
    v.x *= s; v.y *= s; v.z *= s; v.w *= s;
    __stcs(y + i, v);
    reinterpret_cast<float4*>(y)[i] = make_float4(v.x, v.y, v.z, v.w);
  }
}
