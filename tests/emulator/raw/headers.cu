#include <assert.h>
#include <stdio.h>
#include <float.h>
#include <limits.h>
#include <cstdint>
#include <cfloat>
#include <climits>
#include <utility>
#include <algorithm>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <math_constants.h>
extern "C" __global__ void headers(const float* __restrict__ x, float* __restrict__ y, int n) {
  const uint32_t i = threadIdx.x; int64_t big = INT64_C(1) << 40; (void)big;
  assert(i < n);
  float best = -FLT_MAX, inf = -CUDART_INF_F; best = fmaxf(best, inf); best = ::max(best, x[i]);
  y[i] = fminf(best, INFINITY) + (INT_MAX == 2147483647 ? 0 : 1) + 0 * M_PI;
  if (x[i] != x[i]) printf("thread %d: %f\n", i, x[i]);
}
