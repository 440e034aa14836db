__device__ void atomic_max(float* address, float value) {
  int* word = (int*)address;
  int old = *word;
  while (__int_as_float(old) < value) {
    const int assumed = old;
    old = atomicCAS(word, assumed, __float_as_int(value));
    if (old == assumed) break;
  }
}
extern "C" __global__ void top(const float* x, float* most, int n) {
  __shared__ float block_most;
  if (threadIdx.x == 0) block_most = __int_as_float(0xff800000);
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max(&block_most, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) atomic_max(most, block_most);
}
