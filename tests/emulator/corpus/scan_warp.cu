// grid 1, block 96; in x int32 96; out y int32 96
extern "C" __global__ void scan_warp(const int* x, int* y) {
    __shared__ int totals[3];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int v = x[t];
    for (int d = 1; d < 32; d *= 2) {
        const int left = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += left;
    }
    if (lane == 31) totals[warp] = v;
    __syncthreads();
    for (int w = 0; w < warp; w++) v += totals[w];
    y[t] = v;
}
