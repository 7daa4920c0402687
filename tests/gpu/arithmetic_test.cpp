// What templates/kgen/gpu/arithmetic.hpp says of its functions holds on the device that this runs on.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>

#include "tests/gpu/arithmetic_kernels.hpp"

namespace {

constexpr int count = 1 << 22;
constexpr float infinity = std::numeric_limits<float>::infinity();

float* allocate() {
  void* memory = nullptr;
  REQUIRE(cudaMallocManaged(&memory, count * sizeof(float)) == cudaSuccess);
  return static_cast<float*>(memory);
}

struct Operands {
  float *a = allocate(), *b = allocate(), *y = allocate();

  ~Operands() {
    for (float* memory : {a, b, y}) (void)cudaFree(memory);
  }
};

// Of either sign, with exponents from `low` to below `high`, all equally often.
void fill(float* values, int low, int high, bool is_signed, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> fraction(1, 2);
  std::uniform_int_distribution<int> exponent(low, high - 1), sign(0, is_signed ? 1 : 0);
  for (int i = 0; i < count; ++i) {
    const float magnitude = std::ldexp(fraction(random), exponent(random));
    values[i] = sign(random) == 0 ? magnitude : -magnitude;
  }
}

// The distance in units of the last place of an f32 that is near `expected`; 0 of an infinity where that is, or nearly,
// too great for an f32.
double ulps(float found, double expected) {
  if (std::isinf(found)) return std::abs(expected) > 0x1.fffff0p127 && (found > 0) == (expected > 0) ? 0 : infinity;
  if (std::isnan(found)) return infinity;
  const int exponent = expected == 0 ? -126 : std::max(std::ilogb(expected), -126);
  return std::abs(found - expected) / std::ldexp(1.0, exponent - 23);
}

// By `distance` of what is found from what `exact` gives of two operands.
double largest_error(Function function, const Operands& operands, const std::function<double(double, double)>& exact,
                     double (*distance)(float, double) = ulps) {
  std::fill_n(operands.y, count, std::numeric_limits<float>::quiet_NaN());
  apply(function, operands.a, operands.b, operands.y, count);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  double largest = 0;
  for (int i = 0; i < count; ++i) {
    largest = std::max(largest, distance(operands.y[i], exact(operands.a[i], operands.b[i])));
  }
  return largest;
}

}  // namespace

TEST_CASE("Divisions are within the units of the last place that they promise") {
  const Operands operands;
  const auto error_of = [&](int low, int high) {
    fill(operands.a, -126, 128, true, 1);
    fill(operands.b, low, high, true, 2);
    return largest_error(Function::divide, operands, std::divides<>());
  };
  const double common = error_of(-126, 126), large = error_of(126, 128), subnormal = error_of(-128, -126);
  MESSAGE("ulp: ", common, "; by 2^126 and more: ", large, "; by subnormal numbers of 2^-128 and more: ", subnormal);
  CHECK(common <= 3);
  CHECK(large <= 7);
  CHECK(subnormal <= 3);
}

TEST_CASE("Products and squares are rounded before they are added up") {
  const Operands operands;
  fill(operands.a, -10, 10, true, 7);
  fill(operands.b, -10, 10, true, 8);
  apply(Function::product_and_sum, operands.a, operands.b, operands.y, count);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  int differing = 0;
  for (int i = 0; i < count; ++i) {
    const float a = operands.a[i], b = operands.b[i];
    const volatile float product = a * b, square = b * b;  // which the host's compiler may join to the sum, too
    differing += operands.y[i] != product + square;
  }
  CHECK(differing == 0);
}

TEST_CASE("Divisions by zero, by infinity and by what is smaller than 2^-128") {
  const Operands operands;
  const float divisors[] = {0.0f, -0.0f, infinity, -infinity, 0x1p-129f, -0x1p-149f};
  const float quotients[] = {infinity, -infinity, 0.0f, -0.0f, infinity, -infinity};
  std::fill_n(operands.a, count, 3.0f);
  std::copy(std::begin(divisors), std::end(divisors), operands.b);
  apply(Function::divide, operands.a, operands.b, operands.y, 6);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  for (int i = 0; i < 6; ++i) {
    CAPTURE(divisors[i]);
    CHECK(operands.y[i] == quotients[i]);
    CHECK(std::signbit(operands.y[i]) == std::signbit(quotients[i]));
  }
}

TEST_CASE("Reciprocal square roots and powers of two are within the units of the last place that they promise") {
  const Operands operands;
  fill(operands.a, -126, 128, false, 3);
  const double root =
      largest_error(Function::reciprocal_sqrt, operands, [](double a, double) { return 1 / std::sqrt(a); });
  fill(operands.a, -30, 6, true, 4);
  for (int i = 0; i < count; ++i) operands.a[i] = std::max(operands.a[i], -126.0f);  // what is less gives 0
  const double power = largest_error(Function::power_of_two, operands, [](double a, double) { return std::exp2(a); });
  MESSAGE("ulp: 1 / sqrt(x) ", root, ", 2^x ", power);
  CHECK(root <= 2);
  CHECK(power <= 3);
}

TEST_CASE("Terms of a softmax's sum are within 2^-22 of 1") {
  const Operands operands;
  fill(operands.a, -30, 8, false, 5);
  for (int i = 0; i < count; ++i) operands.a[i] = -operands.a[i];
  const auto difference = [](float found, double expected) {
    return std::isnan(found) ? infinity : std::abs(found - expected);
  };
  const double error = largest_error(
      Function::exp_for_sum, operands, [](double a, double) { return std::exp(a); }, difference);
  MESSAGE("error of exp(x): ", error * 0x1p23, " 2^-23");
  CHECK(error <= 0x1p-22);
}

TEST_CASE("Elementary functions are within 4 units of the last place, and remainders exact") {
  struct Promise {
    const char* name;
    Function function;
    double (*exact)(double, double);
    int low, high;  // exponents of the operands
    bool is_signed;
    double ulp = 4;
  };
  const Promise promises[] = {
      {"tan", Function::tan, [](double a, double) { return std::tan(a); }, -30, 14, true},
      {"asin", Function::asin, [](double a, double) { return std::asin(a); }, -30, 0, true},
      {"acos", Function::acos, [](double a, double) { return std::acos(a); }, -30, 0, true},
      {"atan", Function::atan, [](double a, double) { return std::atan(a); }, -30, 60, true},
      {"sinh", Function::sinh, [](double a, double) { return std::sinh(a); }, -30, 7, true},
      {"cosh", Function::cosh, [](double a, double) { return std::cosh(a); }, -30, 7, true},
      {"asinh", Function::asinh, [](double a, double) { return std::asinh(a); }, -30, 128, true},
      {"acosh", Function::acosh, [](double a, double) { return std::acosh(a); }, 0, 128, false},
      {"atanh", Function::atanh, [](double a, double) { return std::atanh(a); }, -30, 0, true},
      {"exp2", Function::exp2, [](double a, double) { return std::exp2(a); }, -30, 7, true},
      {"expm1", Function::expm1, [](double a, double) { return std::expm1(a); }, -30, 7, true},
      {"log2", Function::log2, [](double a, double) { return std::log2(a); }, -126, 128, false},
      {"log10", Function::log10, [](double a, double) { return std::log10(a); }, -126, 128, false},
      {"log1p", Function::log1p, [](double a, double) { return std::log1p(a); }, -126, 128, false},
      {"atan2", Function::atan2, [](double a, double b) { return std::atan2(a, b); }, -30, 30, true},
      {"fmod", Function::fmod, [](double a, double b) { return std::fmod(a, b); }, -60, 60, true, 0},
  };
  const Operands operands;
  for (const Promise& each : promises) {
    fill(operands.a, each.low, each.high, each.is_signed, 6);
    fill(operands.b, each.low, each.high, each.is_signed, 7);
    const double error = largest_error(each.function, operands, each.exact);
    MESSAGE("ulp of ", each.name, ": ", error);
    CHECK(error <= each.ulp);
  }
}
