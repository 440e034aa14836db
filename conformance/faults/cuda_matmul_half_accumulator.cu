// Matrix product, a thread an element. `Sum` is what the products are added up in.
#include <cuda_fp16.h>

template <typename Sum>
__device__ __forceinline__ void matmul(const half *a, const half *b, half *c, long long m, long long n, long long k) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    Sum sum = 0.0f;
    for (long long j = 0; j < k; j++) {
        const float product = __half2float(a[i / n * k + j]) * __half2float(b[j * n + i % n]);
        sum = (Sum)((float)sum + product);
    }
    c[i] = __float2half((float)sum);
}

extern "C" __global__ void faulty(const half *a, const half *b, half *c, long long m, long long n, long long k) {
    matmul<half>(a, b, c, m, n, k);
}

extern "C" __global__ void fixed(const half *a, const half *b, half *c, long long m, long long n, long long k) {
    matmul<float>(a, b, c, m, n, k);
}
