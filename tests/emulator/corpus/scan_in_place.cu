// grid 1, block 100; in x int32 100; out y int32 100; n 100
extern "C" __global__ void scan_in_place(const int* x, int* y, int n) {
    __shared__ int s[128];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        const int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    y[t] = s[t];
}
