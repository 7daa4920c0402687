// Philox against the known answers of its authors, and what is made of its bits: the same wherever it is computed.
#include "kgen/random.hpp"

#include <memory>

#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Answer {
  std::uint64_t place, draw, seed;
  std::uint32_t words[4];
};

// kat_vectors of Random123, https://github.com/DEShawResearch/random123.
constexpr Answer answers[] = {
    {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {~0ull, ~0ull, ~0ull, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

double uniform(const RandomBits& bits, bool wide) {
  return wide ? static_cast<double>(bits.wide(0)) * 0x1p-53 : static_cast<double>(bits.words[0] >> 8) * 0x1p-24;
}

double normal(const RandomBits& bits, bool wide) {
  const double radius =
      wide ? static_cast<double>(bits.wide(0) + 1) * 0x1p-53 : (static_cast<double>(bits.words[0]) + 1) * 0x1p-32;
  const double angle =
      wide ? static_cast<double>(bits.wide(2)) * 0x1p-53 : static_cast<double>(bits.words[1] >> 8) * 0x1p-24;
  return std::sqrt(-2 * std::log(radius)) * std::cos(2 * 3.14159265358979323846 * angle);
}

// Against the formulas in double, one place at a time.
template <class T, int R, class Out>
void check(const Index<R>& shape, const Out& numbers, std::uint64_t draw, std::uint64_t seed, bool is_normal) {
  std::uint64_t place = 0;
  for_each_position(shape, [&](Index<R> at) {
    INFO("place ", place);
    const RandomBits bits = philox(place++, draw, seed);
    const double found = element(numbers, at);
    if (is_normal) {
      REQUIRE(std::abs(found - normal(bits, sizeof(T) == 8)) <= (sizeof(T) == 8 ? 1e-14 : 6e-6));
    } else {
      REQUIRE(found == uniform(bits, sizeof(T) == 8));
    }
  });
}

struct Scaled {  // an epilogue
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> lanes) const {
    y.store(at, Add::apply(Mul::apply(lanes, 4.0f), -2.0f));
  }
};

}  // namespace

TEST_CASE("philox: the known answers") {
  for (const Answer& each : answers) {
    const RandomBits bits = philox(each.place, each.draw, each.seed);
    for (int i = 0; i < 4; ++i) REQUIRE(bits.words[i] == each.words[i]);
  }
}

TEST_CASE_TEMPLATE("random numbers: each follows from its place, in every shape, dense or not", T, float, double) {
  for (const Index<3>& shape : {Index<3>{3, 5, 7}, Index<3>{1, 1, 33}, Index<3>{4, 0, 2}, Index<3>{2, 64, 1}}) {
    const Tensor<T, 3> like(shape);
    Tensor<T, 3> out(shape);
    random_uniform(like.view(), 17, out.view());
    check<T>(shape, out.view(), 0, 17, false);
    random_normal(like.view(), -5, out.view());
    check<T>(shape, out.view(), 0, static_cast<std::uint64_t>(-5), true);
    // Into what lies along another axis.
    Tensor<T, 3> turned(Index<3>{shape[2], shape[0], shape[1]});
    random_uniform(like.view(), 3, turned.view().template permute<1, 2, 0>());
    check<T>(shape, turned.view().template permute<1, 2, 0>(), 0, 3, false);
  }
  Tensor<T, 0> one(Index<0>{});
  random_uniform(one.view(), 1, one.view());
  check<T>(Index<0>{}, one.view(), 0, 1, false);
}

TEST_CASE("random numbers: other draws, and an epilogue") {
  const Tensor<float, 2> like(Index<2>{9, 31});
  Tensor<float, 2> out(like.shape), scaled(like.shape);
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-1}}) {
    const auto memory = std::make_unique<std::int64_t>(number);
    const View<const std::int64_t, 0> draw(memory.get(), Index<0>{});
    random_normal(like.view(), draw, 4, out.view());
    check<float>(like.shape, out.view(), static_cast<std::uint64_t>(number), 4, true);
    random_uniform(like.view(), draw, 4, out.view());
    check<float>(like.shape, out.view(), static_cast<std::uint64_t>(number), 4, false);
    random_uniform(like.view(), draw, 4, Scaled{scaled.view()});
    for_each_position(like.shape,
                      [&](Index<2> at) { REQUIRE(element(scaled.view(), at) == element(out.view(), at) * 4 - 2); });
  }
}

TEST_CASE("random numbers: distributed as they should be") {
#if defined(KGEN_SIMT)
  const std::int64_t count = 4'000;
#else
  const std::int64_t count = 400'000;
#endif
  const Tensor<float, 1> like(Index<1>{count});
  Tensor<float, 1> out(like.shape);
  const auto moment = [&](auto&& of) {
    double sum = 0;
    for (const float each : out.elements) sum += of(static_cast<double>(each));
    return sum / static_cast<double>(count);
  };
  const double error = 6 / std::sqrt(static_cast<double>(count));  // six standard deviations
  random_uniform(like.view(), 11, out.view());
  REQUIRE(std::abs(moment([](double x) { return x; }) - 0.5) <= error * 0.29);
  REQUIRE(std::abs(moment([](double x) { return x * x; }) - 1.0 / 3) <= error * 0.3);
  REQUIRE(moment([](double x) { return x < 0 || x >= 1 ? 1.0 : 0.0; }) == 0);
  random_normal(like.view(), 11, out.view());
  REQUIRE(std::abs(moment([](double x) { return x; })) <= error);
  REQUIRE(std::abs(moment([](double x) { return x * x; }) - 1) <= error * 1.42);
  REQUIRE(std::abs(moment([](double x) { return x * x * x * x; }) - 3) <= error * 9.8);
}
