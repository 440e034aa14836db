// grid 1, block 64; in x float32 64; out y float32 64
extern "C" __global__ void bitonic_sort(const float* x, float* y) {
    __shared__ float s[64];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int size = 2; size <= 64; size *= 2)
        for (int d = size / 2; d > 0; d /= 2) {
            const int other = t ^ d;
            if (other > t) {
                const float a = s[t], b = s[other];
                if ((a > b) == ((t & size) == 0)) {
                    s[t] = b;
                    s[other] = a;
                }
            }
            __syncthreads();
        }
    y[t] = s[t];
}
