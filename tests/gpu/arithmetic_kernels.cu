#include "kgen/elementary.hpp"
#include "kgen/gpu/arithmetic.hpp"
#include "kgen/math.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/vec.hpp"
#include "tests/gpu/arithmetic_kernels.hpp"

namespace {

using Lane = kgen::Vec<float, 1>;

__global__ void apply_to_each(Function function, const float* a, const float* b, float* y, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  switch (function) {
    case Function::divide: y[i] = kgen::gpu::divide(a[i], b[i]); break;
    case Function::product_and_sum:
      y[i] = kgen::Add::apply(kgen::Mul::apply(Lane(a[i]), Lane(b[i])), kgen::Square::apply(Lane(b[i]))).data;
      break;
    case Function::reciprocal_sqrt: y[i] = kgen::gpu::reciprocal_sqrt(a[i]); break;
    case Function::power_of_two: y[i] = kgen::gpu::power_of_two(a[i]); break;
    case Function::exp_for_sum: y[i] = kgen::exp_for_sum(Lane(a[i])).data; break;
    case Function::tan: y[i] = kgen::tan(Lane(a[i])).data; break;
    case Function::asin: y[i] = kgen::asin(Lane(a[i])).data; break;
    case Function::acos: y[i] = kgen::acos(Lane(a[i])).data; break;
    case Function::atan: y[i] = kgen::atan(Lane(a[i])).data; break;
    case Function::sinh: y[i] = kgen::sinh(Lane(a[i])).data; break;
    case Function::cosh: y[i] = kgen::cosh(Lane(a[i])).data; break;
    case Function::asinh: y[i] = kgen::asinh(Lane(a[i])).data; break;
    case Function::acosh: y[i] = kgen::acosh(Lane(a[i])).data; break;
    case Function::atanh: y[i] = kgen::atanh(Lane(a[i])).data; break;
    case Function::exp2: y[i] = kgen::exp2(Lane(a[i])).data; break;
    case Function::expm1: y[i] = kgen::expm1(Lane(a[i])).data; break;
    case Function::log2: y[i] = kgen::log2(Lane(a[i])).data; break;
    case Function::log10: y[i] = kgen::log10(Lane(a[i])).data; break;
    case Function::log1p: y[i] = kgen::log1p(Lane(a[i])).data; break;
    case Function::atan2: y[i] = kgen::atan2(Lane(a[i]), Lane(b[i])).data; break;
    case Function::fmod: y[i] = kgen::fmod(Lane(a[i]), Lane(b[i])).data; break;
  }
}

}  // namespace

void apply(Function function, const float* a, const float* b, float* y, int count) {
  constexpr int threads = 256;
  apply_to_each<<<(count + threads - 1) / threads, threads>>>(function, a, b, y, count);
}
