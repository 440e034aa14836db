extern "C" __global__ void grid3d(const float* in, float* out, int3 dims, dim3 unused, float2 ab) {
  const uint3 p = make_uint3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.z * blockDim.z + threadIdx.z);
  if (p.x >= dims.x || p.y >= dims.y || p.z >= dims.z) return;
  size_t idx = ((size_t)p.z * dims.y + p.y) * dims.x + p.x;
  out[idx] = ab.x * in[idx] + ab.y;
}
