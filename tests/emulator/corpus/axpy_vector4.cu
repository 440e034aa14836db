// grid 2, block 96; in x float32 1003; inout y float32 1003; n 1003; a 2.5
extern "C" __global__ void axpy_vector4(const float* __restrict__ x, float* __restrict__ y, int n, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    const float4* x4 = reinterpret_cast<const float4*>(x);
    float4* y4 = reinterpret_cast<float4*>(y);
    for (int k = i; k < n / 4; k += stride) {
        float4 u = x4[k], v = y4[k];
        v.x += a * u.x; v.y += a * u.y; v.z += a * u.z; v.w += a * u.w;
        y4[k] = v;
    }
    const int tail = n / 4 * 4 + i;
    if (tail < n) y[tail] += a * x[tail];
}
