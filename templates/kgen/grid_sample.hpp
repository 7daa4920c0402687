// Images read at the positions that a grid names.
#pragma once

#include <cassert>
#include <limits>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/resize.hpp"
#include "kgen/view.hpp"

namespace kgen {

enum class SampleMode { nearest, linear, cubic };

// What is outside of an image: 0, its nearest element, or its mirror image.
enum class SamplePadding { zeros, border, reflection };

// What the numbers of a grid count: halves of the image from its middle on, or elements from the first one's middle on.
enum class SampleUnit { halves, elements };

// The R - 2 axes of an image are sampled, the last by the first number of the grid.
template <int R, class X, class Grid>
struct GridSamples {
  using T = source_lane_t<X, R>;
  using P = source_lane_t<Grid, R>;
  X x;
  Grid grid;
  Index<R> extents;  // of x
  SampleMode mode;
  SamplePadding padding;
  bool align_corners;
  SampleUnit unit;

  template <int W>
  KGEN_FN Vec<T, W> load(Index<R> at) const {
    T lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      Index<R> each = at;
      each[R - 1] += i;
      lanes[i] = sample(each);
    }
    return load_lanes<W>(lanes);
  }

  KGEN_FN T sample(const Index<R>& at) const {
    Numbers<R> positions{};
    bool is_number = true;
    KGEN_UNROLL
    for (int axis = 2; axis < R; ++axis) {
      Index<R> from{};
      from[0] = at[0];
      KGEN_UNROLL
      for (int i = 2; i < R; ++i) from[i - 1] = at[i];
      from[R - 1] = R - 1 - axis;
      positions.values[axis] = position(axis, grid.template load<1>(from).data);
      is_number = is_number && positions[axis] == positions[axis];
    }
    return is_number ? sum<2>(at, positions) : std::numeric_limits<T>::quiet_NaN();
  }

  // The ends of an axis, where it is mirrored.
  KGEN_FN P low() const { return align_corners ? P(0) : P(-0.5); }
  KGEN_FN P high(int axis) const { return static_cast<P>(extents[axis] - 1) - low(); }

  // In elements of an axis, for a number of the grid; of those outside of the image the one that stands for it.
  KGEN_FN P position(int axis, P number) const {
    const auto extent = static_cast<P>(extents[axis]);
    P place = unit == SampleUnit::elements ? number
              : align_corners              ? (number + P(1)) / P(2) * (extent - P(1))
                                           : ((number + P(1)) * extent - P(1)) / P(2);
    if (mode == SampleMode::nearest) place = round(Vec<P, 1>(place)).data;
    if (padding == SamplePadding::zeros) return place < P(-4) ? P(-4) : place > extent + P(4) ? extent + P(4) : place;
    if (!(place < low() || place > high(axis))) return place;
    if (padding == SamplePadding::border) return place < P(0) ? P(0) : extent - P(1);
    return mirrored(axis, place);
  }
  KGEN_FN P mirrored(int axis, P place) const {
    const P range = high(axis) - low();
    if (!(range > P(0))) return low();
    const bool is_below = place < low();
    const P beyond = is_below ? low() - place : place - high(axis);
    const P times = floor(Vec<P, 1>(beyond / range)).data, rest = beyond - times * range;
    const P half = times / P(2);
    const bool turns_back = (floor(Vec<P, 1>(half)).data == half) == is_below;
    return turns_back ? low() + rest : high(axis) - rest;
  }

  // The element of an axis that stands for one; -1 where 0 does.
  KGEN_FN std::int64_t element(int axis, std::int64_t tap) const {
    const std::int64_t extent = extents[axis];
    if (tap >= 0 && tap < extent) return tap;
    if (padding == SamplePadding::zeros || extent == 0) return -1;
    if (padding == SamplePadding::border) return tap < 0 ? 0 : extent - 1;
    const auto place = static_cast<std::int64_t>(mirrored(axis, static_cast<P>(tap)));
    return place < 0 ? 0 : place >= extent ? extent - 1 : place;
  }

  // In front of Axis `at` is an element of x, from there on a place of the result.
  template <int Axis>
  KGEN_FN T sum(Index<R> at, const Numbers<R>& positions) const {
    if constexpr (Axis == R) {
      return x.template load<1>(at).data;
    } else {
      const double position = positions[Axis], below = floor(Vec<double, 1>(position)).data;
      const auto first = static_cast<std::int64_t>(below) - (mode == SampleMode::cubic ? 1 : 0);
      const int count = mode == SampleMode::nearest ? 1 : mode == SampleMode::linear ? 2 : 4;
      T total = T(0);
      for (std::int64_t tap = first; tap < first + count; ++tap) {
        const double distance =
            tap < position ? position - static_cast<double>(tap) : static_cast<double>(tap) - position;
        const double share = mode == SampleMode::cubic ? CubicWeight{-0.75}(distance) : LinearWeight{}(distance);
        at[Axis] = element(Axis, tap);
        if (share != 0 && at[Axis] >= 0) total += static_cast<T>(share) * sum<Axis + 1>(at, positions);
      }
      return total;
    }
  }
};

namespace detail {

template <int R, class X, class Grid, class Out>
void grid_sample(const X& x, const Grid& grid, SampleMode mode, SamplePadding padding, bool align_corners,
                 SampleUnit unit, const Out& out, Stream stream) {
  const Index<R> extents = x.shape(), places = grid.shape();
  assert(places[0] == extents[0] && places[R - 1] == R - 2);
  Index<R> shape = extents;
  for (int axis = 2; axis < R; ++axis) shape[axis] = places[axis - 1];
  copy(shape, GridSamples<R, X, Grid>{x, grid, extents, mode, padding, align_corners, unit}, out, stream);
}

}  // namespace detail

// out[n, c, i, j] = x[n, c] at the position that grid[n, i, j] names, (column, row): by the nearest element, linearly
// or by cubic convolution (of slope -0.75) between elements. -1 and 1 are the middles of the first and the last element
// (align_corners), or their outer ends; where the unit is elements, 0 is the first one's middle. A position that is NaN
// gives NaN. x: [N, C, H, W]; grid: [N, OH, OW, 2]; out:
// [N, C, OH, OW]. Prologues are evaluated for each element that is read.
template <Source<4> X, Source<4> Grid, Sink<source_lane_t<X, 4>, 4> Out>
KGEN_KERNEL(grid_sample2d)
void grid_sample2d(const X& x, const Grid& grid, SampleMode mode, SamplePadding padding, bool align_corners,
                   SampleUnit unit, const Out& out,
                   Stream stream = {}) requires Float<source_lane_t<X, 4>> && Float<source_lane_t<Grid, 4>> {
  detail::grid_sample<4>(x, grid, mode, padding, align_corners, unit, out, stream);
}

// The same of volumes: (column, row, plane). x: [N, C, D, H, W]; grid: [N, OD, OH, OW, 3]; out: [N, C, OD, OH, OW].
template <Source<5> X, Source<5> Grid, Sink<source_lane_t<X, 5>, 5> Out>
KGEN_KERNEL(grid_sample3d)
void grid_sample3d(const X& x, const Grid& grid, SampleMode mode, SamplePadding padding, bool align_corners,
                   SampleUnit unit, const Out& out,
                   Stream stream = {}) requires Float<source_lane_t<X, 5>> && Float<source_lane_t<Grid, 5>> {
  detail::grid_sample<5>(x, grid, mode, padding, align_corners, unit, out, stream);
}

}  // namespace kgen
