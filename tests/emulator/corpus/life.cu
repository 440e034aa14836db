// grid 2 2, block 8 8; in x uint8 16 16; out y uint8 16 16
extern "C" __global__ void life(const unsigned char* x, unsigned char* y) {
    __shared__ unsigned char s[10][10];
    const int r0 = blockIdx.y * 8 - 1, c0 = blockIdx.x * 8 - 1;
    for (int i = threadIdx.y * 8 + threadIdx.x; i < 100; i += 64)
        s[i / 10][i % 10] = x[((r0 + i / 10 + 16) % 16) * 16 + (c0 + i % 10 + 16) % 16];
    __syncthreads();
    const int r = threadIdx.y + 1, c = threadIdx.x + 1;
    int n = -s[r][c];
    for (int a = -1; a <= 1; a++)
        for (int b = -1; b <= 1; b++) n += s[r + a][c + b];
    y[(r0 + r) * 16 + c0 + c] = n == 3 || (n == 2 && s[r][c]);
}
