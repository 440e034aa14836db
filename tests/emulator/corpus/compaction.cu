// grid 3, block 64; in x int32 150; out y int32 150 partial; inout count int32 1 zeros; n 150
extern "C" __global__ void compaction(const int* x, int* y, int* count, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const bool keep = i < n && x[i] % 2;
    const unsigned kept = __ballot_sync(~0u, keep);
    int start = 0;
    if (lane == 0) start = atomicAdd(count, __popc(kept));
    start = __shfl_sync(~0u, start, 0);
    if (keep) y[start + __popc(kept & ((1u << lane) - 1))] = x[i];
}
