// grid 1, block 64; in edge int32 64; out label int32 64
extern "C" __global__ void labels(const int* edge, int* label) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    for (bool changed = true; changed;) {
        int least = s[t];
        if (edge[t] && t + 1 < 64) least = min(least, s[t + 1]);
        if (t > 0 && edge[t - 1]) least = min(least, s[t - 1]);
        const bool mine = least < s[t];
        changed = __syncthreads_or(mine);
        if (mine) s[t] = least;
        __syncthreads();
    }
    label[t] = s[t];
}
