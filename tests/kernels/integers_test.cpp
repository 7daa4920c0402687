// What integers do, of every width and in vectors of every form, against plain formulas in 128 bits.
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/bitwise.hpp"
#include "kgen/ops/division.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

using Wide = __int128;

// Small ones, the ends of the range, powers of two, and random ones.
template <class T>
std::vector<T> integers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {Limits::min(), Limits::max(), static_cast<T>(Limits::min() + 1),
                           static_cast<T>(Limits::max() - 1)};
  for (int i = -9; i <= 9; ++i) values.push_back(static_cast<T>(i));
  for (std::size_t i = 0; i < 8 * sizeof(T); ++i) values.push_back(static_cast<T>(std::uint64_t{1} << i));
  for (std::size_t i = 8 * sizeof(T) - 1; i < 8 * sizeof(T) + 2; ++i) values.push_back(static_cast<T>(i));
  std::mt19937_64 generator(11);
  while (values.size() % 64 != 0) values.push_back(static_cast<T>(generator()));
  return values;
}

// Each functor on every pair: in vectors of 1, 4 and 64 lanes, and of scalars.
template <class T, class Functor, class Reference>
void check_pairs(Functor functor, Reference reference) {
  const std::vector<T> values = integers<T>();
  const auto check = [&](T a, T b, T result) {
    const T expected = static_cast<T>(reference(static_cast<Wide>(a), static_cast<Wide>(b)));
    INFO("a = ", +a, " b = ", +b);
    REQUIRE(+result == +expected);
  };
  for (std::size_t i = 0; i < values.size(); i += 64) {
    const auto x = load_lanes<64>(&values[i]);
    for (const T b : values) {
      const auto whole = functor.apply(x, Vec<T, 64>(b));
      const auto turned = functor.apply(Vec<T, 64>(b), x);
      const auto by_one = functor.apply(x, b);
      const auto four = functor.apply(load_lanes<4>(&values[i]), b);
      for (int lane = 0; lane < 64; ++lane) {
        check(values[i + lane], b, whole[lane]);
        check(values[i + lane], b, by_one[lane]);
        check(b, values[i + lane], turned[lane]);
        if (lane < 4) check(values[i + lane], b, four[lane]);
      }
      check(values[i], b, functor.apply(Vec<T, 1>(values[i]), Vec<T, 1>(b)).data);
      check(values[i], b, functor.apply(values[i], b));
    }
  }
}

Wide floored_quotient(Wide a, Wide b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
template <class T>
bool is_within(Wide count) {
  return count >= 0 && count < static_cast<Wide>(8 * sizeof(T));
}

}  // namespace

TEST_CASE_TEMPLATE("bits of integers", T, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t) {
  check_pairs<T>(BitwiseAnd{}, [](Wide a, Wide b) { return a & b; });
  check_pairs<T>(BitwiseOr{}, [](Wide a, Wide b) { return a | b; });
  check_pairs<T>(BitwiseXor{}, [](Wide a, Wide b) { return a ^ b; });
  check_pairs<T>(ShiftLeft{}, [](Wide a, Wide b) {
    return is_within<T>(b) ? static_cast<Wide>(static_cast<unsigned __int128>(a) << b) : Wide(0);
  });
  check_pairs<T>(ShiftRight{}, [](Wide a, Wide b) { return is_within<T>(b) ? a >> b : a < 0 ? Wide(-1) : Wide(0); });
  for (const T value : integers<T>()) {
    CHECK(+BitwiseNot::apply(value) == +static_cast<T>(~value));
    CHECK(+BitwiseNot::apply(Vec<T, 16>(value))[15] == +static_cast<T>(~value));
  }
}

TEST_CASE_TEMPLATE("division of integers is defined for every pair", T, std::int8_t, std::int16_t, std::int32_t,
                   std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
  check_pairs<T>(Div{}, [](Wide a, Wide b) { return b == 0 ? 0 : a / b; });
  check_pairs<T>(FloorDivide{}, floored_quotient);
  check_pairs<T>(Fmod{}, [](Wide a, Wide b) { return b == 0 ? 0 : a % b; });
  check_pairs<T>(Mod{}, [](Wide a, Wide b) { return b == 0 ? 0 : a - floored_quotient(a, b) * b; });
  for (const T value : integers<T>()) {
    const int sign = value > 0 ? 1 : value < 0 ? -1 : 0;
    CHECK(static_cast<int>(Sign::apply(value)) == sign);
    CHECK(static_cast<int>(Sign::apply(Vec<T, 32>(value))[31]) == sign);
  }
}
