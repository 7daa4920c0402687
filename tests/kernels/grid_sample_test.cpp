// Images read at positions, against sums over all elements of the padded image by weights that are worked out in double.
#include "kgen/grid_sample.hpp"

#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Rule {
  SampleMode mode;
  SamplePadding padding;
  bool align;
};

// One end to the other and back again, with the ends halfway between elements or in their middles.
double reflected(double place, double low, double high) {
  if (high <= low) return low;
  while (place < low || place > high) place = place < low ? 2 * low - place : 2 * high - place;
  return place;
}

double position(double number, std::int64_t extent, const Rule& rule) {
  const double length = double(extent), low = rule.align ? 0 : -0.5, high = length - 1 - low;
  double place = rule.align ? (number + 1) / 2 * (length - 1) : ((number + 1) * length - 1) / 2;
  if (rule.mode == SampleMode::nearest) place = std::nearbyint(place);
  if (place >= low && place <= high) return place;
  if (rule.padding == SamplePadding::border) return std::clamp(place, 0.0, length - 1);
  return rule.padding == SamplePadding::reflection ? reflected(place, low, high) : place;
}

double weight(double distance, SampleMode mode) {
  const double d = std::abs(distance), a = -0.75;
  if (mode == SampleMode::nearest) return d == 0 ? 1 : 0;
  if (mode == SampleMode::linear) return std::max(0.0, 1 - d);
  return d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1 : d < 2 ? a * (d * d * d - 5 * d * d + 8 * d - 4) : 0;
}

// By element of an axis.
std::vector<double> shares(double number, std::int64_t extent, const Rule& rule) {
  std::vector<double> result(static_cast<std::size_t>(extent));
  double place = position(number, extent, rule);
  if (rule.mode == SampleMode::nearest) place = std::floor(place);
  for (std::int64_t tap = -60; tap < extent + 60; ++tap) {
    double at = double(tap);
    if (rule.padding == SamplePadding::border) at = std::clamp(at, 0.0, double(extent - 1));
    if (rule.padding == SamplePadding::reflection) {
      at = std::trunc(reflected(at, rule.align ? 0 : -0.5, double(extent) - (rule.align ? 1 : 0.5)));
    }
    if (at >= 0 && at < double(extent)) result[static_cast<std::size_t>(at)] += weight(double(tap) - place, rule.mode);
  }
  return result;
}

constexpr SampleMode modes[] = {SampleMode::nearest, SampleMode::linear, SampleMode::cubic};
constexpr SamplePadding paddings[] = {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection};

template <class Body>
void for_each_rule(const Body& body) {
  for (const SampleMode mode : modes) {
    for (const SamplePadding padding : paddings) {
      for (const bool align : {false, true}) body(Rule{mode, padding, align});
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("grid_sample: images, in and out of them", T, KGEN_TYPES((float), double)) {
  for (const Index<4> extents : {Index<4>{2, 3, 5, 7}, Index<4>{1, 1, 1, 1}, Index<4>{1, 2, 8, 1}}) {
    const auto x = random_tensor<T>(extents, 1);
    const auto grid = random_tensor<T>(Index<4>{extents[0], 4, 19, 2}, 2, -2.5, 2.5);
    for_each_rule([&](const Rule& rule) {
      const Index<4> shape{extents[0], extents[1], 4, 19};
      Tensor<T, 4> y(shape);
      grid_sample2d(x.view(), grid.view(), rule.mode, rule.padding, rule.align, SampleUnit::halves, y.view());
      INFO(static_cast<int>(rule.mode), " ", static_cast<int>(rule.padding), " ", rule.align);
      for_each_position(shape, [&](Index<4> at) {
        const auto number = [&](int i) { return element(grid.view(), Index<4>{at[0], at[2], at[3], i}); };
        const auto rows = shares(number(1), extents[2], rule), columns = shares(number(0), extents[3], rule);
        double sum = 0;
        for (std::int64_t i = 0; i < extents[2]; ++i) {
          for (std::int64_t j = 0; j < extents[3]; ++j) {
            sum += rows[static_cast<std::size_t>(i)] * columns[static_cast<std::size_t>(j)] * element(x.view(), Index<4>{at[0], at[1], i, j});
          }
        }
        REQUIRE(element(y.view(), at) == doctest::Approx(sum).epsilon(1e-4));
      });
    });
  }
}

TEST_CASE("grid_sample: volumes") {
  const Index<5> extents{1, 2, 3, 4, 5}, shape{1, 2, 2, 3, 4};
  const auto x = random_tensor<float>(extents, 3);
  const auto grid = random_tensor<float>(Index<5>{1, 2, 3, 4, 3}, 4, -1.5, 1.5);
  for_each_rule([&](const Rule& rule) {
    Tensor<float, 5> y(shape);
    grid_sample3d(x.view(), grid.view(), rule.mode, rule.padding, rule.align, SampleUnit::halves, y.view());
    for_each_position(shape, [&](Index<5> at) {
      std::vector<double> by_axis[3];
      for (int i = 0; i < 3; ++i) {
        by_axis[i] = shares(element(grid.view(), Index<5>{0, at[2], at[3], at[4], 2 - i}), extents[2 + i], rule);
      }
      double sum = 0;
      for_each_position(Index<3>{3, 4, 5}, [&](Index<3> from) {
        double share = 1;
        for (int i = 0; i < 3; ++i) share *= by_axis[i][static_cast<std::size_t>(from[i])];
        sum += share * element(x.view(), Index<5>{0, at[1], from[0], from[1], from[2]});
      });
      REQUIRE(element(y.view(), at) == doctest::Approx(sum).epsilon(1e-4));
    });
  });
}

TEST_CASE("grid_sample: positions that are no numbers, and infinite ones; nothing at all") {
  const auto x = random_tensor<float>(Index<4>{1, 1, 4, 4}, 5);
  Tensor<float, 4> grid(Index<4>{1, 1, 3, 2}), y(Index<4>{1, 1, 1, 3});
  grid.elements = {not_a_number, 0, infinity, 0, 0, -infinity};
  const View<const float, 4> places = grid.view();
  grid_sample2d(x.view(), places, SampleMode::linear, SamplePadding::zeros, false, SampleUnit::halves, y.view());
  CHECK(std::isnan(y.elements[0]));
  CHECK(y.elements[1] == 0);
  CHECK(y.elements[2] == 0);
  grid_sample2d(x.view(), places, SampleMode::cubic, SamplePadding::border, true, SampleUnit::halves, y.view());
  CHECK(std::isfinite(y.elements[1]));
  grid_sample2d(x.view(), places, SampleMode::linear, SamplePadding::reflection, false, SampleUnit::halves, y.view());
  CHECK(std::isnan(y.elements[1]));
  Tensor<float, 4> none(Index<4>{1, 1, 0, 4}), some(Index<4>{1, 1, 1, 3});
  grid.elements = {0, 0, 0.5, 0, 0, -2};
  for (const SamplePadding padding : paddings) {
    grid_sample2d(std::as_const(none).view(), places, SampleMode::linear, padding, false, SampleUnit::halves,
                  some.view());
    for (const float each : some.elements) CHECK(each == 0);
  }
  Tensor<float, 4> no_places(Index<4>{1, 0, 3, 2}), empty(Index<4>{1, 1, 0, 3});
  grid_sample2d(x.view(), std::as_const(no_places).view(), SampleMode::linear, SamplePadding::zeros, false,
                SampleUnit::halves, empty.view());
}

TEST_CASE("grid_sample: low precision, and elements without weight do not count") {
  Tensor<bf16, 4> x(Index<4>{1, 1, 1, 3}), y(Index<4>{1, 1, 1, 3});
  x.elements = {bf16(1.0f), bf16(not_a_number), bf16(3.0f)};
  Tensor<float, 4> grid(Index<4>{1, 1, 3, 2});
  grid.elements = {-1, 0, 0, 0, 1, 0};
  grid_sample2d(std::as_const(x).view(), std::as_const(grid).view(), SampleMode::linear, SamplePadding::zeros, true,
                SampleUnit::halves, y.view());
  CHECK(static_cast<float>(y.elements[0]) == 1);
  CHECK(std::isnan(static_cast<float>(y.elements[1])));
  CHECK(static_cast<float>(y.elements[2]) == 3);
}

TEST_CASE("grid_sample: positions that count elements") {
  const Index<4> extents{2, 2, 5, 6};
  const auto x = random_tensor<float>(extents, 6), grid = random_tensor<float>(Index<4>{2, 3, 7, 2}, 7, -2, 7);
  for (const SamplePadding padding : {SamplePadding::zeros, SamplePadding::border}) {
    const Rule rule{SampleMode::linear, padding, true};
    Tensor<float, 4> y(Index<4>{2, 2, 3, 7});
    grid_sample2d(x.view(), grid.view(), rule.mode, padding, true, SampleUnit::elements, y.view());
    for_each_position(y.shape, [&](Index<4> at) {
      const auto halves = [&](int i, std::int64_t extent) {
        return element(grid.view(), Index<4>{at[0], at[2], at[3], i}) / double(extent - 1) * 2 - 1;
      };
      const auto rows = shares(halves(1, 5), 5, rule), columns = shares(halves(0, 6), 6, rule);
      double sum = 0;
      for_each_position(Index<2>{5, 6}, [&](Index<2> from) {
        sum += rows[static_cast<std::size_t>(from[0])] * columns[static_cast<std::size_t>(from[1])] *
               element(x.view(), Index<4>{at[0], at[1], from[0], from[1]});
      });
      REQUIRE(element(y.view(), at) == doctest::Approx(sum).epsilon(1e-5));
    });
  }
}
