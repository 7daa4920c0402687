// The narrow floats, exhaustively, against their definitions.
#include <bit>
#include <string>

#include "kgen/convert.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  bool has_infinity;  // else all ones is NaN, and the rest of that exponent is numbers
};

// The value of a code by the definition of the format.
double decode(Format format, std::uint32_t code) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint32_t mantissa = code & ((1u << format.mantissa_bits) - 1);
  const std::uint32_t exponent = (code >> format.mantissa_bits) & ((1u << format.exponent_bits) - 1);
  const std::uint32_t all_ones = (1u << format.exponent_bits) - 1;
  const double sign = (code >> (format.exponent_bits + format.mantissa_bits)) & 1 ? -1 : 1;
  if (exponent == all_ones) {
    if (format.has_infinity) return mantissa == 0 ? sign * infinity : not_a_number;
    if (mantissa == (1u << format.mantissa_bits) - 1) return not_a_number;
  }
  const double fraction = std::ldexp(static_cast<double>(mantissa), -format.mantissa_bits);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, static_cast<int>(exponent) - bias);
}

template <class T>
T from_bits(std::uint32_t code) {
  T value;
  value.bits = static_cast<decltype(T::bits)>(code);
  return value;
}

// What a store of one float gives, by the scalar conversion and by those of vectors of several widths.
template <class T>
std::uint32_t narrowed(float value) {
  const std::uint32_t scalar = T(value).bits;
  T stored[64];
  store_elements(stored, Vec<float, 1>(value));
  REQUIRE(stored[0].bits == scalar);
  store_elements(stored, Vec<float, 4>(value));
  REQUIRE(stored[3].bits == scalar);
  store_elements(stored, Vec<float, 16>(value));
  REQUIRE(stored[15].bits == scalar);
  return scalar;
}

template <class T>
void check_widening(Format format) {
  const std::uint32_t codes = 1u << (8 * sizeof(T));
  std::vector<T> all(codes);
  for (std::uint32_t code = 0; code < codes; ++code) all[code] = from_bits<T>(code);
  for (std::uint32_t code = 0; code < codes; ++code) {
    const double expected = decode(format, code);
    const float values[] = {static_cast<float>(all[code]), load_elements<1>(&all[code]).data,
                            load_elements<16>(&all[code & ~15u])[code & 15],
                            load_elements<2>(&all[code & ~1u])[code & 1],
                            load_elements<64>(&all[code & ~63u])[code & 63]};
    for (float value : values) {
      INFO("code ", code, " value ", value, " expected ", expected);
      if (std::isnan(expected)) {
        REQUIRE(std::isnan(value));
      } else {
        REQUIRE(std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(static_cast<float>(expected)));
      }
    }
  }
}

// Every number, every midpoint between neighbours, and what lies next to it on both sides; both signs.
template <class T>
void check_narrowing(Format format, std::uint32_t greatest) {
  const std::uint32_t sign = 1u << (8 * sizeof(T) - 1);
  for (std::uint32_t code = 0; code < greatest; ++code) {
    const float low = static_cast<float>(decode(format, code)), high = static_cast<float>(decode(format, code + 1));
    const float middle = low + (high - low) / 2;  // exact
    const std::uint32_t even = code % 2 == 0 ? code : code + 1;
    INFO("code ", code);
    REQUIRE(narrowed<T>(low) == code);
    REQUIRE(narrowed<T>(-low) == (code | sign));
    REQUIRE(narrowed<T>(middle) == even);
    REQUIRE(narrowed<T>(-middle) == (even | sign));
    REQUIRE(narrowed<T>(std::nextafter(middle, 0.0f)) == code);
    REQUIRE(narrowed<T>(std::nextafter(middle, infinity)) == code + 1);
    REQUIRE(narrowed<T>(-std::nextafter(middle, infinity)) == ((code + 1) | sign));
  }
  REQUIRE(narrowed<T>(static_cast<float>(decode(format, greatest))) == greatest);
  CHECK(std::isnan(static_cast<float>(from_bits<T>(narrowed<T>(not_a_number)))));
  CHECK(std::isnan(static_cast<float>(from_bits<T>(narrowed<T>(-not_a_number)))));
  CHECK(std::isnan(static_cast<float>(from_bits<T>(narrowed<T>(std::bit_cast<float>(0x7f800001u))))));
  CHECK(std::isnan(static_cast<float>(from_bits<T>(narrowed<T>(std::bit_cast<float>(0xffffffffu))))));
}

}  // namespace

TEST_CASE("f16 is IEEE binary16") {
  const Format format{5, 10, true};
  check_widening<f16>(format);
  check_narrowing<f16>(format, 0x7bff);
  CHECK(narrowed<f16>(65519.996f) == 0x7bff);
  CHECK(narrowed<f16>(65520.0f) == 0x7c00);  // the midpoint to 65536 goes to even: infinity
  CHECK(narrowed<f16>(-1e30f) == 0xfc00);
  CHECK(narrowed<f16>(infinity) == 0x7c00);
}

TEST_CASE("bf16 is the upper half of a float") {
  const Format format{8, 7, true};
  check_widening<bf16>(format);
  check_narrowing<bf16>(format, 0x7f7f);
  CHECK(narrowed<bf16>(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(narrowed<bf16>(-infinity) == 0xff80);
}

TEST_CASE("f8e4m3 is OCP E4M3, and saturates") {
  const Format format{4, 3, false};
  CHECK(decode(format, 0x7e) == 448);
  check_widening<f8e4m3>(format);
  check_narrowing<f8e4m3>(format, 0x7e);
  CHECK(narrowed<f8e4m3>(465.0f) == 0x7e);
  CHECK(narrowed<f8e4m3>(1e30f) == 0x7e);
  CHECK(narrowed<f8e4m3>(-infinity) == 0xfe);
}

TEST_CASE("f8e5m2 is OCP E5M2, and saturates") {
  const Format format{5, 2, true};
  CHECK(decode(format, 0x7b) == 57344);
  check_widening<f8e5m2>(format);
  check_narrowing<f8e5m2>(format, 0x7b);
  CHECK(narrowed<f8e5m2>(61440.0f) == 0x7b);
  CHECK(narrowed<f8e5m2>(-infinity) == 0xfb);
}

TEST_CASE("doubles and 32-bit integers become narrow floats by rounding once") {
  // 1 + 2^-8 + 2^-40 is above the midpoint of two bf16 neighbours; rounded to float first, it would be at the midpoint.
  const double above = 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40);
  bf16 narrow[4];
  store_elements(narrow, Vec<double, 4>(above));
  CHECK(static_cast<float>(narrow[3]) == 1.0078125f);
  store_elements(narrow, Vec<double, 4>(-(above - std::ldexp(1.0, -39))));
  CHECK(static_cast<float>(narrow[0]) == -1.0f);
  store_elements(narrow, Vec<std::int32_t, 4>((1 << 28) + (1 << 20) + 1));
  CHECK(static_cast<float>(narrow[2]) == static_cast<float>((1 << 28) + (1 << 21)));
  f16 half[1];
  store_elements(half, Vec<double, 1>(1e300));
  CHECK(half[0].bits == 0x7c00);
  store_elements(half, Vec<double, 1>(std::numeric_limits<double>::quiet_NaN()));
  CHECK(std::isnan(static_cast<float>(half[0])));
  store_elements(half, Vec<double, 1>(-1e-300));
  CHECK(half[0].bits == 0x8000);
}

TEST_CASE("conversions are constant expressions") {
  static_assert(static_cast<float>(bf16(1.00390625f)) == 1.0f);
  static_assert(static_cast<float>(f16(1.0009765625f)) == 1.0009765625f);
  static_assert(static_cast<float>(f8e4m3(0.3f)) == 0.3125f);
  static_assert(static_cast<float>(f8e5m2(1e9f)) == 57344.0f);
}
