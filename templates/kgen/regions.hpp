// Regions of images, each brought to one size.
#pragma once

#include <cassert>
#include <limits>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/ops/reductions.hpp"
#include "kgen/scatter.hpp"
#include "kgen/view.hpp"

namespace kgen {

// What a bin of a region is of its samples: their average, or the greatest of the elements around them, each times what
// it weighs.
enum class RegionMode { avg, max };

namespace detail {

// A region of one axis, cut into bins, in elements.
template <class P>
struct RegionAxis {
  P begin, bin;          // where the first bin begins, and how long each is
  std::int64_t samples;  // in each bin, evenly

  KGEN_FN P position(std::int64_t number, std::int64_t sample) const {
    const P inside = (static_cast<P>(sample) + P(0.5)) * bin / static_cast<P>(samples);
    return begin + static_cast<P>(number) * bin + inside;
  }
};

// The two elements of an axis around a position, and what they weigh. A position up to one element beyond the ends is
// as one at the end; what is farther is outside.
template <class P>
struct Neighbours {
  std::int64_t below, above;
  P share_below, share_above;
  bool outside;

  KGEN_FN Neighbours(P position, std::int64_t extent) : outside(true) {
    if (!(position >= P(-1) && position <= static_cast<P>(extent)) || extent == 0) return;
    const P at = position < P(0) ? P(0) : position;
    const auto element = static_cast<std::int64_t>(at);
    const bool is_last = element >= extent - 1;
    outside = false;
    below = is_last ? extent - 1 : element;
    above = is_last ? below : below + 1;
    share_above = is_last ? P(0) : at - static_cast<P>(element);
    share_below = P(1) - share_above;
  }
};

// Samples of one bin along an axis; a region that is longer is sampled more coarsely.
inline constexpr std::int64_t most_region_samples = 4096;

template <class T, class P, class I, class Out>
struct RegionSamples {
  using Lane = source_lane_t<View<const T, 4>, 4>;
  using Place = source_lane_t<View<const P, 2>, 2>;
  Anywhere<View<const T, 4>> x;
  Anywhere<View<const P, 2>> regions;
  Anywhere<View<const I, 1>> images;
  std::int64_t bins[2];  // rows and columns
  std::int64_t samples;
  Place scale;
  bool half_pixel;
  RegionMode mode;
  Out out;

  static constexpr bool seeks = true;  // each sample anew: cpu/elementwise.hpp

  template <int W>
  KGEN_FN void operator()(Index<4> at) const {
    for (int lane = 0; lane < W; ++lane, ++at[3]) store_to(out, at, Vec<Lane, 1>(bin(at)));
  }

  KGEN_FN Place corner(std::int64_t region, int i) const {
    return regions.view.template load<1>(Index<2>{region, i}).data;
  }
  // 0: rows, 1: columns.
  KGEN_FN RegionAxis<Place> axis(std::int64_t region, int number) const {
    const Place shift = half_pixel ? Place(0.5) : Place(0);
    const Place begin = corner(region, 1 - number) * scale - shift, end = corner(region, 3 - number) * scale - shift;
    Place extent = end - begin;
    if (!half_pixel && extent < Place(1)) extent = Place(1);
    const Place bin = extent / static_cast<Place>(bins[number]);
    if (samples > 0) return {begin, bin, samples};
    const Place wanted = ceil(Vec<Place, 1>(bin)).data;
    return {begin, bin, wanted < Place(most_region_samples) ? static_cast<std::int64_t>(wanted) : most_region_samples};
  }
  KGEN_FN static bool is_finite(const RegionAxis<Place>& axis) {
    return axis.begin - axis.begin == Place(0) && axis.bin - axis.bin == Place(0);
  }

  KGEN_FN Lane bin(const Index<4>& at) const {
    const auto image = static_cast<std::int64_t>(images.view.template load<1>(Index<1>{at[0]}).data);
    const RegionAxis<Place> rows = axis(at[0], 0), columns = axis(at[0], 1);
    if (image < 0 || image >= x.view.extent(0) || !is_finite(rows) || !is_finite(columns)) {
      return std::numeric_limits<Lane>::quiet_NaN();
    }
    Lane total = Lane(0);
    bool is_first = true;
    for (std::int64_t i = 0; i < rows.samples; ++i) {
      const Neighbours<Place> row(rows.position(at[2], i), x.view.extent(2));
      for (std::int64_t j = 0; j < columns.samples; ++j, is_first = false) {
        const Neighbours<Place> column(columns.position(at[3], j), x.view.extent(3));
        const Lane value = row.outside || column.outside ? Lane(0) : sample(Index<2>{image, at[1]}, row, column);
        total = mode == RegionMode::avg ? total + value : is_first ? value : greater(total, value);
      }
    }
    const std::int64_t count = rows.samples * columns.samples;
    return mode == RegionMode::avg && count > 1 ? total / static_cast<Lane>(count) : total;
  }

  KGEN_FN Lane sample(const Index<2>& plane, const Neighbours<Place>& row, const Neighbours<Place>& column) const {
    const auto part = [&](std::int64_t i, std::int64_t j, Place share) KGEN_LAMBDA {
      return static_cast<Lane>(share) * x.view.template load<1>(Index<4>{plane[0], plane[1], i, j}).data;
    };
    const Lane a = part(row.below, column.below, row.share_below * column.share_below);
    const Lane b = part(row.below, column.above, row.share_below * column.share_above);
    const Lane c = part(row.above, column.below, row.share_above * column.share_below);
    const Lane d = part(row.above, column.above, row.share_above * column.share_above);
    return mode == RegionMode::avg ? a + b + c + d : greater(greater(a, b), greater(c, d));
  }
  KGEN_FN static Lane greater(Lane a, Lane b) { return maximum(Vec<Lane, 1>(a), Vec<Lane, 1>(b)).data; }
};

// The elements of whole rows and columns that a bin touches.
template <class T, class P, class Out>
struct RegionMaxima {
  using Lane = source_lane_t<View<const T, 4>, 4>;
  using Place = source_lane_t<View<const P, 2>, 2>;
  Anywhere<View<const T, 4>> x;
  Anywhere<View<const P, 2>> regions;
  std::int64_t bins[2];  // rows and columns
  Place scale;
  Out out;

  static constexpr bool seeks = true;

  template <int W>
  KGEN_FN void operator()(Index<4> at) const {
    for (int lane = 0; lane < W; ++lane, ++at[3]) store_to(out, at, Vec<Lane, 1>(bin(at)));
  }

  KGEN_FN Place number(std::int64_t region, int i) const {
    return regions.view.template load<1>(Index<2>{region, i}).data;
  }
  // The nearest element, of two as near the one farther from 0.
  KGEN_FN std::int64_t element(std::int64_t region, int i) const {
    constexpr Place most = Place(1 << 30);
    const Place place = number(region, i) * scale;
    const Place bounded = place > most ? most : place > -most ? place : -most;
    const auto away = static_cast<std::int64_t>((bounded < Place(0) ? -bounded : bounded) + Place(0.5));
    return bounded < Place(0) ? -away : away;
  }
  struct Reach {
    std::int64_t begin, end;
  };
  // 0: rows, 1: columns.
  KGEN_FN Reach reach(std::int64_t region, int axis, std::int64_t bin) const {
    const std::int64_t first = element(region, 2 - axis), last = element(region, 4 - axis), count = bins[axis];
    const std::int64_t extent = last < first ? 1 : last - first + 1;
    const std::int64_t begin = first + bin * extent / count, end = first + ((bin + 1) * extent + count - 1) / count;
    const std::int64_t size = x.view.extent(2 + axis);
    return {begin < 0 ? 0 : begin, end < size ? end : size};
  }

  KGEN_FN Lane bin(const Index<4>& at) const {
    const Place place = number(at[0], 0);
    if (!(place >= Place(0) && place < static_cast<Place>(x.view.extent(0)))) {
      return std::numeric_limits<Lane>::quiet_NaN();
    }
    const auto image = static_cast<std::int64_t>(place);
    const Reach rows = reach(at[0], 0, at[2]), columns = reach(at[0], 1, at[3]);
    if (rows.begin >= rows.end || columns.begin >= columns.end) return Lane(0);
    auto best = Max::template identity<Lane, 1>();
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = columns.begin; j < columns.end; ++j) {
        best = Max::combine(best, x.view.template load<1>(Index<4>{image, at[1], i, j}));
      }
    }
    return best.data;
  }
};

}  // namespace detail

// Each region of an image as `height` times `width` bins of equal size, each of which is the average (avg) of samples
// that lie evenly in it: `samples` along rows and columns, or, where that is 0, as many as the bin is long. A sample is
// interpolated linearly between the four elements around it; one more than an element outside of the image is 0. max:
// instead of sums, the greatest of these elements, each times what it weighs. regions: [R, 4], the corners (x, y) and
// (x, y), times `scale` in elements, whose middles are at whole numbers, or with half_pixel at halves; without it a
// region has an element's size at least. images: which image each is of. x: [N, C, H, W]; out: [R, C, height, width]. A
// region that is not finite, or of no image, is NaN.
template <Float T, Float P, OneOf<std::int32_t, std::int64_t> I, Sink<source_lane_t<View<const T, 4>, 4>, 4> Out>
KGEN_KERNEL(roi_align)
void roi_align(const View<const T, 4>& x, const View<const P, 2>& regions, const View<const I, 1>& images,
               std::int64_t height, std::int64_t width, std::int64_t samples, double scale, bool half_pixel,
               RegionMode mode, const Out& out, Stream stream = {}) {
  assert(height >= 1 && width >= 1 && regions.extent(1) == 4 && images.extent(0) == regions.extent(0));
  using Samples = detail::RegionSamples<T, P, I, Out>;
  const auto factor = static_cast<typename Samples::Place>(scale);
  const Samples body{{x}, {regions}, {images}, {height, width}, samples, factor, half_pixel, mode, out};
  elementwise(Index<4>{regions.extent(0), x.extent(1), height, width}, body, stream);
}

// Each region of an image as `height` times `width` bins, each of which is the greatest of the elements that it
// touches, 0 where there are none. regions: [R, 5], the number of the image and the corners (x, y) and (x, y), times
// `scale` rounded to elements, which both belong to the region. x: [N, C, H, W]; out: [R, C, height, width]. A region
// of no image is NaN.
template <Float T, Float P, Sink<source_lane_t<View<const T, 4>, 4>, 4> Out>
KGEN_KERNEL(max_roi_pool)
void max_roi_pool(const View<const T, 4>& x, const View<const P, 2>& regions, std::int64_t height, std::int64_t width,
                  double scale, const Out& out, Stream stream = {}) {
  assert(height >= 1 && width >= 1 && regions.extent(1) == 5);
  using Maxima = detail::RegionMaxima<T, P, Out>;
  const Maxima body{{x}, {regions}, {height, width}, static_cast<typename Maxima::Place>(scale), out};
  elementwise(Index<4>{regions.extent(0), x.extent(1), height, width}, body, stream);
}

}  // namespace kgen
