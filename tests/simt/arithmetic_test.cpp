// What the GPU's arithmetic does in its own way, as far as a CPU can tell: the instructions themselves are a device's.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "kgen/ops/activation.hpp"

using namespace kgen;

namespace {

float distribution(float x) { return normal_distribution(Vec<float, 1>(x)).data; }

}  // namespace

TEST_CASE("arithmetic: the normal distribution function within 2e-7") {
  for (int i = -150000; i <= 150000; ++i) {
    const float x = static_cast<float>(i) * 1e-4f;
    const double expected = 0.5 * std::erfc(-static_cast<double>(x) / std::sqrt(2.0));
    REQUIRE_MESSAGE(std::abs(distribution(x) - expected) < 2e-7, "at ", x);
    const double gelu = Gelu::apply(Vec<float, 1>(x)).data;
    REQUIRE_MESSAGE(std::abs(gelu - x * expected) < 2e-7 * (1 + std::abs(x * expected)), "gelu at ", x);
  }
}

TEST_CASE("arithmetic: the normal distribution function at its ends") {
  constexpr float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
  for (const float x : {20.0f, 1e10f, largest, infinity}) {
    CHECK(distribution(x) == 1);
    CHECK(distribution(-x) == 0);
  }
  CHECK(std::isnan(distribution(std::numeric_limits<float>::quiet_NaN())));
  CHECK(Gelu::apply(Vec<float, 1>(infinity)).data == infinity);
  CHECK(Gelu::apply(Vec<float, 1>(0.0f)).data == 0);
  CHECK(normal_distribution(Vec<double, 1>(-6.0)).data == doctest::Approx(9.865876450376981e-10).epsilon(1e-12));
}
