#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
extern "C" __global__ void __launch_bounds__(256, 4)
saxpy(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, const float a, const size_t n) {
  const int64_t stride = static_cast<int64_t>(blockDim.x) * gridDim.x;
  #pragma unroll 4
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += stride)
    out[i] = fmaf(a, __ldg(&x[i]), __ldg(y + i));
}
