// a (m, k) times b (k, n) on Hopper's Tensor Cores: the sixth step of matmul.cu. The result is contiguous.
//
// A persistent block takes tile after tile of 128 x 256. One of its threads, the producer, has the copy engine bring
// slices of 64 columns of a and 64 rows of b into a ring of stages; two warpgroups, the consumers, multiply 64 rows of
// each stage by wgmma. Two mbarriers a stage hand it over: `full` when its bytes have arrived, `empty` when every warp
// has read it. The producer runs ahead over the end of a tile, so that copies go on while the consumers store sums.
//
// Every element adds its k products in one order, wherever it lies: strided inputs, which the launcher copies, give the
// bits of contiguous ones.
#include "packs.cuh"
#include "ptx.cuh"
#include "tiles.cuh"

constexpr int WGMMA_BM = 128, WGMMA_BN = 256, WGMMA_BK = 64, WGMMA_STAGES = 4;
constexpr int CONSUMER_WARPS = 8, WGMMA_M = 64, WGMMA_K = 16;
constexpr int BOX = 64;  // columns of a box: 128 bytes
constexpr int A_STAGE = WGMMA_BM * WGMMA_BK, B_STAGE = WGMMA_BK * WGMMA_BN, B_BOX = WGMMA_BK * BOX;
constexpr int STAGE = A_STAGE + B_STAGE, STAGE_BYTES = STAGE * 2;

// The stage of the ring that is next, and the parity of its phase.
struct Turn {
    int stage = 0;
    unsigned parity = 0;
    __device__ __forceinline__ void advance() {
        if (++stage == WGMMA_STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

template <typename T>
__device__ __forceinline__ void produce(
    T *stages, Barrier *full, Barrier *empty, const TensorMap &a, const TensorMap &b, int m, int n, int k) {
    Turn turn;
    const long long tiles = tile_count(m, n, WGMMA_BM, WGMMA_BN);
    for (long long number = blockIdx.x; number < tiles; number += gridDim.x) {
        const Tile tile = tile_at(number, m, n, WGMMA_BM, WGMMA_BN);
        const int row = (int)tile.row, column = (int)tile.column;
        for (int k0 = 0; k0 < k; k0 += WGMMA_BK, turn.advance()) {
            T *a_stage = stages + turn.stage * STAGE, *b_stage = a_stage + A_STAGE;
            barrier_wait(empty + turn.stage, turn.parity ^ 1);
            barrier_arrive_expect(full + turn.stage, STAGE_BYTES);
            copy_box(a_stage, a, full + turn.stage, row, k0);
#pragma unroll
            for (int box = 0; box < WGMMA_BN / BOX; box++)
                copy_box(b_stage + box * B_BOX, b, full + turn.stage, k0, column + box * BOX);
        }
    }
}

// Four lanes hold two neighbours of each of four groups of eight columns; afterwards each holds one whole group.
__device__ __forceinline__ void transpose_quad(unsigned (&v)[4]) {
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
        const bool upper = threadIdx.x & step;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i & step) continue;
            const unsigned mine = upper ? v[i] : v[i + step];
            const unsigned other = __shfl_xor_sync(FULL_WARP, mine, step);
            if (upper) v[i] = other;
            else v[i + step] = other;
        }
    }
}

template <typename T> __device__ __forceinline__ unsigned pair(float low, float high) {
    Bits<T> bits;
    bits.at[0] = narrow<T>(low);
    bits.at[1] = narrow<T>(high);
    return bits.word.x;
}

// Stores the sums of a warp: `row` and `column` are those of the lane's first element, c_vector as for matmul_wmma.
template <typename T>
__device__ __forceinline__ void store_sums(
    T *c, const float (&sums)[WGMMA_BN / 2], int m, int n, int row, int column, bool c_vector) {
    const int lane = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < WGMMA_BN / 8; i += 4) {
        if (column + 8 * i >= n) continue;
#pragma unroll
        for (int lower = 0; lower < 2; lower++) {
            const int r = row + 8 * lower;
            T *to = c + (long long)r * n;
            const float *from = sums + 4 * i + 2 * lower;
            if (c_vector) {
                unsigned v[4];
#pragma unroll
                for (int j = 0; j < 4; j++) v[j] = pair<T>(from[4 * j], from[4 * j + 1]);
                transpose_quad(v);
                const int first = column + 8 * (i + lane);
                if (r < m && first < n) *reinterpret_cast<uint4 *>(to + first) = make_uint4(v[0], v[1], v[2], v[3]);
            } else {
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    const int here = column + 8 * (i + j / 2) + 2 * lane + j % 2;
                    if (r < m && here < n) to[here] = narrow<T>(from[4 * (j / 2) + j % 2]);
                }
            }
        }
    }
}

template <typename T>
__device__ __forceinline__ void consume(
    const T *stages, Barrier *full, Barrier *empty, T *c, int m, int n, int k, bool c_vector) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int group_row = warp / 4 * WGMMA_M;
    Turn turn;
    float sums[WGMMA_BN / 2];
    const long long tiles = tile_count(m, n, WGMMA_BM, WGMMA_BN);
    for (long long number = blockIdx.x; number < tiles; number += gridDim.x) {
        const Tile tile = tile_at(number, m, n, WGMMA_BM, WGMMA_BN);
        int before = 0;
        for (int k0 = 0; k0 < k; k0 += WGMMA_BK, turn.advance()) {
            const T *a_stage = stages + turn.stage * STAGE, *b_stage = a_stage + A_STAGE;
            const T *a_rows = a_stage + group_row * WGMMA_BK;
            barrier_wait(full + turn.stage, turn.parity);
            wgmma_fence();
#pragma unroll
            for (int inner = 0; inner < WGMMA_BK; inner += WGMMA_K)
                wgmma_256(sums, a_rows + inner, b_stage + inner * BOX, B_BOX * 2, k0 + inner > 0);
            wgmma_commit();
            wgmma_wait<1>();  // this stage's products are under way, those of the stage before have read it
            if (k0 > 0 && lane == 0) barrier_arrive(empty + before);
            before = turn.stage;
        }
        wgmma_wait<0>();
        if (lane == 0) barrier_arrive(empty + before);
        const int row = (int)tile.row + group_row + warp % 4 * 16 + lane / 4;
        store_sums(c, sums, m, n, row, (int)tile.column, c_vector);
    }
}

template <typename T>
__device__ __forceinline__ void warpgroups(
    const TensorMap &a, const TensorMap &b, T *c, int m, int n, int k, bool c_vector) {
    extern __shared__ __align__(1024) unsigned char memory[];
    T *stages = reinterpret_cast<T *>(memory);
    Barrier *full = reinterpret_cast<Barrier *>(memory + WGMMA_STAGES * STAGE_BYTES), *empty = full + WGMMA_STAGES;
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < WGMMA_STAGES; stage++) {
            barrier_init(full + stage, 1);
            barrier_init(empty + stage, CONSUMER_WARPS);
        }
        barrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x / 32 < CONSUMER_WARPS) consume(stages, full, empty, c, m, n, k, c_vector);
    else if (threadIdx.x % 32 == 0) produce(stages, full, empty, a, b, m, n, k);
}

extern "C" __global__ void __launch_bounds__(288, 1) matmul_wgmma_float16(
    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, half *c, int m, int n, int k,
    bool c_vector) {
    warpgroups(a, b, c, m, n, k, c_vector);
}
extern "C" __global__ void __launch_bounds__(288, 1) matmul_wgmma_bfloat16(
    const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, __nv_bfloat16 *c, int m, int n, int k,
    bool c_vector) {
    warpgroups(a, b, c, m, n, k, c_vector);
}
