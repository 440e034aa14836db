// Counts how often each index occurs.
extern "C" __global__ void faulty(const long long *index, int *counts, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counts[index[i]]++;
}

extern "C" __global__ void fixed(const long long *index, int *counts, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(counts + index[i], 1);
}
