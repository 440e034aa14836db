extern "C" __global__ void warp_aggregate(const int* keys, int* hist, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    unsigned active = __activemask();
    unsigned peers = __match_any_sync(active, keys[i]);
    int leader = __ffs(peers) - 1;
    if ((threadIdx.x & 31) == leader) atomicAdd(&hist[keys[i]], __popc(peers));
  }
}
