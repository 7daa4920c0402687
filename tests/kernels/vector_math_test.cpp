// The CPU's elementary functions, inlined ones and the library's, against the C library's in double: over a sample of
// all floats, or (skipped unless asked for, label extended) over every one of them. Within the errors that OPERATORS.md
// states.
#include <algorithm>
#include <bit>
#include <string>
#include <thread>

#include "kgen/math.hpp"
#include "testing.hpp"

#if !defined(KGEN_GPU) && !defined(KGEN_SIMT)

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Worst {
  double ulp = 0;
  float at = 0;
};

// As ulp_distance, and the sign of a zero counts.
double error_of(float value, double exact) {
  if (exact == 0 && value == 0) return std::signbit(value) == std::signbit(exact) ? 0 : 1e30;
  return ulp_distance(value, exact);
}

// Over the floats of bits `begin`, `begin` + step, ... below `end`.
template <class Function, class Reference>
Worst worst_within(Function function, Reference reference, std::uint64_t begin, std::uint64_t end, std::uint64_t step) {
  constexpr int width = lanes_of<float>;
  Worst worst;
  for (std::uint64_t bits = begin; bits < end; bits += width * step) {
    float x[width], y[width];
    for (int i = 0; i < width; ++i) x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits + i * step));
    store_lanes(y, cpu::on_registers(function, load_lanes<width>(x)));
    for (int i = 0; i < width; ++i) {
      const double error = error_of(y[i], reference(static_cast<double>(x[i])));
      if (error > worst.ulp) worst = {error, x[i]};
    }
  }
  return worst;
}

template <class Function, class Reference>
Worst worst_of_floats(Function function, Reference reference, std::uint64_t step) {
  const std::uint64_t all = std::uint64_t{1} << 32;
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Worst> parts(threads);
  std::vector<std::thread> team;
  for (unsigned i = 0; i < threads; ++i) {
    team.emplace_back(
        [&, i] { parts[i] = worst_within(function, reference, all * i / threads, all * (i + 1) / threads, step); });
  }
  for (std::thread& thread : team) thread.join();
  return *std::max_element(parts.begin(), parts.end(), [](const Worst& a, const Worst& b) { return a.ulp < b.ulp; });
}

template <class Inlined, class Library, class Reference>
void check_function(const char* name, Reference reference, double ulp, std::uint64_t step) {
  const Worst inlined = worst_of_floats(Inlined{}, reference, step);
  const Worst library = worst_of_floats(Library{}, reference, step);
  MESSAGE(std::string(name), ": inlined ", inlined.ulp, " ulp at ", inlined.at, ", the library's ", library.ulp, " at ",
          library.at);
  CHECK(inlined.ulp <= ulp);
}

void check_all(std::uint64_t step) {
  using namespace kgen::cpu;
  check_function<InlinedExp, LibraryExp>(
      "exp", [](double x) { return std::exp(x); }, 1.1, step);
  check_function<InlinedExp2, LibraryExp2>(
      "exp2", [](double x) { return std::exp2(x); }, 1.3, step);
  check_function<InlinedExpm1, LibraryExpm1>(
      "expm1", [](double x) { return std::expm1(x); }, 2, step);
  check_function<InlinedTanh, LibraryTanh>(
      "tanh", [](double x) { return std::tanh(x); }, 2.5, step);
  check_function<InlinedErf, LibraryErf>(
      "erf", [](double x) { return std::erf(x); }, 6, step);
  check_function<InlinedLog, LibraryLog>(
      "log", [](double x) { return std::log(x); }, 1, step);
  check_function<InlinedLog1p, LibraryLog1p>(
      "log1p", [](double x) { return std::log1p(x); }, 1.1, step);
}

// Doubles of every magnitude, both signs, and the arguments at which results overflow and vanish, against long double.
template <class Function, class Reference>
double worst_of_doubles(Function function, Reference reference) {
  constexpr int width = lanes_of<double>;
  using Limits = std::numeric_limits<double>;
  std::vector<double> values = {0.0,
                                -0.0,
                                Limits::infinity(),
                                -Limits::infinity(),
                                Limits::quiet_NaN(),
                                Limits::min(),
                                -Limits::min(),
                                Limits::denorm_min(),
                                -Limits::denorm_min(),
                                Limits::max(),
                                Limits::lowest(),
                                709.78,
                                709.79,
                                -708.5,
                                -740,
                                -745.13,
                                -745.2,
                                1e-17};
  std::mt19937_64 generator(3);
  std::uniform_real_distribution<double> uniform(-800, 800), exponent(-60, 12), near(-4, 4);
  for (int i = 0; i < 100000; ++i) {
    values.push_back(uniform(generator));
    values.push_back(near(generator));
    values.push_back((i % 2 == 0 ? 1 : -1) * std::exp2(exponent(generator)));
  }
  values.resize(values.size() / width * width);
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); i += width) {
    const auto result = cpu::on_registers(function, load_lanes<width>(&values[i]));
    for (int lane = 0; lane < width; ++lane) {
      const auto exact = static_cast<double>(reference(static_cast<long double>(values[i + lane])));
      worst = std::max(worst, ulp_distance(result[lane], exact));
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("elementary functions of floats, a sample of all") { check_all(1009); }

TEST_CASE("elementary functions of every float" * doctest::skip()) { check_all(1); }

// The reference is rounded to double first: half an ulp more.
TEST_CASE("elementary functions of doubles") {
  using L = long double;
  CHECK(worst_of_doubles(cpu::InlinedExp{}, [](L x) { return std::exp(x); }) <= 1.6);
  CHECK(worst_of_doubles(cpu::InlinedExpm1{}, [](L x) { return std::expm1(x); }) <= 2.5);
  CHECK(worst_of_doubles(cpu::InlinedTanh{}, [](L x) { return std::tanh(x); }) <= 3);
}

TEST_CASE_TEMPLATE("exp of what is at most 0 has the bits of exp", T, float, double) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int width = lanes_of<T>;
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0), T(-0.0), -Limits::infinity(), Limits::quiet_NaN(), Limits::lowest(), -Limits::min()};
  for (const double x : {-87.33655, -87.5, -103.97, -104.5, -708.5, -745.13, -745.2}) values.push_back(T(x));
  std::mt19937_64 generator(4);
  std::uniform_real_distribution<T> near(-4, 0), vanishing(-110, -80), all(-800, 0), exponent(-60, 12);
  for (int i = 0; i < 100000; ++i) {
    for (const T x : {near(generator), vanishing(generator), all(generator), -std::exp2(exponent(generator))}) {
      values.push_back(x);
    }
  }
  values.resize(values.size() / width * width);
  int different = 0;
  for (std::size_t i = 0; i < values.size(); i += width) {
    const auto x = load_lanes<width>(&values[i]);
    const auto found = bit_cast<Bits>(exp_nonpositive(x)), expected = bit_cast<Bits>(exp(x));
    for (int lane = 0; lane < width; ++lane) different += found[lane] != expected[lane];
  }
  CHECK(different == 0);
}

TEST_CASE("a lane's result does not depend on how many there are") {
  const auto values = random_tensor<float, 1>({256}, 5, -5, 5);
  for (int i = 0; i < 256; i += lanes_of<float>) {
    const auto x = load_lanes<lanes_of<float>>(&values.elements[i]);
    const auto e = exp(x), t = tanh(x), f = erf(x);
    for (int lane = 0; lane < lanes_of<float>; ++lane) {
      const Vec<float, 1> alone(x[lane]);
      CHECK(exp(alone).data == e[lane]);
      CHECK(tanh(alone).data == t[lane]);
      CHECK(erf(alone).data == f[lane]);
    }
  }
}

// NaN of b where b is one, else of a; a of two zeros.
TEST_CASE_TEMPLATE("the greater and the lesser of every two special values, to the bit", T, float, double) {
  using Limits = std::numeric_limits<T>;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const T nan = Limits::quiet_NaN(), other_nan = std::bit_cast<T>(std::bit_cast<Bits>(nan) | 77);
  const T values[] = {T(0),
                      -T(0),
                      T(1),
                      T(-1),
                      Limits::infinity(),
                      -Limits::infinity(),
                      nan,
                      -nan,
                      other_nan,
                      Limits::denorm_min(),
                      -Limits::denorm_min(),
                      Limits::max(),
                      Limits::lowest()};
  const auto check = [&]<int W>(std::integral_constant<int, W>) {
    for (const T a : values) {
      for (const T b : values) {
        const T most = b != b || a < b ? b : a, least = b != b || b < a ? b : a;
        const auto greater = maximum(Vec<T, W>(a), Vec<T, W>(b)), lesser = minimum(Vec<T, W>(a), Vec<T, W>(b));
        for (const int lane : {0, W - 1}) {
          CHECK(std::bit_cast<Bits>(static_cast<T>(greater[lane])) == std::bit_cast<Bits>(most));
          CHECK(std::bit_cast<Bits>(static_cast<T>(lesser[lane])) == std::bit_cast<Bits>(least));
        }
      }
    }
  };
  check(std::integral_constant<int, 1>{});
  check(std::integral_constant<int, 4>{});
  check(std::integral_constant<int, 8>{});
  check(std::integral_constant<int, 64>{});
}

#endif
