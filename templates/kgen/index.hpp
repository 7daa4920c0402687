// A position in, or the extents of, a tensor of R axes.
#pragma once

#include <cstdint>

#include "kgen/platform.hpp"

namespace kgen {

template <int R>
struct Index {
  std::int64_t values[R];

  KGEN_FN constexpr std::int64_t& operator[](int axis) { return values[axis]; }
  KGEN_FN constexpr std::int64_t operator[](int axis) const { return values[axis]; }
  friend constexpr bool operator==(const Index&, const Index&) = default;
};

template <>
struct Index<0> {
  KGEN_FN std::int64_t operator[](int) const { __builtin_unreachable(); }
  KGEN_FN std::int64_t& operator[](int) { __builtin_unreachable(); }
  friend constexpr bool operator==(const Index&, const Index&) = default;
};

template <class... Extents>
Index(Extents...) -> Index<sizeof...(Extents)>;

// Numbers by axis, such as factors.
template <int N>
struct Numbers {
  double values[N];

  KGEN_FN constexpr double operator[](int axis) const { return values[axis]; }
};

// The greatest whole number that is at most a / b; 0 where b is 0. For sizes whose numerator may be negative.
KGEN_FN constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The number of positions within these extents; 1 for a scalar.
template <int R>
KGEN_FN constexpr std::int64_t element_count(const Index<R>& extents) {
  std::int64_t count = 1;
  for (int axis = 0; axis < R; ++axis) count *= extents[axis];
  return count;
}

// The number of a position in row-major order.
template <int R>
KGEN_FN constexpr std::int64_t flatten(const Index<R>& at, const Index<R>& extents) {
  std::int64_t linear = 0;
  for (int axis = 0; axis < R; ++axis) linear = linear * extents[axis] + at[axis];
  return linear;
}

// The position that row-major order gives the number `linear`.
template <int R>
KGEN_FN constexpr Index<R> unflatten(std::int64_t linear, const Index<R>& extents) {
  Index<R> at{};
  for (int axis = R - 1; axis > 0; --axis) {
    at[axis] = linear % extents[axis];
    linear /= extents[axis];
  }
  if constexpr (R > 0) at[0] = linear;
  return at;
}

// Moves to the next position in row-major order, over the first `axes` axes of the box from `begin` to `end`. False,
// and back at the start, after the last position.
template <int R>
KGEN_FN constexpr bool advance(Index<R>& at, int axes, const Index<R>& begin, const Index<R>& end) {
  for (int axis = axes - 1; axis >= 0; --axis) {
    if (++at[axis] < end[axis]) return true;
    at[axis] = begin[axis];
  }
  return false;
}

// The last N, or the first N, of R axes.
template <int N, int R>
KGEN_FN constexpr Index<N> last_axes(const Index<R>& index) {
  Index<N> result{};
  for (int axis = 0; axis < N; ++axis) result[axis] = index[R - N + axis];
  return result;
}
template <int N, int R>
KGEN_FN constexpr Index<N> first_axes(const Index<R>& index) {
  Index<N> result{};
  for (int axis = 0; axis < N; ++axis) result[axis] = index[axis];
  return result;
}

template <int A, int B>
KGEN_FN constexpr Index<A + B> join(const Index<A>& first, const Index<B>& last) {
  Index<A + B> result{};
  for (int axis = 0; axis < A; ++axis) result[axis] = first[axis];
  for (int axis = 0; axis < B; ++axis) result[A + axis] = last[axis];
  return result;
}

}  // namespace kgen
