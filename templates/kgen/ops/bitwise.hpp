// Bits of integers, lane by lane. Operands are vectors or scalars; of scalars alone, the result is a scalar.
#pragma once

#include "kgen/introspect.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// The bits that both have.
struct KGEN_KERNEL(bitwise_and) BitwiseAnd {
  template <Integer A, Integer B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x & y; }, a, b);
  }
};

// The bits that either has.
struct KGEN_KERNEL(bitwise_or) BitwiseOr {
  template <Integer A, Integer B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x | y; }, a, b);
  }
};

// The bits that one of the two has.
struct KGEN_KERNEL(bitwise_xor) BitwiseXor {
  template <Integer A, Integer B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x ^ y; }, a, b);
  }
};

// Every bit the other way.
struct KGEN_KERNEL(bitwise_not) BitwiseNot {
  template <Integer X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return v ^ decltype(v)(-1); }, x);
  }
};

namespace detail {

// Where a count is from 0 to one less than the number of bits.
template <class T, int W>
KGEN_FN Vec<bool, W> shifts_within(const Vec<T, W>& count) {
  using Unsigned = std::make_unsigned_t<T>;
  return bit_cast<Unsigned>(count) < Vec<Unsigned, W>(static_cast<Unsigned>(8 * sizeof(T)));
}
// The count where it is, else one that the processor takes.
template <class T, int W>
KGEN_FN Vec<T, W> defined_count(const Vec<T, W>& count) {
  return count & Vec<T, W>(static_cast<T>(8 * sizeof(T) - 1));
}

template <class T, int W>
KGEN_FN Vec<T, W> shifted_left(const Vec<T, W>& x, const Vec<T, W>& count) {
  const auto shift = [](auto bits, auto by) KGEN_LAMBDA { return bits << by; };
  return select(shifts_within(count), wrap(x, defined_count(count), shift), Vec<T, W>(0));
}

template <class T, int W>
KGEN_FN Vec<T, W> shifted_right(const Vec<T, W>& x, const Vec<T, W>& count) {
  const auto shift = [](auto bits, auto by) KGEN_LAMBDA { return bits >> by; };
  const Vec<T, W> shifted = lanewise(x, defined_count(count), shift);
  if constexpr (std::is_signed_v<T>) {
    return select(shifts_within(count), shifted, select(x < Vec<T, W>(0), Vec<T, W>(-1), Vec<T, W>(0)));
  } else {
    return select(shifts_within(count), shifted, Vec<T, W>(0));
  }
}

}  // namespace detail

// x times 2 to the power count, wrapping. A count that is negative, or not less than the number of bits, gives 0.
struct KGEN_KERNEL(shift_left) ShiftLeft {
  template <Integer X, Integer Count>
  static KGEN_FN auto apply(X x, Count count) {
    return on_lanes([](auto v, auto by) KGEN_LAMBDA { return detail::shifted_left(v, by); }, x, count);
  }
};

// x divided by 2 to the power count, rounded down. A count that is negative, or not less than the number of bits, gives
// 0, or -1 of a negative x.
struct KGEN_KERNEL(shift_right) ShiftRight {
  template <Integer X, Integer Count>
  static KGEN_FN auto apply(X x, Count count) {
    return on_lanes([](auto v, auto by) KGEN_LAMBDA { return detail::shifted_right(v, by); }, x, count);
  }
};

}  // namespace kgen
