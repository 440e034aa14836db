extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
  const unsigned lane = threadIdx.x & 31u;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned mask = __ballot_sync(0xffffffffu, i < n);
  if (i < n) {
    int v = in[i];
    unsigned keep = __ballot_sync(mask, v > 0);
    int leader = __ffs(mask) - 1, base = 0;
    if (lane == leader) base = atomicAdd(count, __popc(keep));
    base = __shfl_sync(mask, base, leader);
    if (v > 0) out[base + __popc(keep & ((1u << lane) - 1))] = v;
  }
}
