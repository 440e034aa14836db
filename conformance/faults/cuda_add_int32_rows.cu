// Addition of rows with strides, a block each. `Offset` is what offsets are computed in.
template <typename Offset>
__device__ __forceinline__ void add(
    const float *x, const float *y, float *out, int columns, long long x_row, long long x_column, long long y_row,
    long long y_column) {
    const Offset row = blockIdx.x;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const Offset from_x = row * (Offset)x_row + i * (Offset)x_column;
        const Offset from_y = row * (Offset)y_row + i * (Offset)y_column;
        out[(long long)blockIdx.x * columns + i] = x[from_x] + y[from_y];
    }
}

extern "C" __global__ void faulty(
    const float *x, const float *y, float *out, int columns, long long x_row, long long x_column, long long y_row,
    long long y_column) {
    add<int>(x, y, out, columns, x_row, x_column, y_row, y_column);
}

extern "C" __global__ void fixed(
    const float *x, const float *y, float *out, int columns, long long x_row, long long x_column, long long y_row,
    long long y_column) {
    add<long long>(x, y, out, columns, x_row, x_column, y_row, y_column);
}
