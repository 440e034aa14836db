// Addition, four elements a thread: `faulty` loads vectors from any address, `fixed` only from aligned ones.

__device__ __forceinline__ bool aligned(const float *p) { return (unsigned long long)p % sizeof(float4) == 0; }

__device__ __forceinline__ void add(const float *x, const float *y, float *out, int n, bool vectors) {
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (vectors && first + 4 <= n) {
        const float4 a = *reinterpret_cast<const float4 *>(x + first);
        const float4 b = *reinterpret_cast<const float4 *>(y + first);
        *reinterpret_cast<float4 *>(out + first) = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
        return;
    }
    for (int i = first; i < n && i < first + 4; i++) out[i] = x[i] + y[i];
}

extern "C" __global__ void faulty(const float *x, const float *y, float *out, int n) { add(x, y, out, n, true); }

extern "C" __global__ void fixed(const float *x, const float *y, float *out, int n) {
    add(x, y, out, n, aligned(x) && aligned(y) && aligned(out));
}
