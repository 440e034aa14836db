typedef unsigned long long u64;
__device__ double atomic_add_double(double* address, double val) {
  u64* a = (u64*)address; u64 old = *a, assumed;
  do { assumed = old; old = atomicCAS(a, assumed, __double_as_longlong(val + __longlong_as_double(assumed))); } while (assumed != old);
  return __longlong_as_double(old);
}
__device__ float atomicMaxFloat(float* addr, float value) {
  return value >= 0 ? __int_as_float(atomicMax((int*)addr, __float_as_int(value)))
                    : __uint_as_float(atomicMin((unsigned int*)addr, __float_as_uint(value)));
}
extern "C" __global__ void hist(const unsigned char* data, unsigned int* bins, double* total, float* top, u64* seen, int n) {
  __shared__ unsigned int local[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0u;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    atomicAdd(&local[data[i]], 1u);
    atomic_add_double(total, (double)data[i]);
    atomicMaxFloat(top, (float)data[i]);
    atomicOr(seen, 1ull << (data[i] & 63));
    atomicInc((unsigned*)&bins[256], 0xffffffffu);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) if (local[b]) atomicAdd(bins + b, local[b]);
}
