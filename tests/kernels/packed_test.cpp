// Types of a byte and less: what their codes stand for, by the definitions of their formats, and memory in which
// several elements share a byte.
#include "kgen/packed.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#include "kgen/elementwise.hpp"
#include "kgen/ops/conversion.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// A float without infinities: its fields, and the code that is NaN (-1: none).
struct Format {
  int exponent_bits, mantissa_bits, bias, nan;

  int codes() const { return 2 << (exponent_bits + mantissa_bits); }
  double decode(int code) const {
    if (code == nan) return not_a_number;
    const int magnitude = code % (codes() / 2), mantissa = magnitude % (1 << mantissa_bits);
    const int exponent = magnitude >> mantissa_bits;
    const double fraction = std::ldexp(mantissa, -mantissa_bits) + (exponent == 0 ? 0 : 1);
    return (code < codes() / 2 ? 1 : -1) * std::ldexp(fraction, std::max(exponent, 1) - bias);
  }
};

template <class T>
T from_bits(int code) {
  T value;
  value.bits = static_cast<std::uint8_t>(code);
  return value;
}

// The code that a store of the float gives, by the scalar conversion and by those of vectors.
template <class T>
int narrowed(float value) {
  const int scalar = T(value).bits;
  std::uint8_t stored[64] = {};
  const View<T, 1> view(reinterpret_cast<T*>(stored), {64});
  const auto first_code = [&]() { return stored[0] & ((1 << element_bits<T>)-1); };
  view.store(Index<1>{0}, Vec<float, 1>(value));
  REQUIRE(first_code() == scalar);
  view.store(Index<1>{0}, Vec<float, 4>(value));
  REQUIRE(first_code() == scalar);
  view.store(Index<1>{0}, Vec<float, 16>(value));
  REQUIRE(first_code() == scalar);
  return scalar;
}

// Every code, every midpoint between two, and what lies next to it.
template <class T>
void check_format(const Format& format) {
  const int sign = format.codes() / 2;
  const bool minus_zero = format.nan != sign;
  for (int code = 0; code < format.codes(); ++code) {
    const double expected = format.decode(code);
    const auto value = static_cast<float>(from_bits<T>(code));
    INFO("code ", code, " value ", value, " expected ", expected);
    if (std::isnan(expected)) {
      CHECK(std::isnan(value));
    } else {
      REQUIRE(std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(static_cast<float>(expected)));
    }
  }
  const int greatest = format.nan == sign - 1 ? sign - 2 : sign - 1;
  for (int code = 0; code < greatest; ++code) {
    const auto low = static_cast<float>(format.decode(code)), high = static_cast<float>(format.decode(code + 1));
    const float middle = (low + high) / 2;
    const int even = code % 2 == 0 ? code : code + 1;
    INFO("code ", code);
    REQUIRE(narrowed<T>(low) == code);
    REQUIRE(narrowed<T>(middle) == even);
    REQUIRE(narrowed<T>(-middle) == (even == 0 && !minus_zero ? 0 : (even | sign)));
    REQUIRE(narrowed<T>(std::nextafter(middle, 0.0f)) == code);
    REQUIRE(narrowed<T>(std::nextafter(middle, infinity)) == code + 1);
    REQUIRE(narrowed<T>(-std::nextafter(middle, infinity)) == ((code + 1) | sign));
  }
  CHECK(narrowed<T>(1e30f) == greatest);
  CHECK(narrowed<T>(-infinity) == (greatest | sign));
  CHECK(narrowed<T>(not_a_number) == std::max(format.nan, 0));
  CHECK(narrowed<T>(-0.0f) == (minus_zero ? sign : 0));
}

template <class T>
std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(generator());
  return bytes;
}

// The code of an element, read by the plain formula.
template <class T>
int code_at(const std::vector<std::uint8_t>& bytes, std::int64_t element) {
  constexpr int bits = element_bits<T>;
  const auto bit = static_cast<std::size_t>(element * bits);
  return bytes[bit / 8] >> bit % 8 & ((1 << bits) - 1);
}

template <class T>
compute_t<T> value_of(int code) {
  return static_cast<compute_t<T>>(from_bits<T>(code));
}

template <int W, class T>
void check_runs(std::int64_t step) {
  std::vector<std::uint8_t> bytes = random_bytes<T>(96, 7);
  for (std::int64_t first = 0; first < 9; ++first) {
    const View<T, 1> view(PackedPointer<T>(reinterpret_cast<T*>(bytes.data())) + first, {W}, {step});
    const auto lanes = view.template load<W>(Index<1>{0});
    for (int i = 0; i < W; ++i) REQUIRE(lanes[i] == value_of<T>(code_at<T>(bytes, first + i * step)));
    std::vector<std::uint8_t> before = random_bytes<T>(96, 8), after = before;
    const View<T, 1> to(PackedPointer<T>(reinterpret_cast<T*>(after.data())) + first, {W}, {step});
    to.store(Index<1>{0}, lanes);
    for (std::int64_t element = 0; element < 96 * 8 / element_bits<T>; ++element) {
      const std::int64_t lane = (element - first) / step;
      const bool written = element >= first && (element - first) % step == 0 && lane < W;
      REQUIRE(code_at<T>(after, element) == code_at<T>(written ? bytes : before, element));
    }
  }
}

}  // namespace

TEST_CASE("f8e4m3fnuz, f8e5m2fnuz and f4e2m1 are as their definitions say") {
  check_format<f8e4m3fnuz>({4, 3, 8, 0x80});
  check_format<f8e5m2fnuz>({5, 2, 16, 0x80});
  check_format<f4e2m1>({2, 1, 1, -1});
  CHECK(narrowed<f8e4m3fnuz>(248.0f) == 0x7f);
}

TEST_CASE("what does not saturate becomes infinity or NaN") {
  const auto code = [](auto narrow, float x) { return narrow.apply(Vec<float, 8>(x))[5]; };
  using enum Rounding;
  CHECK(std::isnan(code(Narrow<f8e4m3>{false, nearest}, 465.0f)));
  CHECK(code(Narrow<f8e4m3>{false, nearest}, 464.0f) == 448.0f);
  CHECK(code(Narrow<f8e4m3>{true, nearest}, 465.0f) == 448.0f);
  CHECK(code(Narrow<f8e5m2>{false, nearest}, -61440.0f) == -infinity);
  CHECK(code(Narrow<f8e5m2>{false, nearest}, 61439.0f) == 57344.0f);
  CHECK(std::isnan(code(Narrow<f8e4m3fnuz>{false, nearest}, infinity)));
  CHECK(std::isnan(code(Narrow<f8e5m2fnuz>{false, nearest}, -1e9f)));
  CHECK(code(Narrow<f4e2m1>{false, nearest}, 100.0f) == 6.0f);
}

TEST_CASE("f8e8m0 has powers of two") {
  for (int code = 0; code < 255; ++code) {
    const double power = std::ldexp(1.0, code - 127);
    INFO("code ", code);
    REQUIRE(static_cast<float>(from_bits<f8e8m0>(code)) == static_cast<float>(power));
    REQUIRE(narrowed<f8e8m0>(static_cast<float>(power)) == code);
    if (code < 254) {
      const auto middle = static_cast<float>(power * 1.5);
      REQUIRE(narrowed<f8e8m0>(middle) == code + 1);
      REQUIRE(narrowed<f8e8m0>(std::nextafter(middle, 0.0f)) == code);
      const auto above = Vec<float, 4>(std::nextafter(static_cast<float>(power), infinity));
      REQUIRE(Narrow<f8e8m0>{true, Rounding::up}.apply(above)[2] == static_cast<float>(2 * power));
      REQUIRE(Narrow<f8e8m0>{true, Rounding::down}.apply(above)[2] == static_cast<float>(power));
    }
  }
  CHECK(std::isnan(static_cast<float>(from_bits<f8e8m0>(0xff))));
  CHECK(narrowed<f8e8m0>(0.0f) == 0);
  CHECK(narrowed<f8e8m0>(1e-45f) == 0);
  CHECK(narrowed<f8e8m0>(3.4e38f) == 0xfe);
  CHECK(narrowed<f8e8m0>(infinity) == 0xfe);
  CHECK(narrowed<f8e8m0>(-1.0f) == 0xff);
  CHECK(narrowed<f8e8m0>(not_a_number) == 0xff);
  CHECK(std::isnan(Narrow<f8e8m0>{false, Rounding::up}.apply(infinity)));
  CHECK(std::isnan(Narrow<f8e8m0>{false, Rounding::nearest}.apply(0.0f)));
}

TEST_CASE_TEMPLATE("packed elements are read and written anywhere, and their neighbours stay", T, i4, u4, i2, u2,
                   f4e2m1) {
  for (const std::int64_t step : {1, 3}) {
    check_runs<1, T>(step);
    check_runs<2, T>(step);
    check_runs<8, T>(step);
    check_runs<16, T>(step);
    check_runs<32, T>(step);
  }
}

TEST_CASE("integers keep their lowest bits, and floats their whole part") {
  for (int x = -128; x < 128; ++x) {
    CHECK(Cast<i4>::apply(static_cast<std::int32_t>(x)) == (x & 7) - (x & 8));
    CHECK(Cast<u2>::apply(static_cast<std::int8_t>(x)) == (x & 3));
  }
  CHECK(Cast<i4>::apply(-7.9f) == -7);
  CHECK(Cast<u4>::apply(true) == 1);
}

TEST_CASE_TEMPLATE("threads that write neighbours do not disturb each other", T, i4, u2) {
  constexpr std::int64_t count = 4001;
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(bytes_of_elements<T>(count)), 0xff);
    const View<T, 1> view(reinterpret_cast<T*>(bytes.data()), {count});
    const auto write = [&](std::int64_t from) {
      for (std::int64_t i = from; i < count; i += 2) view.store(Index<1>{i}, Vec<int, 1>(static_cast<int>(i % 4)));
    };
    std::thread other(write, 1);
    write(0);
    other.join();
    for (std::int64_t i = 0; i < count; ++i) REQUIRE(code_at<T>(bytes, i) == i % 4);
  }
}

TEST_CASE("sizes in bytes are whole") {
  static_assert(bytes_of_elements<i4>(0) == 0 && bytes_of_elements<i4>(3) == 2 && bytes_of_elements<u2>(5) == 2 &&
                bytes_of_elements<float>(3) == 12);
}
