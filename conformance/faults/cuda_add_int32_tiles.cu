// Addition of rows with strides, a block for four rows. `Offset` is what the offset of the four is computed in; those
// within the four have 64 bits.
constexpr int ROWS = 4;

template <typename Offset>
__device__ __forceinline__ void add(
    const float *x, const float *y, float *out, int rows, int columns, long long x_row, long long y_row) {
    const Offset first = (Offset)blockIdx.x * ROWS;
    const float *from_x = x + first * (Offset)x_row;
    const float *from_y = y + first * (Offset)y_row;
    for (int row = 0; row < ROWS && first + row < rows; row++)
        for (int i = threadIdx.x; i < columns; i += blockDim.x)
            out[(long long)(first + row) * columns + i] = from_x[row * x_row + i] + from_y[row * y_row + i];
}

extern "C" __global__ void faulty(
    const float *x, const float *y, float *out, int rows, int columns, long long x_row, long long y_row) {
    add<int>(x, y, out, rows, columns, x_row, y_row);
}

extern "C" __global__ void fixed(
    const float *x, const float *y, float *out, int rows, int columns, long long x_row, long long y_row) {
    add<long long>(x, y, out, rows, columns, x_row, y_row);
}
