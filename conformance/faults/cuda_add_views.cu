// Addition of dense tensors.
extern "C" __global__ void add(const float *x, const float *y, float *out, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];  // element i of a view does not lie at i
}
