// grid 2, block 64; in x float32 7 45; out y float32 7 45; rows 7; n 45
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void layer_norm_tiles(const float* x, float* y, int rows, int n) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    const int row = blockIdx.x * 4 + tile.meta_group_rank();
    if (row >= rows) return;
    float sum = 0.0f, square = 0.0f;
    for (int c = tile.thread_rank(); c < n; c += tile.size()) sum += x[row * n + c];
    const float mean = cg::reduce(tile, sum, cg::plus<float>()) / n;
    for (int c = tile.thread_rank(); c < n; c += tile.size()) square += (x[row * n + c] - mean) * (x[row * n + c] - mean);
    const float scale = rsqrtf(cg::reduce(tile, square, cg::plus<float>()) / n + 1e-5f);
    for (int c = tile.thread_rank(); c < n; c += tile.size()) y[row * n + c] = (x[row * n + c] - mean) * scale;
}
