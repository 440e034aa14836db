// grid 1, block 100; in x int32 100; out y int32 100; n 100
extern "C" __global__ void scan_double_buffer(const int* x, int* y, int n) {
    __shared__ int buffer[2][128];
    int from = 0;
    const int t = threadIdx.x;
    buffer[0][t] = x[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        buffer[1 - from][t] = t >= d ? buffer[from][t] + buffer[from][t - d] : buffer[from][t];
        from = 1 - from;
        __syncthreads();
    }
    y[t] = buffer[from][t];
}
