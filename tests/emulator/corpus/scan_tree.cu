// grid 1, block 64; in x int32 128; out y int32 128
extern "C" __global__ void scan_tree(const int* x, int* y) {
    __shared__ int s[128];
    const int t = threadIdx.x;
    s[2 * t] = x[2 * t];
    s[2 * t + 1] = x[2 * t + 1];
    int offset = 1;
    for (int d = 64; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) s[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            const int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, v = s[a];
            s[a] = s[b];
            s[b] += v;
        }
    }
    __syncthreads();  // equivalent: in the last step each thread wrote the two elements that it reads now
    y[2 * t] = s[2 * t];
    y[2 * t + 1] = s[2 * t + 1];
}
