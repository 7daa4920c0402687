// Vec: every type at every width against one lane at a time.
#include <functional>

#include "kgen/math.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// Values that exercise a type: its limits, zeros, and small ones of both signs.
template <class T>
std::vector<T> samples() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return {T(0),
            T(-0.0),
            T(1),
            T(-1),
            T(2.5),
            T(-3.75),
            Limits::infinity(),
            -Limits::infinity(),
            Limits::quiet_NaN(),
            Limits::max(),
            Limits::denorm_min(),
            T(0.1),
            T(100)};
  } else {
    return {T(0), T(1), T(2), T(3), T(5), T(100), Limits::max(), Limits::lowest(), static_cast<T>(Limits::max() - 1),
            T(-1)};
  }
}

template <class T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);
}

template <class T>
T wrapped(T a, T b, char operation) {
  if constexpr (std::is_floating_point_v<T>) {
    return operation == '+' ? a + b : operation == '-' ? a - b : a * b;
  } else {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<T>(operation == '+' ? x + y : operation == '-' ? x - y : x * y);
  }
}

template <class T, int W>
void check_width() {
  const std::vector<T> values = samples<T>();
  for (std::size_t shift = 0; shift < values.size(); ++shift) {
    T a[W], b[W];
    for (int i = 0; i < W; ++i) {
      a[i] = values[static_cast<std::size_t>(i) % values.size()];
      b[i] = values[(static_cast<std::size_t>(i) * 3 + shift) % values.size()];
    }
    const auto x = load_lanes<W>(a), y = load_lanes<W>(b);
    const auto sum = x + y, difference = x - y, product = x * y, negative = -x;
    const auto less = x<y, less_equal = x <= y, greater = x> y, greater_equal = x >= y, equal = x == y,
               unequal = x != y;
    const auto chosen = select(less, x, y);
    const auto scaled = x * T(2) + 1;
    bool stored[W];
    store_lanes(stored, less | !equal);
    bool any = false;
    for (int i = 0; i < W; ++i) {
      INFO("width ", W, " lane ", i);
      REQUIRE(same(sum[i], wrapped(a[i], b[i], '+')));
      REQUIRE(same(difference[i], wrapped(a[i], b[i], '-')));
      REQUIRE(same(product[i], wrapped(a[i], b[i], '*')));
      REQUIRE(same(negative[i], wrapped(T(0), a[i], '-')));
      REQUIRE(less[i] == (a[i] < b[i]));
      REQUIRE(less_equal[i] == (a[i] <= b[i]));
      REQUIRE(greater[i] == (a[i] > b[i]));
      REQUIRE(greater_equal[i] == (a[i] >= b[i]));
      REQUIRE(equal[i] == (a[i] == b[i]));
      REQUIRE(unequal[i] == (a[i] != b[i]));
      REQUIRE(same(chosen[i], a[i] < b[i] ? a[i] : b[i]));
      REQUIRE(same(scaled[i], wrapped(wrapped(a[i], T(2), '*'), T(1), '+')));
      REQUIRE(stored[i] == (a[i] < b[i] || !(a[i] == b[i])));
      any = any || a[i] < b[i];
    }
    REQUIRE(any_of(less) == any);
  }
}

template <class T>
void check_type() {
  check_width<T, 1>();
  check_width<T, 2>();
  check_width<T, 4>();
  check_width<T, 8>();
  check_width<T, 16>();
  check_width<T, 32>();
  check_width<T, 64>();
}

template <class To, class From, int W>
void check_conversion() {
  From from[W];
  for (int i = 0; i < W; ++i) from[i] = static_cast<From>(std::is_same_v<From, bool> ? i % 3 == 0 : i * 3 % 50);
  const auto converted = convert<To>(load_lanes<W>(from));
  for (int i = 0; i < W; ++i) REQUIRE(converted[i] == static_cast<To>(from[i]));
}

template <class To, class From>
void check_conversions() {
  check_conversion<To, From, 1>();
  check_conversion<To, From, 4>();
  check_conversion<To, From, 32>();
}

template <class To>
void check_conversions_to() {
  check_conversions<To, float>();
  check_conversions<To, double>();
  check_conversions<To, bool>();
  check_conversions<To, std::int8_t>();
  check_conversions<To, std::uint8_t>();
  check_conversions<To, std::int16_t>();
  check_conversions<To, std::uint16_t>();
  check_conversions<To, std::int32_t>();
  check_conversions<To, std::uint32_t>();
  check_conversions<To, std::int64_t>();
  check_conversions<To, std::uint64_t>();
}

}  // namespace

TEST_CASE_TEMPLATE("arithmetic, comparison and choice, by lane", T, float, double, std::int8_t, std::uint8_t,
                   std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  check_type<T>();
}

TEST_CASE_TEMPLATE("conversion", To, float, double, bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                   std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  check_conversions_to<To>();
}

TEST_CASE("conversion of floats truncates, and of out-of-range ones to narrow integers wraps") {
  const float values[4] = {1.9f, -1.9f, 300.0f, -1.0f};
  const auto lanes = load_lanes<4>(values);
  const auto bytes = convert<std::int8_t>(lanes);
  const auto unsigned_bytes = convert<std::uint8_t>(lanes);
  const int expected[4] = {1, -1, 44, -1};
  for (int i = 0; i < 4; ++i) {
    CHECK(bytes[i] == expected[i]);
    CHECK(unsigned_bytes[i] == static_cast<std::uint8_t>(expected[i]));
    CHECK(convert<std::uint8_t>(Vec<float, 1>(values[i])).data == unsigned_bytes[i]);
  }
  CHECK(convert<bool>(Vec<float, 8>(not_a_number))[0]);
  CHECK_FALSE(convert<bool>(Vec<float, 8>(-0.0f))[0]);
}

TEST_CASE("integer division truncates, and dividing by 0 gives 0") {
  const std::int32_t a[8] = {7, -7, 7, -7, std::numeric_limits<std::int32_t>::min(), 5, 0, 1};
  const std::int32_t b[8] = {2, 2, -2, -2, -1, 0, 0, 3};
  const std::int32_t expected[8] = {3, -3, -3, 3, std::numeric_limits<std::int32_t>::min(), 0, 0, 0};
  const auto quotient = load_lanes<8>(a) / load_lanes<8>(b);
  for (int i = 0; i < 8; ++i) CHECK(quotient[i] == expected[i]);
}

TEST_CASE("a scalar takes the type and the width of the vector it meets") {
  const auto lanes = on_lanes([](auto x, auto y) { return x + y; }, Vec<float, 8>(1.5f), 2.0);
  static_assert(std::is_same_v<decltype(lanes), const Vec<float, 8>>);
  CHECK(lanes[7] == 3.5f);
  const auto scalar = on_lanes([](auto x, auto y) { return x + y; }, 1.5f, 2.0f);
  static_assert(std::is_same_v<decltype(scalar), const float>);
  CHECK(scalar == 3.5f);
  static_assert(std::is_same_v<decltype(on_lanes([](auto x, auto y) { return x * y; }, std::int8_t(1), std::int8_t(1))),
                               std::int8_t>);
}

TEST_CASE("halves and concatenation keep the order of lanes") {
  float lanes[64];
  for (int i = 0; i < 64; ++i) lanes[i] = static_cast<float>(i);
  const auto all = load_lanes<64>(lanes);
  const auto swapped = concatenate(high_half(all), low_half(all));
  for (int i = 0; i < 64; ++i) CHECK(swapped[i] == static_cast<float>((i + 32) % 64));
  CHECK(sum_of(all) == 2016.0f);
  const auto pair = load_lanes<2>(lanes + 5);
  CHECK(low_half(pair).data == 5.0f);
  CHECK(high_half(pair).data == 6.0f);
}
