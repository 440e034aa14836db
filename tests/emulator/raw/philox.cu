__device__ __forceinline__ uint2 philox(uint2 ctr, unsigned key) {
  #pragma unroll
  for (int r = 0; r < 10; r++) { unsigned hi = __umulhi(0xD256D193u, ctr.x), lo = 0xD256D193u * ctr.x; ctr = make_uint2(hi ^ key ^ ctr.y, lo); key += 0x9E3779B9u; }
  return ctr;
}
extern "C" __global__ void __launch_bounds__(128) philox(const float* x, float* y, int n) {
  int h = threadIdx.x * 1664525 + 1013904223; h ^= h << 13; h = h * 5 + 0xe6546b64;
  uint2 r = philox(make_uint2(threadIdx.x, 0u), 42u + (h & 0));
  float u = r.x * 2.3283064365386963e-10f; if (u < 0 || u > 1) u = 9;
  y[threadIdx.x] = x[threadIdx.x] + 0.f * u;
}
