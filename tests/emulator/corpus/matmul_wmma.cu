// grid 2, block 64; in a float16 32 48; in b float16 48 32; out c float32 32 32
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void matmul_wmma(const half* a, const half* b, float* c) {
    __shared__ __align__(32) float tile[2][256];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < 48; k += 16) {
        wmma::load_matrix_sync(fa, a + blockIdx.x * 16 * 48 + k, 48);
        wmma::load_matrix_sync(fb, b + k * 32 + warp * 16, 32);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(tile[warp], fc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = lane; i < 256; i += 32) c[(blockIdx.x * 16 + i / 16) * 32 + warp * 16 + i % 16] = tile[warp][i];
}
