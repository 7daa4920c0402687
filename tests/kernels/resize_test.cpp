// Resized tensors against sums over all elements by weights that are worked out place by place, in double: every way to
// count positions, sizes up, down and none, strides, prologue and epilogue, NaN and infinity.
#include "kgen/resize.hpp"

#include <functional>

#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "testing.hpp"

using namespace kgen;
using namespace kgen::testing;

namespace {

constexpr ResizeCoordinates all_coordinates[] = {
    ResizeCoordinates::half_pixel,         ResizeCoordinates::half_pixel_symmetric, ResizeCoordinates::pytorch_half_pixel,
    ResizeCoordinates::align_corners,      ResizeCoordinates::asymmetric,           ResizeCoordinates::tf_half_pixel_for_nn,
    ResizeCoordinates::tf_crop_and_resize,
};

// One axis, as ONNX writes it.
struct Axis {
  std::int64_t extent, size;
  double scale;  // 0: not given
  double begin = 0, end = 1;

  double position(std::int64_t i, ResizeCoordinates coordinates) const {
    using enum ResizeCoordinates;
    const double ratio = scale > 0 ? scale : double(size) / double(extent), length = ratio * double(extent);
    const double place = double(i), half = (place + 0.5) / ratio - 0.5;
    switch (coordinates) {
      case half_pixel: return half;
      case half_pixel_symmetric: return double(extent) / 2 * (1 - double(size) / length) + half;
      case pytorch_half_pixel: return size > 1 ? half : 0;
      case align_corners: return length > 1 ? place * double(extent - 1) / (length - 1) : 0;
      case asymmetric: return place / ratio;
      case tf_half_pixel_for_nn: return (place + 0.5) / ratio;
      case tf_crop_and_resize:
        if (!(length > 1)) return (begin + end) * double(extent - 1) / 2;
        return begin * double(extent - 1) + place * (end - begin) * double(extent - 1) / (length - 1);
    }
    return 0;
  }
  double shrinking() const { return std::max(1.0, scale > 0 ? 1 / scale : double(extent) / double(size)); }
};

using Weight = std::function<double(double)>;
const Weight linear = [](double d) { return std::max(0.0, 1 - d); };
Weight cubic(double a) {
  return [a](double d) {
    if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
    return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0.0;
  };
}

// What each element of the axis weighs at a position.
std::vector<double> weights(const Axis& axis, double position, const Weight& weight, double width, bool exclude) {
  std::vector<double> result(static_cast<std::size_t>(axis.extent));
  double total = 0;
  for (std::int64_t tap = -200; tap < axis.extent + 200; ++tap) {
    const bool outside = tap < 0 || tap >= axis.extent;
    if (outside && exclude) continue;
    const double share = weight(std::abs(double(tap) - position) / width);
    result[static_cast<std::size_t>(std::clamp<std::int64_t>(tap, 0, axis.extent - 1))] += share;
    total += share;
  }
  for (double& each : result) each /= total;
  return result;
}

struct Request {
  Index<2> sizes;
  Numbers<2> scales{};
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  bool antialias = false, exclude = false;
  Numbers<2> begin{{0.0, 0.0}}, end{{1.0, 1.0}};
};

Axis axis_of(const Request& request, const Index<2>& extents, int i) {
  return {extents[i], request.sizes[i], request.scales[i], request.begin[i], request.end[i]};
}

double expected(const View<const float, 2>& x, const Request& request, const Weight& weight, Index<2> at, double outside) {
  std::vector<double> shares[2];
  for (int i = 0; i < 2; ++i) {
    const Axis axis = axis_of(request, x.shape(), i);
    const double position = axis.position(at[i], request.coordinates);
    const bool crops = request.coordinates == ResizeCoordinates::tf_crop_and_resize;
    if (crops && (position < 0 || position > double(axis.extent - 1))) return outside;
    shares[i] = weights(axis, position, weight, request.antialias ? axis.shrinking() : 1, request.exclude);
  }
  double sum = 0;
  for_each_position(x.shape(), [&](Index<2> from) {
    const double share = shares[0][static_cast<std::size_t>(from[0])] * shares[1][static_cast<std::size_t>(from[1])];
    if (std::abs(share) > 1e-12) sum += share * element(x, from);
  });
  return sum;
}

void check_weighted(const View<const float, 2>& x, const Request& r) {
  Tensor<float, 2> y(r.sizes), z(r.sizes);
  resize_linear_to(x, r.sizes, r.scales, r.coordinates, r.antialias, r.exclude, r.begin, r.end, 9.0, y.view());
  resize_cubic_to(x, r.sizes, r.scales, r.coordinates, -0.6, r.antialias, r.exclude, r.begin, r.end, 9.0, z.view());
  INFO("coordinates ", static_cast<int>(r.coordinates), " of ", x.extent(0), ", ", x.extent(1), " to ", r.sizes[0], ", ", r.sizes[1]);
  for_each_position(r.sizes, [&](Index<2> at) {
    REQUIRE(element(y.view(), at) == doctest::Approx(expected(x, r, linear, at, 9)).epsilon(2e-5));
    REQUIRE(element(z.view(), at) == doctest::Approx(expected(x, r, cubic(-0.6), at, 9)).epsilon(2e-5));
  });
}

double nearest(double position, ResizeRounding rounding) {
  switch (rounding) {
    case ResizeRounding::floor: return std::floor(position);
    case ResizeRounding::ceil: return std::ceil(position);
    case ResizeRounding::round_prefer_floor: return std::ceil(position - 0.5);
    default: return std::floor(position + 0.5);
  }
}

struct Relued {  // a prologue
  View<const float, 2> x;
  KGEN_FN Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    return Relu::apply(x.load<W>(at));
  }
};
struct Doubled {  // an epilogue
  View<float, 2> y;
  template <int W>
  KGEN_FN void operator()(Index<2> at, Vec<float, W> lanes) const {
    y.store(at, Add::apply(lanes, lanes));
  }
};

const Numbers<2> zeros{{0.0, 0.0}}, ones{{1.0, 1.0}};

}  // namespace

TEST_CASE("resize: every way to count positions, up, down and to one") {
  for (const Index<2> extents : {Index<2>{1, 1}, Index<2>{4, 7}, Index<2>{9, 33}}) {
    const auto x = random_tensor<float>(extents, 3, 1, 3);
    for (const auto coordinates : all_coordinates) {
      for (const Index<2> sizes : {Index<2>{1, 1}, Index<2>{8, 14}, Index<2>{3, 40}, Index<2>{4, 5}, extents}) {
        check_weighted(x.view(), {sizes, {}, coordinates});
        check_weighted(x.view(), {sizes, {}, coordinates, false, true});
      }
    }
  }
}

TEST_CASE("resize: scales that are given, where sizes are rounded") {
  const auto x = random_tensor<float>(Index<2>{5, 21}, 4, 1, 3);
  for (const auto coordinates : all_coordinates) check_weighted(x.view(), {{3, 48}, {{0.625, 2.3}}, coordinates});
}

TEST_CASE("resize: parts of an image, and what is outside of it") {
  const auto x = random_tensor<float>(Index<2>{6, 20}, 5, 1, 3);
  check_weighted(x.view(), {{4, 30}, {}, ResizeCoordinates::tf_crop_and_resize, false, false, {{0.3, -0.2}}, {{0.8, 1.1}}});
}

TEST_CASE("resize: smaller without aliasing") {
  const auto x = random_tensor<float>(Index<2>{13, 50}, 6, 1, 3);
  for (const bool exclude : {false, true}) {
    check_weighted(x.view(), {{5, 17}, {}, ResizeCoordinates::half_pixel, true, exclude});
    check_weighted(x.view(), {{20, 9}, {}, ResizeCoordinates::align_corners, true, exclude});
    for (const auto coordinates : all_coordinates) check_weighted(x.view(), {{1, 1}, {}, coordinates, true, exclude});
  }
}

TEST_CASE_TEMPLATE("resize: the nearest element, of every kind", T, KGEN_TYPES((bf16, std::int64_t), float, double, std::int8_t)) {
  for (const Index<2> sizes : {Index<2>{14, 66}, Index<2>{3, 11}, Index<2>{7, 100}, Index<2>{1, 1}, Index<2>{0, 4}}) {
    const auto x = random_tensor<T>(Index<2>{7, 33}, 7, 1, 100);
    for (const auto coordinates : all_coordinates) {
      for (const auto rounding : {ResizeRounding::floor, ResizeRounding::ceil, ResizeRounding::round_prefer_floor,
                                  ResizeRounding::round_prefer_ceil}) {
        Tensor<T, 2> y(sizes);
        const View<const T, 2> from = x.view();
        resize_nearest_to(from, sizes, zeros, coordinates, rounding, zeros, ones, 5.0, y.view());
        for_each_position(sizes, [&](Index<2> at) {
          Index<2> place{};
          bool ambiguous = false;
          for (int i = 0; i < 2; ++i) {
            const double position = Axis{x.shape[i], sizes[i], 0}.position(at[i], coordinates);
            // In double the formula itself rounds: what is nearly halfway may go either way here.
            const double doubled = 2 * position;
            ambiguous = ambiguous || (std::abs(doubled - std::round(doubled)) < 1e-9 && doubled != std::round(doubled));
            place[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(nearest(position, rounding)), 0, x.shape[i] - 1);
            if (coordinates == ResizeCoordinates::tf_crop_and_resize) ambiguous = ambiguous || position > double(x.shape[i] - 1);
          }
          if (!ambiguous) REQUIRE(element(y.view(), at) == element(from, place));
        });
      }
    }
  }
}

TEST_CASE("resize: positions are exact where they are whole") {
  Tensor<std::int32_t, 1> x(Index<1>{101});
  for (std::size_t i = 0; i < 101; ++i) x.elements[i] = static_cast<std::int32_t>(i);
  const View<const std::int32_t, 1> from = x.view();
  const Numbers<1> zero{{0.0}}, one{{1.0}};
  for (const std::int64_t factor : {2, 3, 7, 10, 49}) {
    Tensor<std::int32_t, 1> y(Index<1>{101 * factor});
    resize_nearest_to(from, y.shape, zero, ResizeCoordinates::asymmetric, ResizeRounding::floor, zero, one, 0.0, y.view());
    for (std::int64_t i = 0; i < y.shape[0]; ++i) REQUIRE(y.elements[static_cast<std::size_t>(i)] == i / factor);
  }
  // A third and a tenth as f32 has them: the quotient is whole in f32, and not in f64.
  for (const std::int64_t factor : {3, 10}) {
    Tensor<std::int32_t, 1> y(Index<1>{101 / factor});
    const Numbers<1> scale{{static_cast<double>(1.0f / static_cast<float>(factor))}};
    resize_nearest_to(from, y.shape, scale, ResizeCoordinates::asymmetric, ResizeRounding::floor, zero, one, 0.0, y.view());
    for (std::int64_t i = 0; i < y.shape[0]; ++i) REQUIRE(y.elements[static_cast<std::size_t>(i)] == i * factor);
  }
}

TEST_CASE("resize: strides, a prologue and an epilogue; lanes of several channels") {
  const auto wide = random_tensor<float>(Index<2>{40, 6}, 8);
  const View<const float, 2> x = wide.view().permute<1, 0>();  // [6, 40]
  const Index<2> sizes{9, 40};
  Tensor<float, 2> y(sizes);
  resize_linear_to(Relued{x}, sizes, zeros, ResizeCoordinates::half_pixel, false, false, zeros, ones, 0.0, Doubled{y.view()});
  Tensor<float, 2> relued(x.shape());
  for_each_position(x.shape(), [&](Index<2> at) {
    relued.elements[static_cast<std::size_t>(flatten(at, x.shape()))] = static_cast<float>(std::max(0.0, element(x, at)));
  });
  const Request request{sizes};
  for_each_position(sizes, [&](Index<2> at) {
    REQUIRE(element(y.view(), at) == doctest::Approx(2 * expected(std::as_const(relued).view(), request, linear, at, 0)).epsilon(1e-5));
  });
}

TEST_CASE("resize: NaN and infinity reach what they weigh in, and nothing else") {
  Tensor<float, 2> x(Index<2>{1, 8});
  for (std::size_t i = 0; i < 8; ++i) x.elements[i] = static_cast<float>(i);
  x.elements[2] = not_a_number;
  x.elements[6] = infinity;
  const Index<2> sizes{1, 15};
  Tensor<float, 2> y(sizes);
  const View<const float, 2> from = x.view();
  resize_linear_to(from, sizes, zeros, ResizeCoordinates::align_corners, false, false, zeros, ones, 0.0, y.view());
  for (std::size_t i = 0; i < 15; ++i) {
    INFO(i);
    if (i >= 3 && i <= 5) CHECK(std::isnan(y.elements[i]));
    else if (i >= 11 && i <= 13) CHECK(y.elements[i] == infinity);
    else CHECK(y.elements[i] == doctest::Approx(static_cast<double>(i) / 2));
  }
}

TEST_CASE("resize: nothing, and something of nothing") {
  Tensor<float, 2> none(Index<2>{0, 3}), y(Index<2>{2, 3}), empty(Index<2>{0, 5});
  const View<const float, 2> from = none.view();
  resize_cubic_to(from, y.shape, zeros, ResizeCoordinates::half_pixel, -0.75, false, false, zeros, ones, 4.0, y.view());
  for (const float each : y.elements) CHECK(each == 4);
  resize_linear_to(std::as_const(y).view(), empty.shape, zeros, ResizeCoordinates::half_pixel, true, false, zeros, ones, 0.0, empty.view());
}

TEST_CASE("resize: three axes, in low precision") {
  const auto x = random_tensor<bf16>(Index<3>{3, 4, 5}, 9, 1, 2);
  const Index<3> sizes{6, 8, 10};
  const Numbers<3> none{{0.0, 0.0, 0.0}}, all{{1.0, 1.0, 1.0}};
  Tensor<float, 3> y(sizes);
  resize_linear_to(x.view(), sizes, none, ResizeCoordinates::half_pixel, false, false, none, all, 0.0, y.view());
  for_each_position(sizes, [&](Index<3> at) {
    std::vector<double> shares[3];
    for (int i = 0; i < 3; ++i) {
      const Axis axis{x.shape[i], sizes[i], 0};
      shares[i] = weights(axis, axis.position(at[i], ResizeCoordinates::half_pixel), linear, 1, false);
    }
    double sum = 0;
    for_each_position(x.shape, [&](Index<3> from) {
      double share = 1;
      for (int i = 0; i < 3; ++i) share *= shares[i][static_cast<std::size_t>(from[i])];
      sum += share * element(x.view(), from);
    });
    REQUIRE(element(y.view(), at) == doctest::Approx(sum).epsilon(1e-5));
  });
}
