// What the kernel tests share: random tensors, poison, and distances.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kgen/view.hpp"

// The types of a TEST_CASE_TEMPLATE: KGEN_TYPES((few), others...). Each costs many compiled kernels, so that programs for
// which a type is not what they are about have the few alone, and that of the CPU's kernels the first of the others, too.
#define KGEN_THESE(...) __VA_ARGS__
#define KGEN_FIRST(first, ...) first
#if defined(KGEN_FEW_TYPES) && defined(KGEN_SIMT)
#define KGEN_TYPES(few, ...) KGEN_THESE few
#elif defined(KGEN_FEW_TYPES)
#define KGEN_TYPES(few, ...) KGEN_THESE few, KGEN_FIRST(__VA_ARGS__, )
#else
#define KGEN_TYPES(few, ...) KGEN_THESE few, __VA_ARGS__
#endif

namespace kgen::testing {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// What outputs hold before a kernel runs: a value that no test computes.
template <class T>
T poison() {
  if constexpr (std::is_same_v<T, bool>) {
    return false;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(-77);
  } else {
    return static_cast<T>(-77.0f);
  }
}

// Memory of a tensor: dense, row-major.
template <class T, int R>
struct Tensor {
  Index<R> shape;
  std::vector<T> elements;

  explicit Tensor(Index<R> extents)
      : shape(extents), elements(static_cast<std::size_t>(element_count(extents)), poison<T>()) {}
  View<T, R> view() { return {elements.data(), shape}; }
  View<const T, R> view() const { return {elements.data(), shape}; }
};

// Uniform in [low, high), rounded to T.
template <class T, int R>
Tensor<T, R> random_tensor(Index<R> shape, std::uint32_t seed, float low = -2, float high = 2) {
  Tensor<T, R> tensor(shape);
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  for (T& element : tensor.elements) element = static_cast<T>(distribution(generator));
  return tensor;
}

// One element, read by the plain formula.
template <class T, int R>
double element(const View<T, R>& view, Index<R> at) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < R; ++axis) offset += at[axis] * view.stride(axis);
  return static_cast<double>(view.data()[offset]);
}

// Calls body(at) for every position.
template <int R, class Body>
void for_each_position(const Index<R>& shape, const Body& body) {
  for (std::int64_t i = 0; i < element_count(shape); ++i) body(unflatten(i, shape));
}

// How far `value` is from the exact result, in units in the last place of T around it. 0 where both are NaN or the same
// infinity, huge where only one is.
template <class T>
double ulp_distance(T value, double exact) {
  if (std::isnan(value) || std::isnan(exact)) return std::isnan(value) && std::isnan(exact) ? 0 : 1e30;
  const T rounded = static_cast<T>(exact);
  if (std::isinf(value) || std::isinf(rounded)) return value == rounded ? 0 : 1e30;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int least = std::numeric_limits<T>::min_exponent;
  const double ulp = std::ldexp(1.0, std::max(exponent, least) - std::numeric_limits<T>::digits);
  return std::abs(static_cast<double>(value) - exact) / ulp;
}

}  // namespace kgen::testing
