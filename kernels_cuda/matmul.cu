// a (m, k) times b (k, n) in five steps, each with one idea more than the one before. The result is contiguous.
//
// Every kernel adds the k products of an element in ascending order within its own scheme, whatever the strides and
// wherever the element lies in the grid: strided inputs give the bits of their contiguous copies.
#include "packs.cuh"
#include "tiles.cuh"
#include <cuda_pipeline.h>
#include <mma.h>

struct Problem {
    long long m;
    long long n;
    long long k;
    long long a_row;
    long long a_col;
    long long b_row;
    long long b_col;
};

// Step 1: one thread an element of the result, every operand from device memory.
template <typename T> __device__ __forceinline__ void naive(const T *a, const T *b, T *c, const Problem &p) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < p.m * p.n; i += step) {
        const T *row = a + i / p.n * p.a_row;
        const T *column = b + i % p.n * p.b_col;
        Compute<T> sum = 0;
        for (long long k = 0; k < p.k; k++)
            sum = multiply_add(widen(row[k * p.a_col]), widen(column[k * p.b_row]), sum);
        c[i] = narrow<T>(sum);
    }
}

// Step 2: a block of 16 x 16 threads shares tiles of both operands in shared memory.
constexpr int TILE = 16;
template <typename T> __device__ __forceinline__ void tiled(const T *a, const T *b, T *c, const Problem &p) {
    __shared__ Compute<T> as[TILE][TILE + 1];
    __shared__ Compute<T> bs[TILE][TILE + 1];
    const Tile tile = tile_at(blockIdx.x, p.m, p.n, TILE, TILE);
    const int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    const long long row = tile.row + y, column = tile.column + x;
    Compute<T> sum = 0;
    for (long long k0 = 0; k0 < p.k; k0 += TILE) {
        as[y][x] = row < p.m && k0 + x < p.k ? widen(a[row * p.a_row + (k0 + x) * p.a_col]) : 0;
        bs[y][x] = k0 + y < p.k && column < p.n ? widen(b[(k0 + y) * p.b_row + column * p.b_col]) : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum = multiply_add(as[y][k], bs[k][x], sum);
        __syncthreads();
    }
    if (row < p.m && column < p.n) c[row * p.n + column] = narrow<T>(sum);
}

// Step 3: 64 x 64 tiles, 256 threads, each with 4 x 4 sums in registers: 16 products for 8 reads of shared memory.
template <typename T> __device__ __forceinline__ void registers(const T *a, const T *b, T *c, const Problem &p) {
    using C = Compute<T>;
    constexpr int BM = 64, BN = 64, BK = 16, SIDE = 4;
    // Four elements of padding: the columns that a warp writes while it transposes a lie in different banks.
    __shared__ C as[BK][BM + 4];
    __shared__ C bs[BK][BN + 4];
    const Tile tile = tile_at(blockIdx.x, p.m, p.n, BM, BN);
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const bool a_by_rows = p.a_col <= p.a_row, b_by_rows = p.b_col <= p.b_row;  // neighbours read neighbours
    C sums[SIDE][SIDE] = {};
    for (long long k0 = 0; k0 < p.k; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += 256) {
            const int r = a_by_rows ? i / BK : i % BM, k = a_by_rows ? i % BK : i / BM;
            const bool inside = tile.row + r < p.m && k0 + k < p.k;
            as[k][r] = inside ? widen(a[(tile.row + r) * p.a_row + (k0 + k) * p.a_col]) : 0;
        }
        for (int i = threadIdx.x; i < BK * BN; i += 256) {
            const int k = b_by_rows ? i / BN : i % BK, n = b_by_rows ? i % BN : i / BK;
            const bool inside = k0 + k < p.k && tile.column + n < p.n;
            bs[k][n] = inside ? widen(b[(k0 + k) * p.b_row + (tile.column + n) * p.b_col]) : 0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            C left[SIDE], right[SIDE];
#pragma unroll
            for (int i = 0; i < SIDE; i++) {
                left[i] = as[k][y * SIDE + i];
                right[i] = bs[k][x * SIDE + i];
            }
#pragma unroll
            for (int i = 0; i < SIDE; i++)
#pragma unroll
                for (int j = 0; j < SIDE; j++) sums[i][j] = multiply_add(left[i], right[j], sums[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            const long long row = tile.row + y * SIDE + i, column = tile.column + x * SIDE + j;
            if (row < p.m && column < p.n) c[row * p.n + column] = narrow<T>(sums[i][j]);
        }
}

// Starts to copy a tile into shared memory, zeros where the matrix ends. `rows` and `columns` are what is left of the
// matrix from `from` on. `vector`: column stride 1, rows aligned to 16 bytes; whole packs then go by cp.async. Call
// __pipeline_commit, __pipeline_wait_prior and a barrier before the tile is read.
template <typename T, int HEIGHT, int WIDTH, int PITCH, int THREADS>
__device__ __forceinline__ void fetch_tile(
    T *to, const T *from, long long rows, long long columns, long long row_stride, long long column_stride,
    bool vector) {
    constexpr int N = PACK<T>;
    if (vector) {
#pragma unroll
        for (int i = threadIdx.x; i < HEIGHT * WIDTH / N; i += THREADS) {
            const int r = i / (WIDTH / N), first = i % (WIDTH / N) * N;
            T *chunk = to + r * PITCH + first;
            const T *source = from + r * row_stride + first;
            if (r < rows && first + N <= columns) {
                __pipeline_memcpy_async(chunk, source, 16);
            } else {
#pragma unroll
                for (int j = 0; j < N; j++) chunk[j] = r < rows && first + j < columns ? source[j] : narrow<T>(0);
            }
        }
    } else {
        const bool by_rows = column_stride <= row_stride;  // neighbours read neighbours
        for (int i = threadIdx.x; i < HEIGHT * WIDTH; i += THREADS) {
            const int r = by_rows ? i / WIDTH : i % HEIGHT, column = by_rows ? i % WIDTH : i / HEIGHT;
            const bool inside = r < rows && column < columns;
            to[r * PITCH + column] = inside ? from[r * row_stride + column * column_stride] : narrow<T>(0);
        }
    }
}

// Step 4: two buffers; while the block multiplies one tile, cp.async fills the other. 16 x 16 threads, each with
// SIDE x SIDE sums, spaced 16 apart in rows so that the rows a warp reads lie in different banks.
template <typename T, int SIDE>
__device__ __forceinline__ void async(const T *a, const T *b, T *c, const Problem &p, bool a_vector, bool b_vector) {
    using C = Compute<T>;
    constexpr int BM = 16 * SIDE, BN = 16 * SIDE, BK = 16, A_PITCH = BK + PACK<T>, B_PITCH = BN + PACK<T>;
    __shared__ __align__(16) T as[2][BM * A_PITCH];
    __shared__ __align__(16) T bs[2][BK * B_PITCH];
    const Tile tile = tile_at(blockIdx.x, p.m, p.n, BM, BN);
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    const T *a_from = a + tile.row * p.a_row, *b_from = b + tile.column * p.b_col;
    const long long rows = p.m - tile.row, columns = p.n - tile.column, steps = (p.k + BK - 1) / BK;
    C sums[SIDE][SIDE] = {};
    for (long long step = -1; step < steps; step++) {
        const long long k0 = (step + 1) * BK;
        if (k0 < p.k) {
            const int next = (int)((step + 1) % 2);
            fetch_tile<T, BM, BK, A_PITCH, 256>(
                as[next], a_from + k0 * p.a_col, rows, p.k - k0, p.a_row, p.a_col, a_vector);
            fetch_tile<T, BK, BN, B_PITCH, 256>(
                bs[next], b_from + k0 * p.b_row, p.k - k0, columns, p.b_row, p.b_col, b_vector);
        }
        __pipeline_commit();
        if (step < 0) continue;
        const T *left_tile = as[step % 2], *right_tile = bs[step % 2];
        __pipeline_wait_prior(1);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            C left[SIDE], right[SIDE];
#pragma unroll
            for (int i = 0; i < SIDE; i++) {
                left[i] = widen(left_tile[(y + 16 * i) * A_PITCH + k]);
                right[i] = widen(right_tile[k * B_PITCH + i / 4 * 64 + x * 4 + i % 4]);
            }
#pragma unroll
            for (int i = 0; i < SIDE; i++)
#pragma unroll
                for (int j = 0; j < SIDE; j++) sums[i][j] = multiply_add(left[i], right[j], sums[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            const long long row = tile.row + y + 16 * i, column = tile.column + j / 4 * 64 + x * 4 + j % 4;
            if (row < p.m && column < p.n) c[row * p.n + column] = narrow<T>(sums[i][j]);
        }
}

// Step 5: Tensor Cores. 128 x 128 tiles, 8 warps of 64 x 32, four stages in dynamic shared memory. The pitches are
// 16 bytes longer than the rows: the eight rows that one ldmatrix reads lie in different banks.
constexpr int WMMA_BM = 128, WMMA_BN = 128, WMMA_BK = 32, WMMA_STAGES = 4;
constexpr int WMMA_A_PITCH = WMMA_BK + 8, WMMA_B_PITCH = WMMA_BN + 8;
constexpr int WMMA_A_STAGE = WMMA_BM * WMMA_A_PITCH, WMMA_B_STAGE = WMMA_BK * WMMA_B_PITCH;

template <typename T>
__device__ __forceinline__ void tensor_cores(
    const T *a, const T *b, T *c, const Problem &p, bool a_vector, bool b_vector, bool c_vector) {
    namespace wmma = nvcuda::wmma;
    constexpr int DOWN = 4, ACROSS = 2, SIDE = 16;
    extern __shared__ __align__(32) unsigned char memory[];
    T *as = reinterpret_cast<T *>(memory), *bs = as + WMMA_STAGES * WMMA_A_STAGE;
    const Tile tile = tile_at(blockIdx.x, p.m, p.n, WMMA_BM, WMMA_BN);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_row = warp / 4 * DOWN * SIDE, warp_column = warp % 4 * ACROSS * SIDE;
    const T *a_from = a + tile.row * p.a_row, *b_from = b + tile.column * p.b_col;
    const long long rows = p.m - tile.row, columns = p.n - tile.column, steps = (p.k + WMMA_BK - 1) / WMMA_BK;

    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, float> sums[DOWN][ACROSS];
#pragma unroll
    for (int i = 0; i < DOWN; i++)
#pragma unroll
        for (int j = 0; j < ACROSS; j++) wmma::fill_fragment(sums[i][j], 0.0f);

    for (long long step = 1 - WMMA_STAGES; step < steps; step++) {
        if (step >= 0) {
            __pipeline_wait_prior(WMMA_STAGES - 2);
            __syncthreads();  // this step's tiles have landed, and nobody still reads those of the step before
        }
        const long long ahead = step + WMMA_STAGES - 1, k0 = ahead * WMMA_BK;
        if (ahead < steps) {
            const int stage = (int)(ahead % WMMA_STAGES);
            fetch_tile<T, WMMA_BM, WMMA_BK, WMMA_A_PITCH, 256>(
                as + stage * WMMA_A_STAGE, a_from + k0 * p.a_col, rows, p.k - k0, p.a_row, p.a_col, a_vector);
            fetch_tile<T, WMMA_BK, WMMA_BN, WMMA_B_PITCH, 256>(
                bs + stage * WMMA_B_STAGE, b_from + k0 * p.b_row, p.k - k0, columns, p.b_row, p.b_col, b_vector);
        }
        __pipeline_commit();
        if (step < 0) continue;
        const T *left_tile = as + step % WMMA_STAGES * WMMA_A_STAGE + warp_row * WMMA_A_PITCH;
        const T *right_tile = bs + step % WMMA_STAGES * WMMA_B_STAGE + warp_column;
#pragma unroll
        for (int k = 0; k < WMMA_BK; k += SIDE) {
            wmma::fragment<wmma::matrix_a, SIDE, SIDE, SIDE, T, wmma::row_major> left[DOWN];
            wmma::fragment<wmma::matrix_b, SIDE, SIDE, SIDE, T, wmma::row_major> right[ACROSS];
#pragma unroll
            for (int i = 0; i < DOWN; i++)
                wmma::load_matrix_sync(left[i], left_tile + i * SIDE * WMMA_A_PITCH + k, WMMA_A_PITCH);
#pragma unroll
            for (int j = 0; j < ACROSS; j++)
                wmma::load_matrix_sync(right[j], right_tile + k * WMMA_B_PITCH + j * SIDE, WMMA_B_PITCH);
#pragma unroll
            for (int i = 0; i < DOWN; i++)
#pragma unroll
                for (int j = 0; j < ACROSS; j++) wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
        }
    }
    __syncthreads();  // the sums go through the memory of the stages

    // Which lane holds which element of a fragment is not specified, so each warp lays one fragment at a time down in
    // shared memory; a lane then rounds and stores eight neighbours.
    constexpr int PITCH = SIDE + 4;
    float *staged = reinterpret_cast<float *>(memory) + warp * SIDE * PITCH;
    const int r = lane / 2, first = lane % 2 * 8;
#pragma unroll
    for (int i = 0; i < DOWN; i++)
#pragma unroll
        for (int j = 0; j < ACROSS; j++) {
            wmma::store_matrix_sync(staged, sums[i][j], PITCH, wmma::mem_row_major);
            __syncwarp();
            const long long row = tile.row + warp_row + i * SIDE + r;
            const long long column = tile.column + warp_column + j * SIDE + first;
            float values[8];
#pragma unroll
            for (int e = 0; e < 8; e++) values[e] = staged[r * PITCH + first + e];
            __syncwarp();
            if (row < p.m && c_vector && column < p.n) {
                store_pack<T, 8, true>(c + row * p.n + column, 0, values);
            } else if (row < p.m) {
#pragma unroll
                for (int e = 0; e < 8; e++)
                    if (column + e < p.n) c[row * p.n + column + e] = narrow<T>(values[e]);
            }
        }
}

extern "C" __global__ void __launch_bounds__(256) matmul_naive_float16(
    const half *a, const half *b, half *c, Problem p) {
    naive(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_naive_bfloat16(
    const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, Problem p) {
    naive(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_naive_float32(
    const float *a, const float *b, float *c, Problem p) {
    naive(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_naive_float64(
    const double *a, const double *b, double *c, Problem p) {
    naive(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_tiled_float16(
    const half *a, const half *b, half *c, Problem p) {
    tiled(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_tiled_bfloat16(
    const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, Problem p) {
    tiled(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_tiled_float32(
    const float *a, const float *b, float *c, Problem p) {
    tiled(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_tiled_float64(
    const double *a, const double *b, double *c, Problem p) {
    tiled(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_registers_float16(
    const half *a, const half *b, half *c, Problem p) {
    registers(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_registers_bfloat16(
    const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, Problem p) {
    registers(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_registers_float32(
    const float *a, const float *b, float *c, Problem p) {
    registers(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_registers_float64(
    const double *a, const double *b, double *c, Problem p) {
    registers(a, b, c, p);
}
extern "C" __global__ void __launch_bounds__(256) matmul_async_float16(
    const half *a, const half *b, half *c, Problem p, bool a_vector, bool b_vector) {
    async<half, 8>(a, b, c, p, a_vector, b_vector);
}
extern "C" __global__ void __launch_bounds__(256) matmul_async_bfloat16(
    const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, Problem p, bool a_vector, bool b_vector) {
    async<__nv_bfloat16, 8>(a, b, c, p, a_vector, b_vector);
}
extern "C" __global__ void __launch_bounds__(256) matmul_async_float32(
    const float *a, const float *b, float *c, Problem p, bool a_vector, bool b_vector) {
    async<float, 8>(a, b, c, p, a_vector, b_vector);
}
extern "C" __global__ void __launch_bounds__(256) matmul_async_float64(
    const double *a, const double *b, double *c, Problem p, bool a_vector, bool b_vector) {
    async<double, 4>(a, b, c, p, a_vector, b_vector);
}
extern "C" __global__ void __launch_bounds__(256) matmul_wmma_float16(
    const half *a, const half *b, half *c, Problem p, bool a_vector, bool b_vector, bool c_vector) {
    tensor_cores(a, b, c, p, a_vector, b_vector, c_vector);
}
extern "C" __global__ void __launch_bounds__(256) matmul_wmma_bfloat16(
    const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, Problem p, bool a_vector, bool b_vector,
    bool c_vector) {
    tensor_cores(a, b, c, p, a_vector, b_vector, c_vector);
}
