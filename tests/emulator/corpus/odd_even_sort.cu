// grid 1, block 40; shared 320; in x int32 80; out y int32 80
extern "C" __global__ void odd_even_sort(const int* x, int* y) {
    extern __shared__ int s[];
    const int t = threadIdx.x;
    s[t] = x[t];
    s[t + 40] = x[t + 40];
    __syncthreads();
    for (int k = 0; k < 80; k++) {
        const int i = 2 * t + k % 2;
        if (i + 1 < 80 && s[i] > s[i + 1]) {
            const int v = s[i];
            s[i] = s[i + 1];
            s[i + 1] = v;
        }
        __syncthreads();
    }
    y[t] = s[t];
    y[t + 40] = s[t + 40];
}
