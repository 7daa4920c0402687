#include "generator/model/dim.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "generator/emit/cpp_text.hpp"

using kgen::Dim;
using kgen::DimBindings;
using kgen::DimRange;
using kgen::DimRanges;

namespace {

const Dim B = Dim::symbol("B"), D = Dim::symbol("D"), H = Dim::symbol("H"), S = Dim::symbol("S");
constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();

Dim divide(const Dim& a, const Dim& b) { return Dim::floor_divide(a, b); }

}  // namespace

TEST_CASE("dim: one canonical form") {
  CHECK(S + D == D + S);
  CHECK(2 * S + S == 3 * S);
  CHECK((S + 1) * (S - 1) == S * S - 1);
  CHECK((S + D) * (S + D) == S * S + 2 * S * D + D * D);
  CHECK(S - S == 0);
  CHECK((S - S).is_constant());
  CHECK(S != D);
  CHECK(S != S + 1);
  CHECK(S * D != S + D);
  CHECK(0 * S == 0);
}

TEST_CASE("dim: constants and symbols") {
  CHECK(Dim(4096).is_constant());
  CHECK(Dim(4096).constant() == 4096);
  CHECK_FALSE((S + 7).is_constant());
  CHECK((S + 7).constant() == 7);
  CHECK(S.as_symbol() == "S");
  CHECK_FALSE((S + 1).as_symbol());
  CHECK_FALSE((2 * S).as_symbol());
  CHECK_FALSE((S * S).as_symbol());
  CHECK_FALSE(Dim(3).as_symbol());
  CHECK_FALSE(divide(S, 2).as_symbol());
  CHECK((S * D + divide(B + S, H) + 1).symbols() == std::vector<std::string>{"B", "D", "H", "S"});
  CHECK(Dim(3).symbols().empty());
}

TEST_CASE("dim: text reads as a person would write it") {
  CHECK(Dim().text() == "0");
  CHECK(Dim(-3).text() == "-3");
  CHECK((1 + S + 2 * D).text() == "2*D + S + 1");
  CHECK((S * B + S + 4).text() == "B*S + S + 4");
  CHECK((S * S * 2).text() == "2*S*S");
  CHECK((D - S).text() == "D - S");
  CHECK((S - D).text() == "S - D");
  CHECK((S - 1).text() == "S - 1");
  CHECK((4096 - S).text() == "4096 - S");
  CHECK((0 - S).text() == "-S");
  CHECK((0 - S - 2).text() == "-S - 2");
  CHECK(divide(S, 4).text() == "S/4");
  CHECK((divide(S, 4) + 1).text() == "S/4 + 1");
  CHECK((2 * divide(S, 4)).text() == "2*(S/4)");
  CHECK((B * divide(S, 4)).text() == "B*(S/4)");
  CHECK((0 - divide(S, 4)).text() == "-(S/4)");
  CHECK((D - divide(S, 4)).text() == "D - S/4");
  CHECK(divide(S + 3, 4).text() == "(S + 3)/4");
  CHECK(divide(3 * S * D, 4).text() == "3*D*S/4");
  CHECK(divide(S, D + 1).text() == "S/(D + 1)");
  CHECK(divide(S, 2 * D).text() == "S/(2*D)");
  CHECK(divide(divide(S, D), 4).text() == "(S/D)/4");
}

TEST_CASE("dim: the C++ expression") {
  CHECK(kgen::cpp_text(1 + S + 2 * D) == "2 * D + S + 1");
  CHECK(kgen::cpp_text(4096 - S) == "4096 - S");
  CHECK(kgen::cpp_text(2 * divide(S + 3, 4)) == "2 * ((S + 3) / 4)");
  CHECK(kgen::cpp_text(divide(S * B, H)) == "B * S / H");
  // A quotient that may be negative must not truncate.
  CHECK(kgen::cpp_text(divide(S - D, 4)) == "kgen::floor_divide(S - D, 4)");
  CHECK(kgen::cpp_text(divide(S - D, 4) + 1) == "kgen::floor_divide(S - D, 4) + 1");
  CHECK(kgen::cpp_text(2 * divide(S - D, 4)) == "2 * kgen::floor_divide(S - D, 4)");
}

TEST_CASE("dim: shapes as text") {
  CHECK(kgen::to_text(kgen::Shape{}) == "[]");
  CHECK(kgen::to_text({B, S + 1, 4096}) == "[B, S + 1, 4096]");
  CHECK(kgen::element_count({}) == 1);
  CHECK(kgen::element_count({B, S + 1, 4}) == 4 * B * S + 4 * B);
}

TEST_CASE("dim: division that comes out even leaves no quotient") {
  CHECK(divide(7, 2) == 3);
  CHECK(divide(-7, 2) == -4);
  CHECK(divide(7, -2) == -4);
  CHECK(divide(2 * S, 2) == S);
  CHECK(divide(4 * S + 8, 4) == S + 2);
  CHECK(divide(S * D, D) == S);
  CHECK(divide(4096 * B * S, B * S) == 4096);
  CHECK(divide(B * S * H * D, H * D) == B * S);
  CHECK(divide((S + 1) * (B + H), S + 1) == B + H);
  CHECK(divide(S * S - 1, S + 1) == S - 1);
  CHECK(divide(-4 * S, -4) == S);
  CHECK(divide(S, 1) == S);
  CHECK(divide(0, S) == 0);
}

TEST_CASE("dim: the lesser and the greater of two") {
  const auto least = Dim::minimum, most = Dim::maximum;
  CHECK(least(7, 2) == 2);
  CHECK(most(7, 2) == 7);
  CHECK(least(S, S) == S);
  CHECK(least(S + 1, S) == S);
  CHECK(most(S + 1, S) == S + 1);
  CHECK(least(S, D) == least(D, S));
  CHECK(least(S + D, 2 * S) == S + least(S, D));
  CHECK(least(S + 3, D + 5) == least(S, D + 2) + 3);
  CHECK(least(least(S, D), S) == least(S, D));
  CHECK(least(least(S, 64), 32) == least(S, 32));
  CHECK(most(64, most(32, S)) == most(S, 64));
  CHECK(least(S, 64) != least(S, 32));
  CHECK(least(S, 64) != most(S, 64));
  CHECK(divide(2 * least(S, 64), 2) == least(S, 64));
  CHECK(least(S, D).symbols() == std::vector<std::string>{"D", "S"});
  CHECK(least(S, 64).text() == "min(S, 64)");
  CHECK(least(64, S + 4).text() == "min(S + 4, 64)");
  CHECK((2 * most(S, 64) + 1).text() == "2*max(S, 64) + 1");
  CHECK(divide(least(S, 64), 4).text() == "min(S, 64)/4");
  CHECK(kgen::cpp_text(divide(least(S, D), 4)) == "kgen::lesser(D, S) / 4");
  CHECK(kgen::cpp_text(divide(most(S - D, 0), 4)) == "kgen::greater(S - D, 0) / 4");
  CHECK(kgen::cpp_text(divide(least(S - D, 8), 4)) == "kgen::floor_divide(kgen::lesser(S - D, 8), 4)");
}

TEST_CASE("dim: quotients in lowest terms") {
  CHECK(divide(4 * S, 6) == divide(2 * S, 3));
  CHECK(divide(5 * S, 4) == S + divide(S, 4));
  CHECK(divide(2 * S + 1, 4) == divide(S, 2));
  CHECK(divide(S - 1, 4) + 1 == divide(S + 3, 4));
  CHECK(0 - divide(0 - S, 4) == divide(S + 3, 4));
  CHECK(divide(1 - 2 * S, 4) == 0 - divide(S + 1, 2));
  CHECK(divide(S + 8, 4) == divide(S, 4) + 2);
  CHECK(divide(divide(S, 2), 3) == divide(S, 6));
  CHECK(divide(divide(S, 2) + 1, 3) == divide(S + 2, 6));
  CHECK(divide(S * H * D, 2 * H) == divide(S * D, 2));
  CHECK(divide(2 * S, 2 * D) == divide(S, D));
  CHECK(divide(0 - S, 0 - D) == divide(S, D));
  CHECK(divide(S, D) != divide(S, H));
}

TEST_CASE("dim: values") {
  const DimBindings at{{"B", 3}, {"D", 64}, {"H", 5}, {"S", 10}};
  CHECK((2 * D + S + 1).evaluate(at) == 139);
  CHECK(divide(S, 4).evaluate(at) == 2);
  CHECK(divide(B - S, 4).evaluate(at) == -2);
  CHECK((D * divide(S, B)).evaluate(at) == 192);
  CHECK(divide(S, B - 3).evaluate(at) == 0);  // a zero denominator
}

TEST_CASE("dim: arithmetic saturates") {
  const Dim big = greatest;
  CHECK((big + 1).constant() == greatest);
  CHECK((big * 2).constant() == greatest);
  CHECK((big * -2).constant() == -greatest);
  CHECK((S * S * S).evaluate({{"S", greatest}}) == greatest);
  CHECK((0 - S * S).evaluate({{"S", greatest}}) == -greatest);
  CHECK((S + S).range({{"S", {0, greatest}}}).high == greatest);
  const Dim least = std::numeric_limits<std::int64_t>::min();
  CHECK(divide(least, -1).constant() == greatest);
  CHECK(divide(least * S, 0 - S).evaluate({{"S", 2}}) == greatest);
  CHECK(divide(least, 0).constant() == 0);
}

TEST_CASE("dim: bounds") {
  const DimRanges ranges{{"B", {1, 8}}, {"S", {1, 512}}, {"P", {0, 4095}}, {"N", {-2, 3}}};
  const Dim P = Dim::symbol("P"), N = Dim::symbol("N");
  const auto check = [&](const Dim& dim, std::int64_t low, std::int64_t high) {
    CAPTURE(dim.text());
    CHECK(dim.range(ranges).low == low);
    CHECK(dim.range(ranges).high == high);
  };
  check(7, 7, 7);
  check(B * S, 1, 4096);
  check(P + S, 1, 4607);
  check(4096 - P, 1, 4096);
  check(N * S, -1024, 1536);
  check(divide(S + 3, 4), 1, 128);
  check(divide(S, B), 0, 512);
  check(divide(S, N), -512, 512);
  check(Dim::symbol("unknown"), 0, 2147483647);
  check(Dim::minimum(S, 64), 1, 64);
  check(Dim::maximum(S, 64), 64, 512);
  check(S - Dim::minimum(S, 64), 0, 448);
  check(Dim::maximum(S, P) - P, 0, 512);
  check(2 * Dim::minimum(S, 64) - S, -384, 127);
  check(B * Dim::minimum(S, 64), 1, 512);
  // Within each other, however deeply, in little time.
  Dim deep = S;
  for (int i = 0; i < 60; ++i) deep = i % 2 == 0 ? Dim::minimum(deep + P, 2 * B + i) : Dim::maximum(deep, P + i);
  CHECK(deep.range(ranges).low >= 0);
}

TEST_CASE("dim: provable order") {
  const DimRanges ranges{{"P", {0, 4095}}, {"S", {1, 512}}};
  const Dim P = Dim::symbol("P");
  CHECK(kgen::provably_at_most(S, 512, ranges));
  CHECK_FALSE(kgen::provably_at_most(S, 511, ranges));
  CHECK(kgen::provably_at_most(P, P + S - 1, ranges));
  CHECK_FALSE(kgen::provably_at_most(P + S, 4096, ranges));
  CHECK(kgen::provably_at_most(P * S, 4095 * S, ranges));
  CHECK_FALSE(kgen::provably_at_most(P * S, 4094 * S, ranges));
  CHECK(kgen::provably_at_most(Dim::minimum(P, S), S, ranges));
  CHECK(kgen::provably_at_most(P, Dim::maximum(P, S), ranges));
  CHECK_FALSE(kgen::provably_at_most(P, Dim::minimum(P, S), ranges));
}

// ---- random polynomials: the canonical form has the value that direct arithmetic gives ------------------------------

namespace {

// A Dim, and the same expression evaluated directly at three points.
struct Sample {
  Dim dim;
  std::vector<std::int64_t> values;
};

const std::vector<DimBindings> points = {
    {{"a", 1}, {"b", 2}, {"c", 7}}, {{"a", 5}, {"b", 3}, {"c", 1}}, {{"a", 16}, {"b", 9}, {"c", 4}}};

std::int64_t floor_of(std::int64_t a, std::int64_t b) {  // exact: |a| and |b| are at most 100,000
  return static_cast<std::int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
}

template <class OnDims, class OnValues>
Sample combine(const Sample& x, const Sample& y, OnDims on_dims, OnValues on_values) {
  Sample result{on_dims(x.dim, y.dim), {}};
  for (std::size_t i = 0; i < points.size(); ++i) result.values.push_back(on_values(x.values[i], y.values[i]));
  return result;
}

bool small(const Sample& sample) {
  for (const std::int64_t value : sample.values) {
    if (value > 100000 || value < -100000) return false;
  }
  return true;
}

bool has_zero(const Sample& sample) {
  for (const std::int64_t value : sample.values) {
    if (value == 0) return true;
  }
  return false;
}

class RandomDims {
 public:
  explicit RandomDims(unsigned seed) : random_(seed) {}

  Sample sample(int depth) {
    if (depth == 0 || pick(5) == 0) return leaf();
    const Sample x = sample(depth - 1), y = sample(depth - 1);
    if (!small(x) || !small(y)) return leaf();
    switch (pick(6)) {
      case 0:
        return combine(x, y, std::plus<>{}, std::plus<>{});
      case 1:
        return combine(x, y, std::minus<>{}, std::minus<>{});
      case 2:
        return combine(x, y, std::multiplies<>{}, std::multiplies<>{});
      case 3:
        return combine(x, y, Dim::minimum, [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
      case 4:
        return combine(x, y, Dim::maximum, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
      default:
        return has_zero(y) ? leaf() : combine(x, y, Dim::floor_divide, floor_of);
    }
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  Sample leaf() {
    if (pick(2) == 0) {
      const std::int64_t value = pick(13) - 4;
      return {Dim(value), std::vector<std::int64_t>(points.size(), value)};
    }
    const std::string name(1, static_cast<char>('a' + pick(3)));
    Sample result{Dim::symbol(name), {}};
    for (const DimBindings& point : points) result.values.push_back(point.at(name));
    return result;
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("dim: random expressions keep their values, and lie within their bounds") {
  RandomDims random(20240611);
  const DimRanges ranges{{"a", {1, 16}}, {"b", {2, 9}}, {"c", {1, 7}}};
  for (int i = 0; i < 20000; ++i) {
    const Sample sample = random.sample(5);
    const DimRange range = sample.dim.range(ranges);
    for (std::size_t p = 0; p < points.size(); ++p) {
      CAPTURE(sample.dim.text());
      CAPTURE(p);
      REQUIRE(sample.dim.evaluate(points[p]) == sample.values[p]);
      REQUIRE(range.low <= sample.values[p]);
      REQUIRE(range.high >= sample.values[p]);
    }
  }
}

TEST_CASE("dim: the laws of arithmetic hold for canonical forms") {
  RandomDims random(7);
  for (int i = 0; i < 3000; ++i) {
    const Dim x = random.sample(3).dim, y = random.sample(3).dim, z = random.sample(3).dim;
    CAPTURE(x.text());
    CAPTURE(y.text());
    CAPTURE(z.text());
    REQUIRE(x + y == y + x);
    REQUIRE(x * y == y * x);
    REQUIRE((x + y) + z == x + (y + z));
    REQUIRE((x * y) * z == x * (y * z));
    REQUIRE(x * (y + z) == x * y + x * z);
    REQUIRE((x - y) + y == x);
    if (y != 0) REQUIRE(divide(x * y, y) == x);
    REQUIRE((x == y) == (x.text() == y.text()));
  }
}
