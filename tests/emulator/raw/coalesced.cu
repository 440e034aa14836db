#include <cooperative_groups.h>
using namespace cooperative_groups;
__device__ int atomicAggInc(int* counter) {
  coalesced_group active = coalesced_threads();
  int res;
  if (active.thread_rank() == 0) res = atomicAdd(counter, active.num_threads());
  res = active.shfl(res, 0);
  return active.thread_rank() + res;
}
extern "C" __global__ void coalesced(const float* x, float* y, int n) {
  __shared__ int count;
  thread_block tb = this_thread_block();
  if (tb.thread_rank() == 0) count = 0;
  tb.sync();
  int i = tb.thread_rank();
  int at = -1;
  if (x[i] > 0) at = atomicAggInc(&count);
  tb.sync();
  y[i] = at >= 0 && at < count ? 1.f : 0.f;
  thread_block_tile<8> t8 = tiled_partition<8>(tb);
  auto t32 = tiled_partition<32>(tb);
  auto t4 = tiled_partition<4>(t32);
  int s = t4.thread_rank(); for (int o = t4.size() / 2; o; o /= 2) s += t4.shfl_down(s, o);
  if (t8.any(i < 0)) y[i] = 5; sync(t32); t8.sync();
  if (t4.thread_rank() == 0 && s != 6) y[i] = 7;
}
