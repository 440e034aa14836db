#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
template <typename Group>
__device__ float reduce_sum(Group g, float* temp, float val) {
  int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    temp[lane] = val;
    g.sync();
    if (lane < i) val += temp[lane + i];
    g.sync();
  }
  return val;
}
extern "C" __global__ void cg_sum(const float* x, float* out, int n) {
  extern __shared__ float temp[];
  auto block = cg::this_thread_block();
  float v = 0;
  for (int i = block.group_index().x * block.size() + block.thread_rank(); i < n; i += block.size() * gridDim.x) v += x[i];
  auto tile = cg::tiled_partition<32>(block);
  float w = cg::reduce(tile, v, cg::plus<float>());
  float total = reduce_sum(block, temp, v);
  if (block.thread_rank() == 0) out[0] = total;
  if (tile.thread_rank() == 0) out[1 + tile.meta_group_rank()] = w;
}
