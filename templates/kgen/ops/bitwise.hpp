// Bits of integers, lane by lane. Operands are vectors or scalars; of scalars alone, the result is a scalar.
#pragma once

#include <bit>
#include <cstdint>

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

// The count where it is from 0 to one less than the number of bits, else one that the processor takes.
template <class T, int W>
KGEN_FN Vec<T, W> defined_count(const Vec<T, W>& count) {
  return count & Vec<T, W>(static_cast<T>(8 * sizeof(T) - 1));
}
template <class T, int W>
KGEN_FN Vec<bool, W> is_defined(const Vec<T, W>& count) {
  return defined_count(count) == count;
}

template <class T, int W>
KGEN_FN Vec<T, W> shifted_left(const Vec<T, W>& x, const Vec<T, W>& count) {
  const auto shift = [](auto bits, auto by) KGEN_LAMBDA { return bits << by; };
  return select(is_defined(count), wrap(x, defined_count(count), shift), Vec<T, W>(0));
}

template <class T, int W>
KGEN_FN Vec<T, W> shifted_right(const Vec<T, W>& x, const Vec<T, W>& count) {
  const auto shift = [](auto bits, auto by) KGEN_LAMBDA { return bits >> by; };
  if constexpr (std::is_signed_v<T>) {  // by one less than the number of bits, the sign is what is left
    const Vec<T, W> most(static_cast<T>(8 * sizeof(T) - 1));
    return lanewise(x, select(is_defined(count), count, most), shift);
  } else {
    return select(is_defined(count), lanewise(x, defined_count(count), shift), Vec<T, W>(0));
  }
}

// Bytes that are shifted by one count go as words of 32 bits, without the bits that come from a neighbour: GCC 12 takes
// a vector of eight bytes apart. 33 million bytes, two shifts and an addition, took 31 ms and more on a Zen 3, and take
// 9 to 12.
template <class X, class Count>
inline constexpr bool shifts_words = false;
template <class T, int W>
inline constexpr bool shifts_words<Vec<T, W>, T> = sizeof(T) == 1 && W % 4 == 0;

template <class T, int W, class Shift>
KGEN_FN Vec<T, W> shifted_words(const Vec<T, W>& x, std::uint8_t kept, Shift shift) {
  const auto words = shift(std::bit_cast<Vec<std::uint32_t, W / 4>>(x));
  return std::bit_cast<Vec<T, W>>(words & Vec<std::uint32_t, W / 4>(kept * std::uint32_t{0x01010101}));
}
template <class T, int W>
KGEN_FN Vec<T, W> shifted_left(const Vec<T, W>& x, T count) {
  if ((count & 7) != count) return Vec<T, W>(0);
  const int by = count;
  const auto shift = [by](const auto& words) KGEN_LAMBDA { return words << by; };
  return shifted_words(x, static_cast<std::uint8_t>(0xff << by), shift);
}
template <class T, int W>
KGEN_FN Vec<T, W> shifted_right(const Vec<T, W>& x, T count) {
  const bool defined = (count & 7) == count;
  if (!defined && !std::is_signed_v<T>) return Vec<T, W>(0);
  const int by = defined ? count : 7;
  const auto shift = [by](const auto& words) KGEN_LAMBDA { return words >> by; };
  const auto bits = shifted_words(x, static_cast<std::uint8_t>(0xff >> by), shift);
  if constexpr (std::is_signed_v<T>) {
    const Vec<T, W> sign(static_cast<T>(0x80 >> by));  // where it is now; what lies above it is a copy of it
    return (bits ^ sign) - sign;
  } else {
    return bits;
  }
}

}  // namespace detail

// x times 2 to the power count, wrapping. A count that is negative, or not less than the number of bits, gives 0.
struct KGEN_KERNEL(shift_left) ShiftLeft {
  template <Integer X, Integer Count>
  static KGEN_FN auto apply(X x, Count count) {
    if constexpr (detail::shifts_words<X, Count>) {
      return detail::shifted_left(x, count);
    } else {
      return on_lanes([](auto v, auto by) KGEN_LAMBDA { return detail::shifted_left(v, by); }, x, count);
    }
  }
};

// x divided by 2 to the power count, rounded down. A count that is negative, or not less than the number of bits, gives
// 0, or -1 of a negative x.
struct KGEN_KERNEL(shift_right) ShiftRight {
  template <Integer X, Integer Count>
  static KGEN_FN auto apply(X x, Count count) {
    if constexpr (detail::shifts_words<X, Count>) {
      return detail::shifted_right(x, count);
    } else {
      return on_lanes([](auto v, auto by) KGEN_LAMBDA { return detail::shifted_right(v, by); }, x, count);
    }
  }
};

}  // namespace kgen
