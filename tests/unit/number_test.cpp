#include "generator/model/number.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "generator/load/fields.hpp"

using namespace kgen;

namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();

std::string read_back(const char* text) {
  const auto number = number_from_text(text);
  return number ? to_text(*number) : "none";
}

}  // namespace

TEST_CASE("numbers: whole ones of 64 bits are exact, however they are written") {
  for (const char* text : {"0", "-1", "9007199254740993", "-9007199254740993", "9223372036854775807",
                           "-9223372036854775808", "9223372036854775808", "18446744073709551615", "0.125", "-0.0", "inf"}) {
    CHECK(read_back(text[0] == 'i' ? ".inf" : text) == (std::string(text) == "-0.0" ? "-0" : text));
  }
  CHECK(read_back("+7") == "7");
  CHECK(read_back("1e3") == "1000");
  CHECK(read_back("18446744073709551616") == "1.8446744073709552e+19");
  CHECK(read_back("one") == "none");
  CHECK(read_back("12x") == "none");
  CHECK(read_back("-") == "none");
}

TEST_CASE("numbers: one form for each; NaN and -0 are told apart by their bits alone") {
  CHECK(Number(2.0) == Number(2));
  CHECK(same_bits(Number(2.0), Number(2)));
  CHECK(Number(0x1p63) == Number(std::uint64_t{1} << 63));
  CHECK(Number(0x1p64) != Number(greatest));
  CHECK(Number(9007199254740993) != Number(9007199254740992.0));
  CHECK(Number(-0.0) == Number(0));
  CHECK_FALSE(same_bits(Number(-0.0), Number(0)));
  CHECK(Number(NAN) != Number(NAN));
  CHECK(same_bits(Number(NAN), Number(NAN)));
  CHECK(-Number(least) == Number(std::uint64_t{1} << 63));
  CHECK(-Number(std::uint64_t{1} << 63) == Number(least));
  CHECK(std::signbit((-Number(0)).real()));
}

TEST_CASE("numbers: what integers hold") {
  CHECK(integer_holds(DType::i64, least));
  CHECK(integer_holds(DType::i64, std::numeric_limits<std::int64_t>::max()));
  CHECK_FALSE(integer_holds(DType::i64, std::uint64_t{1} << 63));
  CHECK(integer_holds(DType::u64, greatest));
  CHECK_FALSE(integer_holds(DType::u64, -1));
  CHECK_FALSE(integer_holds(DType::u64, 0x1p64));
  CHECK(integer_holds(DType::i8, -128));
  CHECK_FALSE(integer_holds(DType::i8, 128));
  CHECK_FALSE(integer_holds(DType::i8, 0.5));
  CHECK(integer_holds(DType::boolean, 1));
  CHECK_FALSE(integer_holds(DType::boolean, 2));
}
