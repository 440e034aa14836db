// grid 3 2, block 16 16; in x float32 30 40; out y float32 40 30; rows 30; columns 40
extern "C" __global__ void transpose_tiled(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[16][17];
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
    __syncthreads();
    column = blockIdx.y * 16 + threadIdx.x;
    row = blockIdx.x * 16 + threadIdx.y;
    if (row < columns && column < rows) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}
