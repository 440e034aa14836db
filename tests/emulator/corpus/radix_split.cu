// grid 1, block 64; in x int32 64; out y int32 64; bit 1
extern "C" __global__ void radix_split(const int* x, int* y, int bit) {
    __shared__ int s[64], zeros;
    const int t = threadIdx.x, v = x[t], b = v >> bit & 1;
    s[t] = 1 - b;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        const int left = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += left;
        __syncthreads();
    }
    if (t == 63) zeros = s[63];
    __syncthreads();
    const int before = s[t] - (1 - b);
    y[b ? zeros + t - before : before] = v;
}
