// grid 3, block 64; in x float64 150; inout most float64 1 zeros; n 150
__device__ double atomic_max(double* p, double v) {
    unsigned long long* q = (unsigned long long*)p;
    unsigned long long seen = atomicAdd(q, 0ull), assumed;
    do {
        assumed = seen;
        if (__longlong_as_double(assumed) >= v) break;
        seen = atomicCAS(q, assumed, (unsigned long long)__double_as_longlong(v));
    } while (seen != assumed);
    return __longlong_as_double(seen);
}
extern "C" __global__ void max_atomic_double(const double* x, double* most, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomic_max(most, x[i]);
}
