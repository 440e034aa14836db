// Rows as 8-bit floats with a scale each, four elements at a time.
#include <cuda_fp8.h>

extern "C" __global__ void fp8_rows(const float* __restrict__ x, __nv_fp8_e4m3* __restrict__ out, float* scale, int columns) {
  __shared__ float partial[32];
  const float4* from = reinterpret_cast<const float4*>(x + blockIdx.x * columns);
  float most = 0.f;
  for (int i = threadIdx.x; i < columns / 4; i += blockDim.x) {
    const float4 v = from[i];
    most = fmaxf(fmaxf(most, fmaxf(fabsf(v.x), fabsf(v.y))), fmaxf(fabsf(v.z), fabsf(v.w)));
  }
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) most = fmaxf(most, __shfl_down_sync(0xffffffff, most, o));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = most;
  __syncthreads();
  most = partial[0];
  for (int i = 1; i < blockDim.x / 32; i++) most = fmaxf(most, partial[i]);
  const float s = most / 448.f;
  if (threadIdx.x == 0) scale[blockIdx.x] = s;
  __nv_fp8x4_e4m3* to = reinterpret_cast<__nv_fp8x4_e4m3*>(out + blockIdx.x * columns);
  for (int i = threadIdx.x; i < columns / 4; i += blockDim.x) {
    const float4 v = from[i];
    to[i] = __nv_fp8x4_e4m3(make_float4(v.x / s, v.y / s, v.z / s, v.w / s));
  }
}
