// Division with a remainder, lane by lane. Operands are vectors or scalars; of scalars alone, the result is a scalar.
// Integers give 0 for a division by 0, and the least integer divided by -1 is itself, with the remainder 0.
#pragma once

#include "kgen/elementary.hpp"
#include "kgen/introspect.hpp"
#include "kgen/vec.hpp"

namespace kgen {

namespace detail {

// The remainder of integers, with the sign of x.
template <std::integral T>
KGEN_FN T remainder(T x, T y) {
  if (y == 0 || (std::is_signed_v<T> && y == T(-1))) return 0;
  return static_cast<T>(x % y);
}

// Where the remainder of a division that truncates, r, is not that of one that rounds down.
template <class T, int W>
KGEN_FN Vec<bool, W> is_rounded_up(const Vec<T, W>& r, const Vec<T, W>& divisor) {
  const Vec<T, W> zero(0);
  return (r != zero) & ((r < zero) ^ (divisor < zero));
}

template <class T, int W>
KGEN_FN Vec<T, W> truncated_remainder(const Vec<T, W>& x, const Vec<T, W>& y) {
  if constexpr (std::is_floating_point_v<T>) {
    return fmod(x, y);
  } else {
    return by_lane(x, y, [](T a, T b) KGEN_LAMBDA { return remainder(a, b); });
  }
}

template <class T, int W>
KGEN_FN Vec<T, W> floored_remainder(const Vec<T, W>& x, const Vec<T, W>& y) {
  const Vec<T, W> r = truncated_remainder(x, y);
  const Vec<T, W> floored = r + select(is_rounded_up(r, y), y, Vec<T, W>(0));  // GCC 12 fails on a choice of r + y or r
  if constexpr (std::is_floating_point_v<T>) {
    return copysign(floored, y);  // which it has but for zeros
  } else {
    return floored;
  }
}

template <class T, int W>
KGEN_FN Vec<T, W> floored_quotient(const Vec<T, W>& x, const Vec<T, W>& y) {
  const Vec<T, W> r = truncated_remainder(x, y), one(1);
  if constexpr (std::is_floating_point_v<T>) {
    // x - r is a multiple of y, so that their quotient is whole but for what is rounded.
    const Vec<T, W> whole = round((x - r) / y);
    const Vec<T, W> floored = whole - select(is_rounded_up(r, y), one, Vec<T, W>(0));
    return select(y == Vec<T, W>(0), x / y, select(floored == Vec<T, W>(0), copysign(floored, x / y), floored));
  } else {
    return x / y - select(is_rounded_up(r, y), one, Vec<T, W>(0));
  }
}

}  // namespace detail

// What truncating division leaves: a - trunc(a / b) * b, exact, with the sign of a. Floats give NaN for b = 0 and
// infinite a.
struct KGEN_KERNEL(fmod) Fmod {
  template <Number A, Number B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return detail::truncated_remainder(x, y); }, a, b);
  }
};

// What flooring division leaves: a - floor(a / b) * b, with the sign of b. Floats give NaN for b = 0 and infinite a.
struct KGEN_KERNEL(mod) Mod {
  template <Number A, Number B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return detail::floored_remainder(x, y); }, a, b);
  }
};

// a / b, rounded down: (a - mod(a, b)) / b. Floats give an infinity or NaN for b = 0, and NaN for infinite a.
struct KGEN_KERNEL(floor_divide) FloorDivide {
  template <Number A, Number B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return detail::floored_quotient(x, y); }, a, b);
  }
};

}  // namespace kgen
