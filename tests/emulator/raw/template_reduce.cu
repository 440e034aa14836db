template <typename T, int BLOCK>
__global__ void block_sum(const T* __restrict__ in, T* __restrict__ out, int n) {
  extern __shared__ __align__(sizeof(double)) unsigned char smem[];
  T* sdata = reinterpret_cast<T*>(smem);
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * (BLOCK * 2) + threadIdx.x;
  T mine = (i < n) ? in[i] : T(0);
  if (i + BLOCK < n) mine += in[i + BLOCK];
  sdata[tid] = mine;
  __syncthreads();
  for (unsigned int s = BLOCK / 2; s > 32; s >>= 1) {
    if (tid < s) sdata[tid] = mine = mine + sdata[tid + s];
    __syncthreads();
  }
  if (tid < 32) {
    if (BLOCK >= 64) mine += sdata[tid + 32];
    for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffff, mine, offset);
  }
  if (tid == 0) out[blockIdx.x] = mine;
}
