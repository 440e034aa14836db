#define R 1
#define T 8
__constant__ float w[9] = {0, 1, 0, 1, -4, 1, 0, 1, 0};
extern "C" __global__ void laplace(const float* in, float* out, int h, int width, int pitch) {
  __shared__ float tile[T + 2 * R][T + 2 * R + 1];
  const int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
  for (int dy = threadIdx.y; dy < T + 2; dy += T)
    for (int dx = threadIdx.x; dx < T + 2; dx += T) {
      int gx = min(max((int)(blockIdx.x * T + dx) - 1, 0), width - 1), gy = min(max((int)(blockIdx.y * T + dy) - 1, 0), h - 1);
      tile[dy][dx] = in[gy * pitch + gx];
    }
  __syncthreads();
  if (x >= width || y >= h) return;
  float s = 0;
#pragma unroll
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) s += w[j * 3 + i] * tile[threadIdx.y + j][threadIdx.x + i];
  out[y * pitch + x] = s;
}
