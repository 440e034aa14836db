extern "C" __global__ void big_local(const float* x, float* y, int n) {
  float window[1024];
  for (int j = 0; j < 1024; j++) window[j] = x[(threadIdx.x + j) % n];
  float s = 0; for (int j = 0; j < n; j++) s += window[j];
  y[threadIdx.x] = s;
}
