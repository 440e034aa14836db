#include <cassert>
#include <cstdio>
#include <math.h>
#include <float.h>
#include <limits>
#include <type_traits>
union Pun { float f; unsigned int u; int i; };
struct __align__(8) Pair { float a; int b; };
__device__ __forceinline__ float fast_rsqrt(float x) {
  Pun p; p.f = x; p.i = 0x5f3759df - (p.i >> 1);
  float y = p.f; return y * (1.5f - 0.5f * x * y * y);
}
static __device__ __inline__ float sigmoid(float x) { return 1.0f / (1.0f + __expf(-x)); }
__device__ const float TABLE[4] = {1.f, 2.f, 3.f, 4.f};
extern "C" __global__ void zoo(const float* x, float* out, int n) {
  __builtin_assume(n > 0);
  int i = threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  assert(v > 0.0f && "positive");
  float r[24] = {__expf(v), rsqrtf(v), fmaf(v, v, 1.f), __fdividef(v, 2.f), erff(v), tanhf(v), lgammaf(v), log1pf(v),
    expm1f(v), cbrtf(v), hypotf(v, 1.f), powf(v, 1.5f), __powf(v, 2.f), sinf(v), __cosf(v), atan2f(v, 2.f),
    fast_rsqrt(v), sigmoid(v), copysignf(1.f, -v), floorf(v) + ceilf(v) + truncf(v) + roundf(v) + rintf(v), fabsf(-v), (float)__float2int_rn(v),
    __int_as_float(__float_as_int(v)), TABLE[i & 3]};
  for (int k = 0; k < 24; k++) out[i * 24 + k] = r[k];
  if (i == 0 && v == FLT_MAX) printf("%d %f %s\n", i, v, "big");
  if (v > FLT_MAX) out[0] = NAN;
  static_assert(std::is_same<decltype(v), float>::value, "float");
}
