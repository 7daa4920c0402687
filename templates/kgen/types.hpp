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

// A sign, `exponent_bits` and `mantissa_bits`, with subnormal numbers. Codes are without the sign.
struct F16Format {  // IEEE 754 binary16
  static constexpr int exponent_bits = 5, mantissa_bits = 10;
  static constexpr std::uint32_t greatest = 0x7bff, overflow = 0x7c00, nan = 0x7e00;
};
struct F8E4M3Format {  // OCP 8-bit floating point, E4M3: no infinity
  static constexpr int exponent_bits = 4, mantissa_bits = 3;
  static constexpr std::uint32_t greatest = 0x7e, overflow = greatest, nan = 0x7f;
};
struct F8E5M2Format {  // OCP 8-bit floating point, E5M2
  static constexpr int exponent_bits = 5, mantissa_bits = 2;
  static constexpr std::uint32_t greatest = 0x7b, overflow = greatest, nan = 0x7e;
};

// The bits of the float that a narrow code stands for.
template <class Format, class Bits>
KGEN_FN constexpr Bits widen_bits(Bits code) {
  constexpr int mantissa_bits = Format::mantissa_bits;
  constexpr int total_bits = Format::exponent_bits + mantissa_bits;
  constexpr int bias = (1 << (Format::exponent_bits - 1)) - 1;
  constexpr std::uint32_t sign_bit = 1u << total_bits;
  constexpr float least = as_float(static_cast<std::uint32_t>(127 + 1 - bias - mantissa_bits) << 23);
  const Bits magnitude = code & (sign_bit - 1);
  const Bits normal = (magnitude << (23 - mantissa_bits)) + (static_cast<std::uint32_t>(127 - bias) << 23);
  const Bits subnormal = as_bits(to_float(magnitude) * least);
  const Bits finite = select(magnitude < (1u << mantissa_bits), subnormal, normal);
  const Bits special = (magnitude << (23 - mantissa_bits)) | 0x7f800000u;  // infinity or NaN
  return select(magnitude > Format::greatest, special, finite) | ((code & sign_bit) << (31 - total_bits));
}

// The code nearest to the float with these bits, ties to even. Subnormal codes are rounded by the adder: at the
// exponent of `magic`, one unit in the last place is the least subnormal number.
template <class Format, class Bits>
KGEN_FN constexpr Bits narrow_bits(Bits bits) {
  constexpr int mantissa_bits = Format::mantissa_bits;
  constexpr int total_bits = Format::exponent_bits + mantissa_bits;
  constexpr int bias = (1 << (Format::exponent_bits - 1)) - 1;
  constexpr int dropped = 23 - mantissa_bits;
  constexpr std::uint32_t magic = static_cast<std::uint32_t>(127 + 24 - bias - mantissa_bits) << 23;
  const Bits magnitude = bits & 0x7fffffffu;
  const Bits rounded = (magnitude + ((1u << (dropped - 1)) - 1) + ((magnitude >> dropped) & 1u)) >> dropped;
  const Bits normal = rounded - (static_cast<std::uint32_t>(127 - bias) << mantissa_bits);
  const Bits subnormal = as_bits(as_float(magnitude) + as_float(magic)) - magic;
  const Bits code = select(magnitude < (static_cast<std::uint32_t>(128 - bias) << 23), subnormal, normal);
  const Bits finite = select(code > Format::greatest, Bits(Format::overflow), code);
  const Bits special = ((magnitude >> dropped) & ((1u << mantissa_bits) - 1)) | Format::nan;  // keeps a NaN's payload
  return select(magnitude > 0x7f800000u, special, finite) | ((bits >> (31 - total_bits)) & (1u << total_bits));
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

// ---- the storage types ----------------------------------------------------------------------------------------------

// IEEE binary16. Overflow gives infinity.
struct f16 {
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
  std::uint8_t bits;
  f8e4m3() = default;
  explicit constexpr f8e4m3(float value) : bits(static_cast<std::uint8_t>(narrow_bits<F8E4M3Format>(as_bits(value)))) {}
  constexpr operator float() const { return as_float(widen_bits<F8E4M3Format>(std::uint32_t{bits})); }
};

// OCP E5M2. Overflow and infinity saturate to +-57344, as a conversion with saturation does.
struct f8e5m2 {
  std::uint8_t bits;
  f8e5m2() = default;
  explicit constexpr f8e5m2(float value) : bits(static_cast<std::uint8_t>(narrow_bits<F8E5M2Format>(as_bits(value)))) {}
  constexpr operator float() const { return as_float(widen_bits<F8E5M2Format>(std::uint32_t{bits})); }
};

template <class T>
inline constexpr bool is_narrow_float =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, f8e4m3> || std::is_same_v<T, f8e5m2>;

// The type that arithmetic on elements of type T is done in.
template <class T>
using compute_t = std::conditional_t<is_narrow_float<std::remove_const_t<T>>, float, std::remove_const_t<T>>;

// The type that running sums of T are kept in.
template <class T>
using accumulator_t = std::conditional_t<!std::is_integral_v<T> || std::is_same_v<T, bool>, T,
                                         std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

}  // namespace kgen
