// Regions of images against the plain rules, worked out in double from the whole image.
#include "kgen/regions.hpp"

#include <algorithm>
#include <utility>

#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

struct Rule {
  std::int64_t height, width, samples;
  double scale;
  bool half_pixel;
  RegionMode mode;
};

// What each element of an axis weighs at a position: [below, above] and their shares, nothing outside.
std::vector<std::pair<std::int64_t, double>> shares(double position, std::int64_t extent) {
  if (position < -1 || position > double(extent) || extent == 0) return {};
  const double at = std::clamp(position, 0.0, double(extent - 1));
  const auto below = static_cast<std::int64_t>(std::floor(at));
  return {{below, 1 - (at - double(below))}, {std::min(below + 1, extent - 1), at - double(below)}};
}

template <class T, class P>
double aligned(const Tensor<T, 4>& x, const Tensor<P, 2>& regions, std::int64_t image, Index<4> at, const Rule& rule) {
  double begin[2], bin[2];
  std::int64_t samples[2];
  for (int axis = 0; axis < 2; ++axis) {
    const double shift = rule.half_pixel ? 0.5 : 0;
    const auto corner = [&](int i) { return element(regions.view(), Index<2>{at[0], i}) * rule.scale - shift; };
    double extent = corner(3 - axis) - corner(1 - axis);
    if (!rule.half_pixel) extent = std::max(extent, 1.0);
    begin[axis] = corner(1 - axis);
    bin[axis] = extent / double(axis == 0 ? rule.height : rule.width);
    samples[axis] = rule.samples > 0 ? rule.samples : static_cast<std::int64_t>(std::max(std::ceil(bin[axis]), 0.0));
  }
  double total = 0, greatest = -1e300;
  for (std::int64_t i = 0; i < samples[0]; ++i) {
    for (std::int64_t j = 0; j < samples[1]; ++j) {
      const auto position = [&](int axis, std::int64_t sample) {
        return begin[axis] + (double(at[2 + axis]) + (double(sample) + 0.5) / double(samples[axis])) * bin[axis];
      };
      const auto rows = shares(position(0, i), x.shape[2]), columns = shares(position(1, j), x.shape[3]);
      double most = rows.empty() || columns.empty() ? 0 : -1e300;
      for (const auto& [row, row_share] : rows) {
        for (const auto& [column, column_share] : columns) {
          const double part = row_share * column_share * element(x.view(), Index<4>{image, at[1], row, column});
          total += part;
          most = std::max(most, part);
        }
      }
      greatest = std::max(greatest, most);
    }
  }
  const std::int64_t count = samples[0] * samples[1];
  if (rule.mode == RegionMode::max) return count > 0 ? greatest : 0;
  return count > 0 ? total / double(count) : 0;
}

// Corners in eighths, which are exact however they are scaled; some regions lie outside, some the wrong way round.
template <class P>
Tensor<P, 2> some_regions(std::int64_t count, std::int64_t numbers, double most, std::uint32_t seed) {
  Tensor<P, 2> regions(Index<2>{count, numbers});
  std::mt19937 generator(seed);
  for (P& each : regions.elements) {
    each = static_cast<P>(static_cast<float>(generator() % static_cast<unsigned>(8 * (most + 6))) / 8 - 3);
  }
  return regions;
}

}  // namespace

TEST_CASE_TEMPLATE("roi_align: averages and maxima, in and out of the image", T, KGEN_TYPES((float), double, bf16)) {
  using P = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const Index<4> extents{3, 2, 7, 9};
  const auto x = random_tensor<T>(extents, 1);
  const auto regions = some_regions<P>(9, 4, 11, 2);
  Tensor<std::int64_t, 1> images(Index<1>{9});
  for (std::size_t i = 0; i < 9; ++i) images.elements[i] = static_cast<std::int64_t>(i * 2 % 3);
  for (const RegionMode mode : {RegionMode::avg, RegionMode::max}) {
    for (const bool half_pixel : {false, true}) {
      for (const std::int64_t samples : {0, 1, 3}) {
        const Rule rule{3, 5, samples, 0.5, half_pixel, mode};
        const Index<4> shape{9, 2, 3, 5};
        Tensor<compute_t<T>, 4> y(shape);
        roi_align(x.view(), regions.view(), std::as_const(images).view(), 3, 5, samples, 0.5, half_pixel, mode,
                  y.view());
        for_each_position(shape, [&](Index<4> at) {
          INFO(half_pixel, samples, " at ", at[0], ", ", at[1], ", ", at[2], ", ", at[3]);
          const double expected = aligned(x, regions, images.elements[static_cast<std::size_t>(at[0])], at, rule);
          REQUIRE(std::abs(element(y.view(), at) - expected) <= 1e-5);
        });
      }
    }
  }
}

TEST_CASE("roi_align: no region, no image, and numbers that are none") {
  const auto x = random_tensor<float>(Index<4>{2, 1, 4, 4}, 3);
  Tensor<float, 2> regions(Index<2>{5, 4});
  regions.elements = {0, 0, 2, 2, 0, 0, not_a_number, 2, 0, 0, infinity, 2, 0, 0, 2, 2, 0, 0, 1e9f, 1};
  Tensor<std::int32_t, 1> images(Index<1>{5});
  images.elements = {2, 0, 0, -1, 1};
  Tensor<float, 4> y(Index<4>{5, 1, 1, 1});
  roi_align(x.view(), std::as_const(regions).view(), std::as_const(images).view(), 1, 1, 0, 1, true, RegionMode::avg,
            y.view());
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::isnan(y.elements[i]));
  CHECK(std::isfinite(y.elements[4]));
  Tensor<float, 2> none(Index<2>{0, 4});
  Tensor<std::int32_t, 1> no_images(Index<1>{0});
  Tensor<float, 4> nothing(Index<4>{0, 1, 2, 2}), outside(Index<4>{5, 1, 2, 2});
  roi_align(x.view(), std::as_const(none).view(), std::as_const(no_images).view(), 2, 2, 0, 1, true, RegionMode::avg,
            nothing.view());
  Tensor<float, 4> empty(Index<4>{1, 1, 0, 4});
  images.elements = {0, 0, 0, 0, 0};
  regions.elements = std::vector<float>(20, 0.5f);
  roi_align(std::as_const(empty).view(), std::as_const(regions).view(), std::as_const(images).view(), 2, 2, 2, 1, false,
            RegionMode::avg, outside.view());
  for (const float each : outside.elements) CHECK(each == 0);
}

TEST_CASE_TEMPLATE("max_roi_pool: every bin", T, KGEN_TYPES((float), double, f16)) {
  const Index<4> extents{2, 3, 6, 8};
  auto x = random_tensor<T>(extents, 4);
  x.elements[50] = static_cast<T>(not_a_number);
  auto regions = some_regions<float>(11, 5, 9, 5);
  for (std::int64_t i = 0; i < 11; ++i) regions.elements[static_cast<std::size_t>(5 * i)] = static_cast<float>(i % 3);
  for (const double scale : {1.0, 0.5}) {
    const Index<4> shape{11, 3, 2, 4};
    Tensor<compute_t<T>, 4> y(shape);
    max_roi_pool(std::as_const(x).view(), std::as_const(regions).view(), 2, 4, scale, y.view());
    for_each_position(shape, [&](Index<4> at) {
      const auto number = [&](int i) { return element(regions.view(), Index<2>{at[0], i}); };
      const double value = element(y.view(), at);
      INFO(scale, " at ", at[0], ", ", at[1], ", ", at[2], ", ", at[3]);
      if (number(0) >= 2) {
        REQUIRE(std::isnan(value));
        return;
      }
      std::int64_t begin[2], end[2];
      for (int axis = 0; axis < 2; ++axis) {
        const auto first = std::llround(number(2 - axis) * scale), last = std::llround(number(4 - axis) * scale);
        const double size = double(std::max<std::int64_t>(last - first + 1, 1)), bins = axis == 0 ? 2 : 4;
        begin[axis] = first + static_cast<std::int64_t>(std::floor(double(at[2 + axis]) * size / bins));
        end[axis] = first + static_cast<std::int64_t>(std::ceil(double(at[2 + axis] + 1) * size / bins));
        begin[axis] = std::clamp<std::int64_t>(begin[axis], 0, extents[2 + axis]);
        end[axis] = std::clamp<std::int64_t>(end[axis], 0, extents[2 + axis]);
      }
      double most = begin[0] < end[0] && begin[1] < end[1] ? -1e300 : 0;
      bool has_nan = false;
      for (std::int64_t i = begin[0]; i < end[0]; ++i) {
        for (std::int64_t j = begin[1]; j < end[1]; ++j) {
          const double each = element(x.view(), Index<4>{static_cast<std::int64_t>(number(0)), at[1], i, j});
          has_nan = has_nan || std::isnan(each);
          most = std::max(most, each);
        }
      }
      REQUIRE((has_nan ? std::isnan(value) : value == most));
    });
  }
}
