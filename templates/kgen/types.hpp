// The floats narrower than 32 bits: storage only, arithmetic on them is done in float. Conversions are exact where the
// value fits, else round to nearest even.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kgen/platform.hpp"

namespace kgen {

// ---- one conversion text for scalars and for vectors
// ----------------------------------------------------------------- `Bits` below is std::uint32_t or Vec<std::uint32_t,
// W>; vec.hpp declares these four for the vectors.

KGEN_FN constexpr float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
KGEN_FN constexpr std::uint32_t as_bits(float value) { return std::bit_cast<std::uint32_t>(value); }
KGEN_FN constexpr float to_float(std::uint32_t value) { return static_cast<float>(static_cast<std::int32_t>(value)); }
KGEN_FN constexpr std::uint32_t select(bool condition, std::uint32_t a, std::uint32_t b) { return condition ? a : b; }

// A sign, `exponent_bits` and `mantissa_bits`, with subnormal numbers. Codes are without the sign: `greatest` is the
// last finite number, `overflow` what lies beyond it becomes where a conversion saturates, `beyond` where it does not,
// and `nan` a NaN, or 0 where there is none and it becomes that. Where `has_one_nan`, the code of -0 is the only NaN,
// and there is no -0.
struct F16Format {  // IEEE 754 binary16
  static constexpr int exponent_bits = 5, mantissa_bits = 10, bias = 15;
  static constexpr std::uint32_t greatest = 0x7bff, overflow = 0x7c00, beyond = 0x7c00, nan = 0x7e00;
  static constexpr bool has_one_nan = false;
};
struct F8E4M3Format {  // OCP 8-bit floating point, E4M3: no infinity
  static constexpr int exponent_bits = 4, mantissa_bits = 3, bias = 7;
  static constexpr std::uint32_t greatest = 0x7e, overflow = greatest, beyond = 0x7f, nan = 0x7f;
  static constexpr bool has_one_nan = false;
};
struct F8E5M2Format {  // OCP 8-bit floating point, E5M2
  static constexpr int exponent_bits = 5, mantissa_bits = 2, bias = 15;
  static constexpr std::uint32_t greatest = 0x7b, overflow = greatest, beyond = 0x7c, nan = 0x7e;
  static constexpr bool has_one_nan = false;
};
// https://arxiv.org/abs/2206.02915: neither infinity nor -0, and exponents one lower.
struct F8E4M3FnuzFormat {
  static constexpr int exponent_bits = 4, mantissa_bits = 3, bias = 8;
  static constexpr std::uint32_t greatest = 0x7f, overflow = greatest, beyond = 0x80, nan = 0x80;
  static constexpr bool has_one_nan = true;
};
struct F8E5M2FnuzFormat {
  static constexpr int exponent_bits = 5, mantissa_bits = 2, bias = 16;
  static constexpr std::uint32_t greatest = 0x7f, overflow = greatest, beyond = 0x80, nan = 0x80;
  static constexpr bool has_one_nan = true;
};
struct F4E2M1Format {  // OCP microscaling formats, E2M1: finite numbers alone
  static constexpr int exponent_bits = 2, mantissa_bits = 1, bias = 1;
  static constexpr std::uint32_t greatest = 0x7, overflow = greatest, beyond = greatest, nan = 0;
  static constexpr bool has_one_nan = false;
};

// The bits of the float that a narrow code stands for.
template <class Format, class Bits>
KGEN_FN constexpr Bits widen_bits(Bits code) {
  constexpr int mantissa_bits = Format::mantissa_bits;
  constexpr int total_bits = Format::exponent_bits + mantissa_bits;
  constexpr std::uint32_t sign_bit = 1u << total_bits;
  constexpr float least = as_float(static_cast<std::uint32_t>(127 + 1 - Format::bias - mantissa_bits) << 23);
  const Bits magnitude = code & (sign_bit - 1);
  const Bits normal = (magnitude << (23 - mantissa_bits)) + (static_cast<std::uint32_t>(127 - Format::bias) << 23);
  const Bits subnormal = as_bits(to_float(magnitude) * least);
  const Bits finite = select(magnitude < (1u << mantissa_bits), subnormal, normal);
  const Bits sign = (code & sign_bit) << (31 - total_bits);
  if constexpr (Format::has_one_nan) {
    return select(code == Format::nan, Bits(0x7fc00000u), finite | sign);
  } else {
    const Bits special = (magnitude << (23 - mantissa_bits)) | 0x7f800000u;  // infinity or NaN
    return select(magnitude > Format::greatest, special, finite) | sign;
  }
}

// The code nearest to the float with these bits, ties to even. Subnormal codes are rounded by the adder: at the
// exponent of `magic`, one unit in the last place is the least subnormal number.
template <class Format, bool Saturate = true, class Bits>
KGEN_FN constexpr Bits narrow_bits(Bits bits) {
  constexpr int mantissa_bits = Format::mantissa_bits;
  constexpr int total_bits = Format::exponent_bits + mantissa_bits;
  constexpr int bias = Format::bias;
  constexpr int dropped = 23 - mantissa_bits;
  constexpr std::uint32_t magic = static_cast<std::uint32_t>(127 + 24 - bias - mantissa_bits) << 23;
  constexpr std::uint32_t overflow = Saturate ? Format::overflow : Format::beyond;
  const Bits magnitude = bits & 0x7fffffffu;
  const Bits rounded = (magnitude + ((1u << (dropped - 1)) - 1) + ((magnitude >> dropped) & 1u)) >> dropped;
  const Bits normal = rounded - (static_cast<std::uint32_t>(127 - bias) << mantissa_bits);
  const Bits subnormal = as_bits(as_float(magnitude) + as_float(magic)) - magic;
  const Bits code = select(magnitude < (static_cast<std::uint32_t>(128 - bias) << 23), subnormal, normal);
  const Bits finite = select(code > Format::greatest, Bits(overflow), code);
  const Bits sign = (bits >> (31 - total_bits)) & (1u << total_bits);
  if constexpr (Format::has_one_nan) {
    return select(magnitude > 0x7f800000u, Bits(Format::nan), finite | select(finite == 0u, Bits(0u), sign));
  } else if constexpr (Format::nan == 0) {
    return select(magnitude > 0x7f800000u, Bits(0u), finite | sign);
  } else {
    const Bits special = ((magnitude >> dropped) & ((1u << mantissa_bits) - 1)) | Format::nan;  // keeps a NaN's payload
    return select(magnitude > 0x7f800000u, special, finite) | sign;
  }
}

// bf16 is the upper half of a float.
template <class Bits>
KGEN_FN constexpr Bits widen_bf16_bits(Bits code) {
  return code << 16;
}
template <class Bits>
KGEN_FN constexpr Bits narrow_bf16_bits(Bits bits) {
  const Bits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return select((bits & 0x7fffffffu) > 0x7f800000u, (bits >> 16) | 0x40u, rounded);
}

// How a conversion to f8e8m0 rounds: to the nearer power of two (a tie to the greater), or to the next one above or
// below.
enum class Rounding { nearest, up, down };

// OCP E8M0: powers of two from 2^-127, whose code is 0, to 2^127, and NaN. 2^-127 is a subnormal float.
template <class Bits>
KGEN_FN constexpr Bits widen_e8m0_bits(Bits code) {
  const Bits finite = select(code == 0u, Bits(0x00400000u), code << 23);
  return select(code == 0xffu, Bits(0x7fc00000u), finite);
}
// What lies beyond the powers, 0 and infinity among it, becomes the first or the last of them (Saturate), else NaN.
// Numbers below 0 become NaN.
template <bool Saturate = true, class Bits>
KGEN_FN constexpr Bits narrow_e8m0_bits(Bits bits, Rounding rounding) {
  const std::uint32_t raise = rounding == Rounding::up ? 0x7fffffu : rounding == Rounding::down ? 0u : 0x400000u;
  const std::uint32_t second = rounding == Rounding::up     ? 0x400001u  // the first float that becomes 2^-126
                               : rounding == Rounding::down ? 0x800000u
                                                            : 0x600000u;
  const Bits magnitude = bits & 0x7fffffffu;
  const Bits low = select(magnitude < second, Bits(0u), Bits(1u));
  const Bits power = select(magnitude < 0x800000u, low, (magnitude + raise) >> 23);
  const Bits last = Bits(Saturate ? 0xfeu : 0xffu);
  const Bits first = select(magnitude < 0x400000u, Bits(Saturate ? 0u : 0xffu), power);
  const Bits code = select(magnitude == 0x7f800000u, last, select(first > 0xfeu, last, first));
  const Bits refused = select(bits > 0x80000000u, Bits(0xffu), code);
  return select(magnitude > 0x7f800000u, Bits(0xffu), refused);
}

// ---- the storage types ----------------------------------------------------------------------------------------------

// IEEE binary16. Overflow gives infinity.
struct f16 {
  using format = F16Format;
  std::uint16_t bits;
  f16() = default;
  explicit constexpr f16(float value) : bits(static_cast<std::uint16_t>(narrow_bits<F16Format>(as_bits(value)))) {}
  constexpr operator float() const { return as_float(widen_bits<F16Format>(std::uint32_t{bits})); }
};

// bfloat16. Overflow gives infinity.
struct bf16 {
  std::uint16_t bits;
  bf16() = default;
  explicit constexpr bf16(float value) : bits(static_cast<std::uint16_t>(narrow_bf16_bits(as_bits(value)))) {}
  constexpr operator float() const { return as_float(widen_bf16_bits(std::uint32_t{bits})); }
};

// OCP E4M3: finite values and NaN. Overflow and infinity saturate to +-448.
struct f8e4m3 {
  using format = F8E4M3Format;
  std::uint8_t bits;
  f8e4m3() = default;
  explicit constexpr f8e4m3(float value) : bits(static_cast<std::uint8_t>(narrow_bits<F8E4M3Format>(as_bits(value)))) {}
  constexpr operator float() const { return as_float(widen_bits<F8E4M3Format>(std::uint32_t{bits})); }
};

// OCP E5M2. Overflow and infinity saturate to +-57344, as a conversion with saturation does.
struct f8e5m2 {
  using format = F8E5M2Format;
  std::uint8_t bits;
  f8e5m2() = default;
  explicit constexpr f8e5m2(float value) : bits(static_cast<std::uint8_t>(narrow_bits<F8E5M2Format>(as_bits(value)))) {}
  constexpr operator float() const { return as_float(widen_bits<F8E5M2Format>(std::uint32_t{bits})); }
};

// E4M3 without infinity and -0. Overflow and infinity saturate to +-240.
struct f8e4m3fnuz {
  using format = F8E4M3FnuzFormat;
  std::uint8_t bits;
  f8e4m3fnuz() = default;
  explicit constexpr f8e4m3fnuz(float value) : bits(static_cast<std::uint8_t>(narrow_bits<format>(as_bits(value)))) {}
  constexpr operator float() const { return as_float(widen_bits<format>(std::uint32_t{bits})); }
};

// E5M2 without infinity and -0. Overflow and infinity saturate to +-57344.
struct f8e5m2fnuz {
  using format = F8E5M2FnuzFormat;
  std::uint8_t bits;
  f8e5m2fnuz() = default;
  explicit constexpr f8e5m2fnuz(float value) : bits(static_cast<std::uint8_t>(narrow_bits<format>(as_bits(value)))) {}
  constexpr operator float() const { return as_float(widen_bits<format>(std::uint32_t{bits})); }
};

// OCP E8M0, the scale of a block: a power of two. Rounds to the nearer one and saturates.
struct f8e8m0 {
  std::uint8_t bits;
  f8e8m0() = default;
  explicit constexpr f8e8m0(float value)
      : bits(static_cast<std::uint8_t>(narrow_e8m0_bits(as_bits(value), Rounding::nearest))) {}
  constexpr operator float() const { return as_float(widen_e8m0_bits(std::uint32_t{bits})); }
};

// ---- packed types: several elements a byte, the first in its lowest bits. One alone stands in the lowest bits of a
// byte, whose others are 0. In memory a PackedPointer (kgen/packed.hpp) leads to them.

// OCP E2M1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. What lies beyond saturates, and NaN becomes 0.
struct f4e2m1 {
  using format = F4E2M1Format;
  std::uint8_t bits;
  f4e2m1() = default;
  explicit constexpr f4e2m1(float value) : bits(static_cast<std::uint8_t>(narrow_bits<format>(as_bits(value)))) {}
  constexpr operator float() const { return as_float(widen_bits<format>(std::uint32_t{bits})); }
};

// An integer of a few bits. Others wrap.
template <int Width, bool IsSigned>
struct PackedInteger {
  static constexpr int width = Width;
  using lane_type = std::conditional_t<IsSigned, std::int8_t, std::uint8_t>;
  std::uint8_t bits;
  PackedInteger() = default;
  explicit constexpr PackedInteger(int value) : bits(static_cast<std::uint8_t>(value & ((1 << Width) - 1))) {}
  constexpr operator lane_type() const {
    constexpr int sign = IsSigned ? 1 << (Width - 1) : 0;
    return static_cast<lane_type>((bits ^ sign) - sign);
  }
};
struct i4 : PackedInteger<4, true> {
  using PackedInteger::PackedInteger;
};
struct u4 : PackedInteger<4, false> {
  using PackedInteger::PackedInteger;
};
struct i2 : PackedInteger<2, true> {
  using PackedInteger::PackedInteger;
};
struct u2 : PackedInteger<2, false> {
  using PackedInteger::PackedInteger;
};

template <class T, class... Types>
inline constexpr bool is_one_of = (std::is_same_v<T, Types> || ...);

template <class T>
inline constexpr bool is_packed_integer = is_one_of<T, i4, u4, i2, u2>;

// How many bits an element takes in memory.
template <class T>
inline constexpr int element_bits = 8 * static_cast<int>(sizeof(T));
template <>
inline constexpr int element_bits<f4e2m1> = 4;
template <>
inline constexpr int element_bits<i4> = 4;
template <>
inline constexpr int element_bits<u4> = 4;
template <>
inline constexpr int element_bits<i2> = 2;
template <>
inline constexpr int element_bits<u2> = 2;

template <class T>
inline constexpr bool is_packed = element_bits<std::remove_const_t<T>> < 8;

template <class T>
inline constexpr bool is_narrow_float = is_one_of<T, f16, bf16, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0, f4e2m1>;

// Types that are only stored, moved and converted: no operator computes on them.
template <class T>
inline constexpr bool is_storage_only = is_packed<T> || std::is_same_v<T, f8e8m0>;

namespace detail {
template <class T>
struct ComputeType {
  using type = std::conditional_t<is_narrow_float<T>, float, T>;
};
template <class T>
requires is_packed_integer<T>
struct ComputeType<T> {
  using type = typename T::lane_type;
};
}  // namespace detail

// The type that arithmetic on elements of type T is done in.
template <class T>
using compute_t = typename detail::ComputeType<std::remove_const_t<T>>::type;

// The type that running sums of T are kept in.
template <class T>
using accumulator_t = std::conditional_t<!std::is_integral_v<T> || std::is_same_v<T, bool>, T,
                                         std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

}  // namespace kgen
