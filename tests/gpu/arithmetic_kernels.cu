#include "kgen/gpu/arithmetic.hpp"
#include "kgen/math.hpp"
#include "kgen/vec.hpp"
#include "tests/gpu/arithmetic_kernels.hpp"

namespace {

__global__ void apply_to_each(Function function, const float* a, const float* b, float* y, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  switch (function) {
    case Function::divide: y[i] = kgen::gpu::divide(a[i], b[i]); break;
    case Function::reciprocal_sqrt: y[i] = kgen::gpu::reciprocal_sqrt(a[i]); break;
    case Function::power_of_two: y[i] = kgen::gpu::power_of_two(a[i]); break;
    case Function::exp_for_sum: y[i] = kgen::exp_for_sum(kgen::Vec<float, 1>(a[i])).data; break;
  }
}

}  // namespace

void apply(Function function, const float* a, const float* b, float* y, int count) {
  constexpr int threads = 256;
  apply_to_each<<<(count + threads - 1) / threads, threads>>>(function, a, b, y, count);
}
