// grid 1, block 64; in x float32 64; out sums float32 16
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void tile_sums_shared(const float* x, float* sums) {
    __shared__ float s[64];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<4>(block);
    const int t = block.thread_rank(), r = tile.thread_rank();
    s[t] = x[t];
    tile.sync();
    if (r < 2) s[t] += s[t + 2];
    tile.sync();
    if (r == 0) sums[t / 4] = s[t] + s[t + 1];
    block.sync();  // equivalent: nothing touches shared memory behind it
}
