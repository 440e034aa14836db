// One query a sequence over keys and values in pages of a cache, as servers of language models keep them.
#include <cuda_fp16.h>
#include <float.h>
#define WARP_SIZE 32

template <int WARPS> __device__ float block_sum(float* partial, float sum) {
  const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask >= 1; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  sum = lane < WARPS ? partial[lane] : 0.f;
#pragma unroll
  for (int mask = WARPS / 2; mask >= 1; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
  return __shfl_sync(~0u, sum, 0);
}

template <typename scalar_t, int HEAD, int PAGE, int THREADS>
__global__ void __launch_bounds__(THREADS) paged_attention(
    const scalar_t* __restrict__ q, const scalar_t* __restrict__ k_cache, const scalar_t* __restrict__ v_cache,
    const int* __restrict__ pages, const int* __restrict__ lengths, scalar_t* __restrict__ out, const float scale,
    const int most_pages) {
  constexpr int WARPS = THREADS / WARP_SIZE;
  const int sequence = blockIdx.y, head = blockIdx.x, heads = gridDim.x, length = lengths[sequence];
  const int warp = threadIdx.x / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
  extern __shared__ char shared_mem[];
  float* logits = reinterpret_cast<float*>(shared_mem);
  __shared__ float partial[2 * WARPS];
  __shared__ scalar_t query[HEAD];
  for (int i = threadIdx.x; i < HEAD; i += THREADS) query[i] = q[((long long)sequence * heads + head) * HEAD + i];
  __syncthreads();
  const int* table = pages + sequence * most_pages;
  float top = -FLT_MAX;
  for (int t = warp; t < length; t += WARPS) {
    const long long page = table[t / PAGE];
    const scalar_t* k = k_cache + ((page * heads + head) * PAGE + t % PAGE) * HEAD;
    float s = 0;
    for (int i = lane; i < HEAD; i += WARP_SIZE) s += (float)query[i] * (float)k[i];
#pragma unroll
    for (int mask = WARP_SIZE / 2; mask >= 1; mask /= 2) s += __shfl_xor_sync(~0u, s, mask);
    s *= scale;
    if (lane == 0) logits[t] = s;
    top = fmaxf(top, s);
  }
  if (lane == 0) partial[warp] = top;
  __syncthreads();
  top = lane < WARPS ? partial[lane] : -FLT_MAX;
#pragma unroll
  for (int mask = WARPS / 2; mask >= 1; mask /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, mask));
  top = __shfl_sync(~0u, top, 0);
  float sum = 0.f;
  for (int i = threadIdx.x; i < length; i += THREADS) {
    const float value = __expf(logits[i] - top);
    logits[i] = value;
    sum += value;
  }
  const float inverse = __fdividef(1.f, block_sum<WARPS>(&partial[WARPS], sum));
  for (int i = threadIdx.x; i < length; i += THREADS) logits[i] *= inverse;
  __syncthreads();
  for (int i = threadIdx.x; i < HEAD; i += THREADS) {
    float sum = 0;
    for (int t = 0; t < length; t++) {
      const long long page = table[t / PAGE];
      sum += logits[t] * (float)v_cache[((page * heads + head) * PAGE + t % PAGE) * HEAD + i];
    }
    out[((long long)sequence * heads + head) * HEAD + i] = scalar_t(sum);
  }
}
