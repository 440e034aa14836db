#include <cuda_bf16.h>
template <typename T> struct Sum { __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a + b; } };
template <typename T> struct Max { __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a > b ? a : b; } };
template <typename T, int BLOCK_THREADS> class BlockReduce {
 public:
  struct TempStorage { T warp[BLOCK_THREADS / 32]; T result; };
  TempStorage& temp;
  __device__ __forceinline__ BlockReduce(TempStorage& t) : temp(t) {}
  template <typename Op> __device__ __forceinline__ T Reduce(T v, Op op) {
    const int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
    #pragma unroll
    for (int o = warpSize / 2; o > 0; o >>= 1) v = op(v, __shfl_xor_sync(~0u, v, o));
    if (lane == 0) temp.warp[wid] = v;
    __syncthreads();
    if (wid == 0) {
      v = temp.warp[lane < BLOCK_THREADS / 32 ? lane : 0];
      for (int o = BLOCK_THREADS / 64; o > 0; o >>= 1) v = op(v, __shfl_xor_sync(~0u, v, o));
      if (lane == 0) temp.result = v;
    }
    __syncthreads();
    T r = temp.result;
    __syncthreads();
    return r;
  }
};
struct Params { long long row_stride; int cols; float scale; };
template <int THREADS>
__device__ void rows(const __nv_bfloat16* x, __nv_bfloat16* y, const Params& p) {
  using Reduce = BlockReduce<float, THREADS>;
  __shared__ typename Reduce::TempStorage storage;
  const __nv_bfloat16* row = x + (blockIdx.y * gridDim.x + blockIdx.x) * p.row_stride;
  float m = -INFINITY;
  for (int c = threadIdx.x; c < p.cols; c += THREADS) m = fmaxf(m, __bfloat162float(row[c]) * p.scale);
  m = Reduce(storage).Reduce(m, Max<float>());
  float s = 0.f;
  for (int c = threadIdx.x; c < p.cols; c += THREADS) s += __expf(__bfloat162float(row[c]) * p.scale - m);
  s = Reduce(storage).Reduce(s, Sum<float>());
  for (int c = threadIdx.x; c < p.cols; c += THREADS)
    y[(blockIdx.y * gridDim.x + blockIdx.x) * p.row_stride + c] = __float2bfloat16(__expf(__bfloat162float(row[c]) * p.scale - m) / s);
}
extern "C" __global__ void softmax128(const __nv_bfloat16* x, __nv_bfloat16* y, Params p) { rows<128>(x, y, p); }
