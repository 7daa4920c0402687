// Kernels of the test of arithmetic.
#pragma once

enum class Function {
  divide, product_and_sum, reciprocal_sqrt, power_of_two, exp_for_sum,
  tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, exp2, expm1, log2, log10, log1p, atan2, fmod,
};

// Queues, on the default stream, y[i] = function(a[i], b[i]) for `count` elements in memory that the device has, too;
// functions of one operand take a's.
void apply(Function function, const float* a, const float* b, float* y, int count);
