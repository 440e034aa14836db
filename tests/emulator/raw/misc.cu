namespace detail {
enum class Mode : int { Copy = 0, Negate };
template <class F> __device__ void for_each(int n, F f) { for (int i = threadIdx.x; i < n; i += blockDim.x) f(i); }
__host__ __device__ constexpr int square(int x) { return x * x; }
}
using detail::Mode;
__device__ unsigned int lcg(unsigned int& state) { state = state * 1664525u + 1013904223u; return state >> 8; }
__device__ int calls() { static int n; return atomicAdd(&n, 1); }
extern "C" __global__ void misc(const int* __restrict__ x, int* __restrict__ y, int n, int mode) {
  __shared__ alignas(16) int buf[detail::square(8)];
  volatile __shared__ int flag;
  const Mode m = static_cast<Mode>(mode);
  if (threadIdx.x == 0) flag = n;
  __syncthreads();
  detail::for_each(flag, [=] (int i) { buf[i] = m == Mode::Negate ? -x[i] : x[i]; });
  __syncthreads();
  unsigned st = threadIdx.x;
  auto perm = [&](int i) { return (i * 5 + 3) % 64; };
  detail::for_each(64, [&](int i) { y[perm(i)] = buf[i] + 0 * (int)lcg(st); });
  switch (m) { case Mode::Copy: break; default: calls(); }
  if constexpr (sizeof(int) == 4) { int2 p = *reinterpret_cast<int2*>(&buf[2 * (threadIdx.x / 2)]); if (p.x == 123456) y[0] = p.y; }
}
