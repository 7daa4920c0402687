// Each functor against the standard library in a wider type, over random and special values, within its stated error.
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/comparison.hpp"
#include "kgen/ops/conversion.hpp"
#include "kgen/ops/division.hpp"
#include "kgen/ops/elementary.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

// Random values of every magnitude within the limit, and the special ones.
template <class T>
std::vector<T> inputs(double limit) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0),
                           T(-0.0),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::min(),
                           -Limits::min(),
                           Limits::max(),
                           Limits::lowest(),
                           Limits::denorm_min(),
                           T(1),
                           T(-1),
                           T(0.5),
                           T(-0.5),
                           T(1.5),
                           T(2.5),
                           T(-2.5),
                           T(88.5),
                           T(-88.5),
                           T(-103)};
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> uniform(-limit, limit), exponent(-40, 40);
  for (int i = 0; i < 2000; ++i) values.push_back(static_cast<T>(uniform(generator)));
  for (int i = 0; i < 1000; ++i) {
    const double magnitude = std::exp2(exponent(generator));
    values.push_back(static_cast<T>(i % 2 == 0 ? magnitude : -magnitude));
  }
  values.resize(values.size() / 64 * 64);
  return values;
}

// functor.apply(x) of W lanes, of one lane and of a scalar, against reference(x) in long double. `by_lane`: a lane's
// result does not depend on the others'.
template <class T, class Functor, class Reference>
void check_unary(const Functor& functor, Reference reference, double ulp, double limit = 100,
                 double smallest = 0 /* results below this only need to be as small */, bool by_lane = true) {
  const std::vector<T> values = inputs<T>(limit);
  constexpr int width = lanes_of<float>;
  for (std::size_t i = 0; i < values.size(); i += width) {
    const auto result = functor.apply(load_lanes<width>(&values[i]));
    for (int lane = 0; lane < width; ++lane) {
      const T x = values[i + lane];
      const auto exact = static_cast<double>(reference(static_cast<long double>(x)));
      INFO("x = ", x, " result ", result[lane], " exact ", exact);
      if (std::abs(exact) < smallest) {
        REQUIRE(std::abs(result[lane]) <= smallest);
      } else {
        REQUIRE(ulp_distance(result[lane], exact) <= ulp);
      }
      const T alone = functor.apply(Vec<T, 1>(x)).data, scalar = functor.apply(x);
      if (by_lane) REQUIRE((alone == result[lane] || (std::isnan(alone) && std::isnan(result[lane]))));
      REQUIRE((scalar == alone || std::isnan(alone)));
    }
  }
}

template <class T, class Functor, class Reference>
void check_binary(const Functor& functor, Reference reference, double ulp, double limit = 100) {
  const std::vector<T> values = inputs<T>(limit);
  constexpr int width = lanes_of<float>;
  for (std::size_t shift : {0, 1, 5, 13}) {
    for (std::size_t i = 0; i < values.size() - 64; i += width) {
      const auto x = load_lanes<width>(&values[i]), y = load_lanes<width>(&values[i + shift]);
      const auto result = functor.apply(x, y);
      const auto mixed = functor.apply(x, values[i + shift]);
      for (int lane = 0; lane < width; ++lane) {
        const T a = values[i + lane], b = values[i + shift + lane];
        const auto exact = static_cast<double>(reference(static_cast<long double>(a), static_cast<long double>(b)));
        INFO("a = ", a, " b = ", b, " result ", result[lane], " exact ", exact);
        REQUIRE(ulp_distance(result[lane], exact) <= ulp);
        if (lane == 0) REQUIRE(ulp_distance(mixed[0], exact) <= ulp);
      }
    }
  }
}

// NumPy's definitions, whose remainders C's is exact enough for.
long double floored_remainder(long double a, long double b) {
  const long double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
long double floored_quotient(long double a, long double b) {
  const long double r = std::fmod(a, b);
  if (b == 0 || std::isnan(r)) return b == 0 ? a / b : r;
  return std::nearbyint((a - r) / b) - (r != 0 && (r < 0) != (b < 0) ? 1 : 0);
}

long double propagate(long double a, long double b, long double otherwise) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<long double>::quiet_NaN() : otherwise;
}

}  // namespace

// The reference of f64 is rounded to double first: half an ulp more.
TEST_CASE_TEMPLATE("arithmetic", T, float, double) {
  using L = long double;
  const double exact = 0.5 + (sizeof(T) == 8 ? 0.5 : 1e-6);
  check_binary<T>(
      Add{}, [](L a, L b) { return a + b; }, exact);
  check_binary<T>(
      Sub{}, [](L a, L b) { return a - b; }, exact);
  check_binary<T>(
      Mul{}, [](L a, L b) { return a * b; }, exact);
  check_binary<T>(
      Div{}, [](L a, L b) { return a / b; }, exact);
  check_binary<T>(
      Minimum{}, [](L a, L b) { return propagate(a, b, std::fmin(a, b)); }, 0);
  check_binary<T>(
      Maximum{}, [](L a, L b) { return propagate(a, b, std::fmax(a, b)); }, 0);
  check_binary<T>(
      Pow{}, [](L a, L b) { return std::pow(a, b); }, 1.5, 10);
  check_unary<T>(
      Neg{}, [](L x) { return -x; }, 0);
  check_unary<T>(
      Abs{}, [](L x) { return std::abs(x); }, 0);
  check_unary<T>(
      Sqrt{}, [](L x) { return std::sqrt(x); }, exact);
  check_unary<T>(
      Rsqrt{}, [](L x) { return 1 / std::sqrt(x); }, 1.5);
  check_unary<T>(
      Reciprocal{}, [](L x) { return 1 / x; }, exact);
  check_unary<T>(
      Square{}, [](L x) { return x * x; }, exact);
  check_unary<T>(
      Floor{}, [](L x) { return std::floor(x); }, 0);
  check_unary<T>(
      Ceil{}, [](L x) { return std::ceil(x); }, 0);
  check_unary<T>(
      Round{}, [](L x) { return std::nearbyint(x); }, 0);
  check_unary<T>(
      Trunc{}, [](L x) { return std::trunc(x); }, 0);
  check_unary<T>(
      Sign{}, [](L x) { return x > 0 ? 1 : x < 0 ? -1 : x; }, 0);
  check_binary<T>(
      Fmod{}, [](L a, L b) { return std::fmod(a, b); }, 0);
  check_binary<T>(Mod{}, floored_remainder, exact);
  // Beyond 2^22 (f64: 2^51) the quotient's roundings count.
  check_binary<T>(FloorDivide{}, floored_quotient, 2);
  check_unary<T>(
      Clamp{-1.5, 6}, [](L x) { return propagate(x, x, std::fmin(std::fmax(x, -1.5L), 6.0L)); }, 0);
}

TEST_CASE_TEMPLATE("elementary functions and activations", T, float, double) {
  using L = long double;
  const double ulp = 1.5;  // 1 ulp, and half of one for the reference
#if defined(KGEN_SIMT)
  const double tanh_ulp = 3;  // there the C library stands in for a device's
  const double library = 4.5, great = 4.5;
#else
  const double tanh_ulp = 3;
  const double library = ulp, great = 3.5;  // where an exponential overflows that the result has half of
#endif
  const double inlined = 2 + 0.5, erf_ulp = sizeof(T) == 4 ? 6 : ulp;
  const double tiny = sizeof(T) == 8 ? 1e-300 : 1e-36;
  check_unary<T>(
      Exp{}, [](L x) { return std::exp(x); }, inlined, 100);
  check_unary<T>(
      Log{}, [](L x) { return std::log(x); }, ulp);
  check_unary<T>(
      Sin{}, [](L x) { return std::sin(x); }, ulp, 100, 0, false);
  check_unary<T>(
      Cos{}, [](L x) { return std::cos(x); }, ulp, 100, 0, false);
  check_unary<T>(
      Tanh{}, [](L x) { return std::tanh(x); }, tanh_ulp, 20);
  check_unary<T>(
      Erf{}, [](L x) { return std::erf(x); }, erf_ulp, 5);
  check_unary<T>(
      Tan{}, [](L x) { return std::tan(x); }, library, 100, 0, false);
  check_unary<T>(
      Asin{}, [](L x) { return std::asin(x); }, library, 1.1);
  check_unary<T>(
      Acos{}, [](L x) { return std::acos(x); }, library, 1.1);
  check_unary<T>(
      Atan{}, [](L x) { return std::atan(x); }, library);
  check_unary<T>(
      Sinh{}, [](L x) { return std::sinh(x); }, great, sizeof(T) == 4 ? 89.4 : 710);
  check_unary<T>(
      Cosh{}, [](L x) { return std::cosh(x); }, great, sizeof(T) == 4 ? 89.4 : 710);
  check_unary<T>(
      Asinh{}, [](L x) { return std::asinh(x); }, library);
  check_unary<T>(
      Acosh{}, [](L x) { return std::acosh(x); }, library);
  check_unary<T>(
      Atanh{}, [](L x) { return std::atanh(x); }, library, 1.1);
  check_unary<T>(
      Exp2{}, [](L x) { return std::exp2(x); }, library, 150);
  check_unary<T>(
      Expm1{}, [](L x) { return std::expm1(x); }, std::max(inlined, library));
  check_unary<T>(
      Log2{}, [](L x) { return std::log2(x); }, library);
  check_unary<T>(
      Log10{}, [](L x) { return std::log10(x); }, library);
  check_unary<T>(
      Log1p{}, [](L x) { return std::log1p(x); }, library);
  check_binary<T>(
      Atan2{}, [](L y, L x) { return std::atan2(y, x); }, library);
  check_unary<T>(
      Relu{}, [](L x) { return std::isnan(x) ? x : std::fmax(x, 0.0L); }, 0);
  check_unary<T>(
      Sigmoid{}, [](L x) { return 1 / (1 + std::exp(-x)); }, 4, 80, tiny);
  check_unary<T>(
      Silu{}, [](L x) { return x / (1 + std::exp(-x)); }, 5, 80, tiny * 1e3);
}

TEST_CASE("gelu, within a few ulp of its two terms") {
  for (float x = -6; x < 6; x += 0.01f) {
    const double erf_form = 0.5 * x * (1 + std::erf(x * 0.7071067811865475244));
    const double inner = 0.7978845608028653559 * (x + 0.044715 * std::pow(static_cast<double>(x), 3));
    const double tanh_form = 0.5 * x * (1 + std::tanh(inner));
    CHECK(std::abs(Gelu::apply(x) - erf_form) <= 3e-7 * std::abs(x) + 1e-30);
    CHECK(std::abs(GeluTanh::apply(x) - tanh_form) <= 5e-7 * std::abs(x) + 1e-30);
  }
  CHECK(Gelu::apply(infinity) == infinity);
  CHECK(std::isnan(Gelu::apply(not_a_number)));
  CHECK(std::isnan(GeluTanh::apply(not_a_number)));
  CHECK(GeluTanh::apply(infinity) == infinity);
}

TEST_CASE("activations at the limits, as PyTorch has them") {
  CHECK(Sigmoid::apply(infinity) == 1.0f);
  CHECK(Sigmoid::apply(-infinity) == 0.0f);
  CHECK(Silu::apply(infinity) == infinity);
  CHECK(std::isnan(Silu::apply(-infinity)));
  CHECK(std::isnan(Relu::apply(not_a_number)));
  CHECK(Relu::apply(-3) == 0);
  CHECK(Exp::apply(-infinity) == 0.0f);
  CHECK(Exp::apply(infinity) == infinity);
  CHECK(Log::apply(0.0f) == -infinity);
  CHECK(std::isnan(Log::apply(-1.0f)));
  CHECK(Tanh::apply(-infinity) == -1.0f);
  CHECK(Erf::apply(infinity) == 1.0f);
  CHECK(std::isnan(Sin::apply(infinity)));
  CHECK(std::isnan(Sqrt::apply(-1.0f)));
}

TEST_CASE_TEMPLATE("elementary functions at their ends", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), largest = std::numeric_limits<T>::max();
  const T pi = static_cast<T>(3.14159265358979323846);
  CHECK(std::isnan(Tan::apply(infinity)));
  CHECK(std::isnan(Asin::apply(T(1.5))));
  CHECK(std::isnan(Acos::apply(T(-1.5))));
  CHECK(Atan::apply(-infinity) == -pi / 2);
  CHECK(Sinh::apply(-infinity) == -infinity);
  CHECK(Cosh::apply(-infinity) == infinity);
  CHECK(Asinh::apply(-infinity) == -infinity);
  CHECK(Asinh::apply(largest) == doctest::Approx(std::asinh(static_cast<double>(largest))).epsilon(1e-6));
  CHECK(Acosh::apply(largest) == doctest::Approx(std::acosh(static_cast<double>(largest))).epsilon(1e-6));
  CHECK(std::isnan(Acosh::apply(T(0.5))));
  CHECK(Atanh::apply(T(-1)) == -infinity);
  CHECK(std::isnan(Atanh::apply(T(2))));
  CHECK(Expm1::apply(-infinity) == -1);
  CHECK(Log1p::apply(T(-1)) == -infinity);
  CHECK(std::isnan(Log1p::apply(T(-2))));
  CHECK(Atan2::apply(T(0), T(-1)) == pi);
  CHECK(Atan2::apply(T(-0.0), T(-1)) == -pi);
  CHECK(Atan2::apply(infinity, -infinity) == doctest::Approx(0.75 * 3.14159265358979323846));
}

TEST_CASE_TEMPLATE("remainders at their ends, as NumPy has them", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity(), largest = std::numeric_limits<T>::max();
  const T smallest = std::numeric_limits<T>::denorm_min();
  for (const T b : {T(3), T(-3)}) {
    CHECK(Fmod::apply(T(7), b) == 1);
    CHECK(Fmod::apply(T(-7), b) == -1);
    CHECK(Mod::apply(T(7), b) == (b > 0 ? 1 : -2));
    CHECK(Mod::apply(T(-7), b) == (b > 0 ? 2 : -1));
    CHECK(FloorDivide::apply(T(7), b) == (b > 0 ? 2 : -3));
    CHECK(FloorDivide::apply(T(-7), b) == (b > 0 ? -3 : 2));
    CHECK(std::signbit(Mod::apply(T(6), b)) == (b < 0));
  }
  CHECK(std::isnan(Fmod::apply(T(1), T(0))));
  CHECK(std::isnan(Mod::apply(infinity, T(2))));
  CHECK(Mod::apply(T(-1), infinity) == infinity);
  CHECK(Mod::apply(T(1), infinity) == 1);
  CHECK(Fmod::apply(T(-1), infinity) == -1);
  CHECK(FloorDivide::apply(T(1), T(0)) == infinity);
  CHECK(std::isnan(FloorDivide::apply(infinity, T(2))));
  CHECK(FloorDivide::apply(T(-1), infinity) == -1);
  CHECK(FloorDivide::apply(T(1), T(0.1)) == 9);  // 0.1 is a little more than a tenth
  CHECK(Fmod::apply(largest, smallest) == std::fmod(largest, smallest));
  CHECK(Fmod::apply(largest, 3 * smallest) == std::fmod(largest, 3 * smallest));
}

TEST_CASE("arithmetic on integers stays in their type") {
  CHECK(Add::apply(Vec<std::int8_t, 16>(100), Vec<std::int8_t, 16>(100))[15] == -56);
  CHECK(Mul::apply(Vec<std::int64_t, 8>(3), 5)[7] == 15);
  CHECK(Div::apply(Vec<std::int32_t, 8>(7), 0)[3] == 0);
  CHECK(Abs::apply(Vec<std::int16_t, 8>(-300))[1] == 300);
  CHECK(Maximum::apply(Vec<std::uint8_t, 8>(200), 100)[2] == 200);
  CHECK(Clamp{0, 255}.apply(Vec<std::int32_t, 8>(-5))[0] == 0);
  CHECK(Clamp{-1e30, 1e30}.apply(Vec<std::int8_t, 8>(-5))[0] == -5);
  CHECK(Clamp{0.5, 2.5}.apply(Vec<std::int32_t, 8>(-5))[0] == 1);
  CHECK(Clamp{-2.5, -0.5}.apply(Vec<std::int32_t, 8>(5))[0] == -1);
  CHECK(Clamp{0.5, 2.5}.apply(7.0f) == 2.5f);
  CHECK(Square::apply(std::int32_t{-7}) == 49);
  CHECK(Neg::apply(Vec<std::uint8_t, 4>(1))[0] == 255);
}

TEST_CASE("comparison and logic") {
  const float a[8] = {1, 2, 3, not_a_number, 0, -0.0f, infinity, -infinity};
  const float b[8] = {1, 3, 2, 1, -0.0f, 0, infinity, infinity};
  const auto x = load_lanes<8>(a), y = load_lanes<8>(b);
  for (int i = 0; i < 8; ++i) {
    CHECK(Equal::apply(x, y)[i] == (a[i] == b[i]));
    CHECK(NotEqual::apply(x, y)[i] == (a[i] != b[i]));
    CHECK(Less::apply(x, y)[i] == (a[i] < b[i]));
    CHECK(LessEqual::apply(x, y)[i] == (a[i] <= b[i]));
    CHECK(Greater::apply(x, y)[i] == (a[i] > b[i]));
    CHECK(GreaterEqual::apply(x, y)[i] == (a[i] >= b[i]));
    CHECK(LogicalAnd::apply(Less::apply(x, y), Less::apply(x, 1.5f))[i] == (a[i] < b[i] && a[i] < 1.5f));
    CHECK(LogicalOr::apply(Less::apply(x, y), Less::apply(x, 1.5f))[i] == (a[i] < b[i] || a[i] < 1.5f));
    CHECK(LogicalXor::apply(Less::apply(x, y), Less::apply(x, 1.5f))[i] == ((a[i] < b[i]) != (a[i] < 1.5f)));
    CHECK(LogicalNot::apply(Less::apply(x, y))[i] == !(a[i] < b[i]));
    CHECK(IsNan::apply(x)[i] == std::isnan(a[i]));
    CHECK(IsInf{true, true}.apply(x)[i] == std::isinf(a[i]));
    CHECK(IsInf{true, false}.apply(x)[i] == (a[i] == -infinity));
    CHECK(IsInf{false, true}.apply(x)[i] == (a[i] == infinity));
    CHECK(IsFinite::apply(x)[i] == std::isfinite(a[i]));
    CHECK(Where::apply(Less::apply(x, y), x, 9.0f)[i] == (a[i] < b[i] ? a[i] : 9.0f));
    CHECK(Where::apply(Less::apply(x, y), 1.0f, 0.0f)[i] == (a[i] < b[i] ? 1.0f : 0.0f));
  }
  CHECK(IsNan::apply(std::nan("")));
  CHECK(IsInf{false, true}.apply(std::numeric_limits<double>::infinity()));
  CHECK(IsFinite::apply(Vec<double, 16>(1e308))[9]);
  CHECK(Where::apply(true, 2.0f, 3.0f) == 2.0f);
  CHECK(Where::apply(false, x, y)[2] == 2.0f);
  CHECK(Where::apply(Equal::apply(Vec<std::int64_t, 16>(4), 4), Vec<std::int64_t, 16>(1), 0)[15] == 1);
  CHECK(Less::apply(1.0f, 2.0f));
  CHECK(Equal::apply(Vec<bool, 8>(true), Vec<bool, 8>(true))[3]);
  CHECK(NotEqual::apply(Vec<bool, 8>(true), false)[3]);
}

TEST_CASE("casts round to the type and stay in its compute type") {
  const auto rounded = Cast<bf16>::apply(Vec<float, 16>(1.00390625f * 3));
  static_assert(std::is_same_v<decltype(rounded), const Vec<float, 16>>);
  CHECK(rounded[15] == static_cast<float>(bf16(1.00390625f * 3)));
  CHECK(Cast<f8e4m3>::apply(1000.0f) == 448.0f);
  CHECK(Cast<f16>::apply(1e6f) == infinity);
  CHECK(Cast<std::int32_t>::apply(-2.9f) == -2);
  CHECK(Cast<bool>::apply(Vec<float, 8>(0.5f))[7]);
  CHECK(Cast<float>::apply(Vec<std::int64_t, 8>(1 << 24))[0] == 16777216.0f);
  CHECK(Cast<double>::apply(Vec<float, 8>(0.5f))[5] == 0.5);
  CHECK(Cast<std::uint8_t>::apply(Vec<std::int32_t, 4>(257))[0] == 1);
  CHECK(Copy::apply(3.0f) == 3.0f);
}
