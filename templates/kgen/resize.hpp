// Tensors at other sizes: each axis sampled at positions that lie evenly between its elements.
#pragma once

#include <cassert>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/view.hpp"

namespace kgen {

// Where place i of the result lies among the elements of x, element j being at j. With scale = size / extent, or the
// scale that is given, and then size = scale * extent, whether that is whole or not:
//   half_pixel            (i + 0.5) / scale - 0.5: pixels have an extent, and what they cover stays the same
//   half_pixel_symmetric  the same about the middle of x, also where the scale that is given is not size / extent
//   pytorch_half_pixel    the same; 0 of a result of one place
//   align_corners         i * (extent - 1) / (size - 1): the first and the last elements stay where they are
//   asymmetric            i / scale
//   tf_half_pixel_for_nn  (i + 0.5) / scale
//   tf_crop_and_resize    evenly from crop_begin * (extent - 1) to crop_end * (extent - 1); of one place, their middle
enum class ResizeCoordinates {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize
};

// Which element a position between two is nearest to; `floor` and `ceil` take that side, however far it is.
enum class ResizeRounding { round_prefer_floor, round_prefer_ceil, floor, ceil };

// Place i of axis a lies at (i + shifts[a]) * factors[a] / divisors[a] + offsets[a], which is exact where it is whole.
template <int R>
struct ResizeMap {
  Index<R> extents;  // of x
  Numbers<R> shifts, factors, divisors, offsets;
  Index<R> single;  // 1 where the scale was given, in f32: then so is the quotient, as whoever wrote it computes
  Index<R> same;    // 1 where each place is an element: place i element i
  bool crops;       // positions beyond the first and the last element are outside of x
  bool is_empty;    // x has no elements

  KGEN_FN double position(int axis, std::int64_t i) const {
    const double quotient = (static_cast<double>(i) + shifts[axis]) * factors[axis] / divisors[axis];
    return (single[axis] != 0 ? static_cast<double>(static_cast<float>(quotient)) : quotient) + offsets[axis];
  }
  KGEN_FN bool is_outside(int axis, double position) const {
    return is_empty || (crops && (position < 0 || position > static_cast<double>(extents[axis] - 1)));
  }
  // The element that stands for one beyond the ends: the nearest.
  KGEN_FN std::int64_t clamped(int axis, std::int64_t element) const {
    const std::int64_t last = extents[axis] - 1;
    return element < 0 ? 0 : element > last ? last : element;
  }
};

namespace detail {

struct ResizeAxis {
  double shift = 0, factor = 0, divisor = 1, offset = 0;
};

inline ResizeAxis resize_axis(std::int64_t extent, std::int64_t size, double scale, ResizeCoordinates coordinates,
                              double crop_begin, double crop_end) {
  using enum ResizeCoordinates;
  // As many places as the scale makes, also where they are no whole number.
  const auto length = static_cast<double>(extent), last = length - 1;
  const double places = scale > 0 ? scale * length : static_cast<double>(size);
  ResizeAxis axis;
  if (coordinates == align_corners) {
    if (places > 1) axis.factor = last, axis.divisor = places - 1;
    return axis;
  }
  if (coordinates == tf_crop_and_resize) {
    axis.offset = (places > 1 ? crop_begin : (crop_begin + crop_end) / 2) * last;
    if (places > 1) axis.factor = (crop_end - crop_begin) * last, axis.divisor = places - 1;
    return axis;
  }
  if (coordinates == pytorch_half_pixel && size <= 1) return axis;
  axis.factor = scale > 0 ? 1 : length;
  axis.divisor = scale > 0 ? scale : places > 0 ? places : 1;
  axis.shift = coordinates == asymmetric ? 0 : 0.5;
  axis.offset = coordinates == asymmetric || coordinates == tf_half_pixel_for_nn ? 0 : -0.5;
  if (coordinates == half_pixel_symmetric && scale > 0 && extent > 0) {
    axis.offset += length / 2 * (1 - static_cast<double>(size) / places);
  }
  return axis;
}

}  // namespace detail

template <int R>
ResizeMap<R> resize_map(const Index<R>& extents, const Index<R>& sizes, const Numbers<R>& scales,
                        ResizeCoordinates coordinates, const Numbers<R>& crop_begin, const Numbers<R>& crop_end) {
  ResizeMap<R> map{extents,
                   {},
                   {},
                   {},
                   {},
                   {},
                   {},
                   coordinates == ResizeCoordinates::tf_crop_and_resize,
                   element_count(extents) == 0};
  for (int i = 0; i < R; ++i) {
    assert(sizes[i] >= 0 && scales[i] >= 0);
    const auto axis = detail::resize_axis(extents[i], sizes[i], scales[i], coordinates, crop_begin[i], crop_end[i]);
    map.shifts.values[i] = axis.shift;
    map.factors.values[i] = axis.factor;
    map.divisors.values[i] = axis.divisor;
    map.offsets.values[i] = axis.offset;
    map.single[i] = scales[i] > 0 ? 1 : 0;
    const bool steps = sizes[i] == 1 || axis.factor == axis.divisor;
    map.same[i] = sizes[i] <= extents[i] && steps && map.position(i, 0) == 0 ? 1 : 0;
  }
  return map;
}

// The element nearest to each position.
template <int R, class X>
struct NearestElements {
  using Lane = source_lane_t<X, R>;
  X x;
  ResizeMap<R> map;
  ResizeRounding rounding;
  Lane outside;

  template <int W>
  KGEN_FN Vec<Lane, W> load(Index<R> at) const {
    bool inside = !map.is_empty;
    KGEN_UNROLL
    for (int axis = 0; axis < R - 1; ++axis) inside = move(axis, at) && inside;
    if (!inside) return Vec<Lane, W>(outside);
    if (map.same[R - 1] != 0) return x.template load<W>(at);
    Lane elements[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      Index<R> from = at;
      from[R - 1] += i;
      elements[i] = move(R - 1, from) ? x.template load<1>(from).data : outside;
    }
    return load_lanes<W>(elements);
  }

  // Takes a place along an axis to its element. False where it is outside of x.
  KGEN_FN bool move(int axis, Index<R>& at) const {
    if (map.same[axis] != 0) return true;
    const double position = map.position(axis, at[axis]);
    if (map.is_outside(axis, position)) return false;
    at[axis] = map.clamped(axis, static_cast<std::int64_t>(nearest(Vec<double, 1>(position)).data));
    return true;
  }

  KGEN_FN Vec<double, 1> nearest(const Vec<double, 1>& position) const {
    if (rounding == ResizeRounding::floor) return floor(position);
    if (rounding == ResizeRounding::ceil) return ceil(position);
    if (rounding == ResizeRounding::round_prefer_floor) return ceil(position - Vec<double, 1>(0.5));
    return floor(position + Vec<double, 1>(0.5));
  }
};

// What an element weighs at a distance from it, in elements: of those within `reach`.
struct LinearWeight {
  static constexpr int reach = 1;

  template <class T>
  KGEN_FN T operator()(T distance) const {
    return distance < 1 ? 1 - distance : T(0);
  }
};
struct CubicWeight {
  static constexpr int reach = 2;
  double slope;  // at distance 1

  template <class T>
  KGEN_FN T operator()(T distance) const {
    const T a = static_cast<T>(slope);
    if (distance < 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
    return distance < 2 ? ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a : T(0);
  }
};

// Sums of the elements around each position, by weight. An element without weight is not read.
template <int R, class X, class Weight>
struct WeightedElements {
  using T = source_lane_t<X, R>;
  X x;
  ResizeMap<R> map;
  Weight weight;
  Numbers<R> widths;      // by how much weights are stretched: more than 1 where x is made smaller without aliasing
  bool excludes_outside;  // what is beyond the ends weighs nothing; else it is as the element at the end
  T outside;

  template <int W>
  KGEN_FN Vec<T, W> load(Index<R> at) const {
    bool inside = !map.is_empty;
    KGEN_UNROLL
    for (int axis = 0; axis < R - 1; ++axis) {
      inside = inside && (map.same[axis] != 0 || !map.is_outside(axis, map.position(axis, at[axis])));
    }
    if (!inside) return Vec<T, W>(outside);
    return sum<0, W>(at);
  }

  // In front of Axis `at` is an element of x, from there on a place of the result.
  template <int Axis, int W>
  KGEN_FN Vec<T, W> sum(Index<R> at) const {
    if constexpr (Axis == R - 1) {
      if (map.same[Axis] != 0) return x.template load<W>(at);
      return line<W>(at);
    } else {
      Vec<T, W> total(T(0));
      // What follows is long: it stands here once for axes that stay as they are, too.
      const double place = map.same[Axis] != 0 ? static_cast<double>(at[Axis]) : map.position(Axis, at[Axis]);
      for_each_tap(Axis, place, [&](std::int64_t element, T share) KGEN_LAMBDA {
        at[Axis] = element;
        total = multiply_add(Vec<T, W>(share), sum<Axis + 1, W>(at), total);
      });
      return total;
    }
  }

  // Along the last axis.
  template <int W>
  KGEN_FN Vec<T, W> line(const Index<R>& at) const {
    T lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      const double position = map.position(R - 1, at[R - 1] + i);
      Index<R> from = at;
      T total = T(0);
      for_each_tap(R - 1, position, [&](std::int64_t element, T share) KGEN_LAMBDA {
        from[R - 1] = element;
        total += share * x.template load<1>(from).data;
      });
      lanes[i] = map.is_outside(R - 1, position) ? outside : total;
    }
    return load_lanes<W>(lanes);
  }

  // body(element, share) for each element that weighs something at a position of an axis; their shares are 1 in all.
  template <class Body>
  KGEN_FN void for_each_tap(int axis, double position, const Body& body) const {
    // Taps are counted from the element in front of the position, so that their distances need no f64.
    const double below = floor(Vec<double, 1>(position)).data;
    const auto base = static_cast<std::int64_t>(below);
    const T fraction = static_cast<T>(position - below), width = static_cast<T>(widths[axis]);
    const int reach = static_cast<int>(ceil(Vec<T, 1>(Weight::reach * width)).data);
    const auto share_of = [&](int tap) KGEN_LAMBDA {
      const T distance = static_cast<T>(tap) - fraction;
      const bool counts = !excludes_outside || (base + tap >= 0 && base + tap < map.extents[axis]);
      return counts ? weight((distance < 0 ? -distance : distance) / width) : T(0);
    };
    T total = 1;
    if (width > 1 || excludes_outside) {
      total = 0;
      for (int tap = 1 - reach; tap <= reach; ++tap) total += share_of(tap);
    }
    for (int tap = 1 - reach; tap <= reach; ++tap) {
      const T share = share_of(tap);
      if (share != 0) body(map.clamped(axis, base + tap), share / total);
    }
  }
};

// Where sizes are known they are an argument, and an epilogue may take the results: kernels of any tensor with an axis.
//
// out[i, j, ...] is the element of x that is nearest to where place [i, j, ...] lies, for each axis alone. sizes: the
// shape of out. scales: by how much x grows along each axis; 0: by size / extent. crop_begin, crop_end: parts of x's
// axes, for tf_crop_and_resize, where what is outside of x is `outside`; elsewhere it is the nearest element. Of an x
// without elements, all are `outside`.
template <int N, Source<N> X, Sink<source_lane_t<X, N>, N> Out>
KGEN_KERNEL(resize_nearest, "rank(x) >= 1")
void resize_nearest_to(const X& x, Index<N> sizes, Numbers<N> scales, ResizeCoordinates coordinates,
                       ResizeRounding rounding, Numbers<N> crop_begin, Numbers<N> crop_end, double outside,
                       const Out& out, Stream stream = {}) {
  using Lane = source_lane_t<X, N>;
  const auto map = resize_map<N>(x.shape(), sizes, scales, coordinates, crop_begin, crop_end);
  const auto lane = static_cast<Lane>(convert<Lane>(Vec<double, 1>(outside)).data);
  copy(sizes, NearestElements<N, X>{x, map, rounding, lane}, out, stream);
}

namespace detail {

template <int R, class X, class Weight, class Out>
void resize_weighted(const X& x, const Weight& weight, ResizeMap<R> map, const Index<R>& sizes,
                     const Numbers<R>& scales, bool antialias, bool exclude_outside, double outside, const Out& out,
                     Stream stream) {
  Numbers<R> widths{};
  for (int i = 0; i < R; ++i) {
    const double shrinks =
        scales[i] > 0 ? 1 / scales[i] : static_cast<double>(map.extents[i]) / static_cast<double>(sizes[i]);
    widths.values[i] = antialias && shrinks > 1 ? shrinks : 1;
    if (widths.values[i] > 1) map.same[i] = 0;  // a place that is an element weighs its neighbours too
  }
  using T = source_lane_t<X, R>;
  const WeightedElements<R, X, Weight> source{x, map, weight, widths, exclude_outside, static_cast<T>(outside)};
  copy(sizes, source, out, stream);
}

}  // namespace detail

// The same where only the run knows the sizes, which are those of out.
template <int N, Source<N> X, Element T>
KGEN_KERNEL(resize_nearest)
void resize_nearest(const X& x, Numbers<N> scales, ResizeCoordinates coordinates, ResizeRounding rounding,
                    Numbers<N> crop_begin, Numbers<N> crop_end, double outside, const View<T, N>& out,
                    Stream stream = {}) {
  resize_nearest_to(x, out.shape(), scales, coordinates, rounding, crop_begin, crop_end, outside, out, stream);
}

// The same with what lies on straight lines between neighbours. antialias: where x is made smaller, elements weigh as
// far as the places lie apart. exclude_outside: what is beyond the ends of x has no weight; else it is as the element
// at the end. A prologue on x is evaluated once for each element and place.
template <int N, Source<N> X, Sink<source_lane_t<X, N>, N> Out>
KGEN_KERNEL(resize_linear, "rank(x) >= 1")
void resize_linear_to(const X& x, Index<N> sizes, Numbers<N> scales, ResizeCoordinates coordinates, bool antialias,
                      bool exclude_outside, Numbers<N> crop_begin, Numbers<N> crop_end, double outside, const Out& out,
                      Stream stream = {}) requires Float<source_lane_t<X, N>> {
  const auto map = resize_map<N>(x.shape(), sizes, scales, coordinates, crop_begin, crop_end);
  detail::resize_weighted<N>(x, LinearWeight{}, map, sizes, scales, antialias, exclude_outside, outside, out, stream);
}

// The same where only the run knows the sizes, which are those of out.
template <int N, Source<N> X, Float T>
KGEN_KERNEL(resize_linear)
void resize_linear(const X& x, Numbers<N> scales, ResizeCoordinates coordinates, bool antialias, bool exclude_outside,
                   Numbers<N> crop_begin, Numbers<N> crop_end, double outside, const View<T, N>& out,
                   Stream stream = {}) requires Float<source_lane_t<X, N>> {
  resize_linear_to(x, out.shape(), scales, coordinates, antialias, exclude_outside, crop_begin, crop_end, outside, out,
                   stream);
}

// The same with Keys's cubic convolution over four neighbours along each axis, whose slope at distance 1 is
// `coefficient`.
template <int N, Source<N> X, Sink<source_lane_t<X, N>, N> Out>
KGEN_KERNEL(resize_cubic, "rank(x) >= 1")
void resize_cubic_to(const X& x, Index<N> sizes, Numbers<N> scales, ResizeCoordinates coordinates, double coefficient,
                     bool antialias, bool exclude_outside, Numbers<N> crop_begin, Numbers<N> crop_end, double outside,
                     const Out& out, Stream stream = {}) requires Float<source_lane_t<X, N>> {
  const auto map = resize_map<N>(x.shape(), sizes, scales, coordinates, crop_begin, crop_end);
  detail::resize_weighted<N>(x, CubicWeight{coefficient}, map, sizes, scales, antialias, exclude_outside, outside, out,
                             stream);
}

// The same where only the run knows the sizes, which are those of out.
template <int N, Source<N> X, Float T>
KGEN_KERNEL(resize_cubic)
void resize_cubic(const X& x, Numbers<N> scales, ResizeCoordinates coordinates, double coefficient, bool antialias,
                  bool exclude_outside, Numbers<N> crop_begin, Numbers<N> crop_end, double outside,
                  const View<T, N>& out, Stream stream = {}) requires Float<source_lane_t<X, N>> {
  resize_cubic_to(x, out.shape(), scales, coordinates, coefficient, antialias, exclude_outside, crop_begin, crop_end,
                  outside, out, stream);
}

}  // namespace kgen
