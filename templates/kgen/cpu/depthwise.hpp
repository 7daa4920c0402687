// Depthwise convolutions on the CPU: lanes along the channels, some registers of them at a time, at several positions,
// whose sums stay there while the taps that see the image go by. The bounds of those are found once for these
// positions, so that a tap costs a load and a multiply-add for each register, a load for all positions, and a pointer's
// step. Filters lie in lines of channels, or, packed when the model was loaded, in panels of 16 of them
// (kgen/packed_convolution.hpp). Of an image of other types, bf16, the lines that a line of results sees are converted
// once for all taps.
#pragma once

#include "kgen/cpu/caches.hpp"
#include "kgen/cpu/elementwise.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/im2col.hpp"

namespace kgen::cpu {

// How many steps reach over a distance. A division takes as long as the sums of a few channels.
KGEN_FN std::int64_t steps_over(std::int64_t distance, std::int64_t step) {
  return step == 1 ? distance : (distance + step - 1) / step;
}

// The taps of a position that see the image, along each axis, and what the first of them sees.
template <int A>
struct SeenTaps {
  Index<A> begin, end;
  Index<A + 1> from;

  SeenTaps(const ConvolutionShape<A>& sizes, const Index<A + 1>& position) : from(sizes.tap(position, Index<A>{})) {
    for (int axis = 0; axis < A; ++axis) {
      const std::int64_t step = sizes.dilations[axis], first = from[axis + 1], left = sizes.image[axis] - first;
      begin[axis] = first < 0 ? steps_over(-first, step) : 0;
      end[axis] = std::clamp<std::int64_t>(left > 0 ? steps_over(left, step) : 0, 0, sizes.filter[axis]);
      from[axis + 1] += begin[axis] * step;
    }
  }
  bool none() const {
    for (int axis = 0; axis < A; ++axis) {
      if (begin[axis] >= end[axis]) return true;
    }
    return false;
  }
};

// The positions along the last axis all of whose taps along it see the image.
template <int A>
Range positions_that_see_all(const ConvolutionShape<A>& sizes) {
  const std::int64_t step = sizes.strides[A - 1], before = sizes.before[A - 1];
  const std::int64_t most = sizes.image[A - 1] - 1 - sizes.dilations[A - 1] * (sizes.filter[A - 1] - 1) + before;
  const std::int64_t begin = (before + step - 1) / step;
  return {begin, most < 0 ? begin : std::max(begin, std::min(sizes.result[A - 1], most / step + 1))};
}

// body(seen, tap, count) for each line of taps that see the image: where the first of them sees channel `channel`, and
// which it is, and how many there are along the last axis.
template <int A, class X, class Body>
KGEN_FN void for_each_tap_line(const X& x, const ConvolutionShape<A>& sizes, const SeenTaps<A>& taps,
                               std::int64_t channel, const Body& body) {
  if (taps.none()) return;
  Index<A> tap = taps.begin;
  do {
    Index<A + 1> from = taps.from;
    for (int axis = 0; axis < A - 1; ++axis) from[axis + 1] += (tap[axis] - taps.begin[axis]) * sizes.dilations[axis];
    body(x.data() + element_offset(x.strides(), join(from, Index<1>{channel})), tap,
         taps.end[A - 1] - taps.begin[A - 1]);
  } while (advance(tap, A - 1, taps.begin, taps.end));
}
// The same, with where the tap of that channel stands in the filters.
template <int A, class X, class F, class Body>
KGEN_FN void for_each_line(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const SeenTaps<A>& taps,
                           std::int64_t channel, const Body& body) {
  const auto with_filter = [&](auto seen, const Index<A>& tap, std::int64_t count) KGEN_LAMBDA {
    body(seen, filters.data() + element_offset(filters.strides(), join(tap, Index<2>{0, channel})), count);
  };
  for_each_tap_line(x, sizes, taps, channel, with_filter);
}

// Filters of one channel each: [taps..., 1, channels], neighbours in memory.
template <class F, int A>
struct FilterLines {
  static constexpr int together = 4 * lanes_of<float>;  // channels whose taps lie together
  F view;

  auto at(const Index<A>& tap, std::int64_t channel) const {
    return view.data() + element_offset(view.strides(), join(tap, Index<2>{0, channel}));
  }
  std::int64_t step() const { return view.stride(A - 1); }  // from a tap to the next
  std::int64_t next() const { return together; }
};
// The same in panels.
template <class T, int A>
struct FilterTapPanels {
  static constexpr int together = 16;
  const T* data;
  Index<A> filter;

  const T* at(const Index<A>& tap, std::int64_t channel) const {
    return data + channel / together * next() + flatten(tap, filter) * together + channel % together;
  }
  static std::int64_t step() { return together; }
  std::int64_t next() const { return element_count(filter) * together; }  // from a panel to the next
};

// Part of an image: `view` begins with what stands at `origin` of it, and has these channels.
template <class V, int A>
struct ImagePart {
  V view;
  Index<A + 2> origin;
  Range channels;
};

// What the taps of `count` results from `position` on, of one line, see of the image, whose lanes are Ts: body(part)
// for some channels after others. Of an image of another type they are converted to lines of this thread's, as many
// channels at a time as leave room in the second-level cache.
template <class T, int A, class X>
class ImageLines {
  static constexpr bool converts = !std::is_same_v<std::remove_const_t<typename X::element_type>, T>;
  static constexpr std::int64_t least_channels = 64;  // whole panels of filters
  const X& x_;
  const ConvolutionShape<A>& sizes_;

 public:
  ImageLines(const X& x, const ConvolutionShape<A>& sizes) : x_(x), sizes_(sizes) {}

  template <class Body>
  void for_each_part(const Index<A + 1>& position, std::int64_t count, const Body& body) const {
    const std::int64_t channels = x_.extent(A + 1);
    if constexpr (!converts) {
      body(ImagePart<X, A>{x_, Index<A + 2>{}, Range{0, channels}});
    } else {
      const Box box = seen_by(position, count);
      const std::int64_t bytes = element_count(box.extents) * static_cast<std::int64_t>(sizeof(T));
      const std::int64_t room = caches().second / 2 / std::max<std::int64_t>(bytes, 1);
      const std::int64_t together = std::max(room / least_channels, std::int64_t{1}) * least_channels;
      for (std::int64_t first = 0; first < channels; first += together) {
        body(converted(box, Range{first, std::min(first + together, channels)}));
      }
    }
  }

 private:
  // Image, and place along each axis; of it those that are a dilation apart along all axes but the last.
  struct Box {
    Index<A + 1> origin, extents;
  };
  Box seen_by(const Index<A + 1>& position, std::int64_t count) const {
    const SeenTaps<A> taps(sizes_, position);
    Box box{taps.from, Index<A + 1>{}};
    box.extents[0] = 1;
    for (int axis = 0; axis < A - 1; ++axis) {
      const std::int64_t more = taps.end[axis] - 1 - taps.begin[axis];
      box.extents[axis + 1] = more < 0 ? 0 : more * sizes_.dilations[axis] + 1;
    }
    const std::int64_t last = position[A] + count - 1, reach = sizes_.dilations[A - 1] * (sizes_.filter[A - 1] - 1);
    const std::int64_t begin = position[A] * sizes_.strides[A - 1] - sizes_.before[A - 1];
    const std::int64_t end = last * sizes_.strides[A - 1] - sizes_.before[A - 1] + reach + 1;
    box.origin[A] = std::clamp<std::int64_t>(begin, 0, sizes_.image[A - 1]);
    box.extents[A] = std::clamp<std::int64_t>(end, box.origin[A], sizes_.image[A - 1]) - box.origin[A];
    return box;
  }

  ImagePart<View<const T, A + 2>, A> converted(const Box& box, const Range& channels) const {
    const Index<A + 2> extents = join(box.extents, Index<1>{channels.end - channels.begin});
    const View<T, A + 2> lines(scratch<T>(0, element_count(extents)), extents);
    const Index<A + 2> origin = join(box.origin, Index<1>{channels.begin});
    if (element_count(extents) > 0) {
      Index<A + 1> at{};
      do {
        const auto* from = x_.data() + element_offset(x_.strides(), sum(origin, join(at, Index<1>{0})));
        T* const to = lines.data() + element_offset(lines.strides(), join(at, Index<1>{0}));
        for_each_lane(0, extents[A + 1], [&]<int W>(std::int64_t i) KGEN_LAMBDA {
          store_lanes(to + i, convert<T>(load_elements<W>(from + i)));
        });
      } while (next(at, box.extents));
    }
    return {lines, origin, channels};
  }
  static Index<A + 2> sum(Index<A + 2> a, const Index<A + 2>& b) {
    for (int axis = 0; axis < A + 2; ++axis) a[axis] += b[axis];
    return a;
  }
  // The next place that taps may see.
  bool next(Index<A + 1>& at, const Index<A + 1>& extents) const {
    for (int axis = A; axis > 0; --axis) {
      at[axis] += axis == A ? 1 : sizes_.dilations[axis - 1];
      if (at[axis] < extents[axis]) return true;
      at[axis] = 0;
    }
    return false;
  }
};

// Positions whose sums are kept in registers together: with two registers of channels each they take most of 16, or
// half of 32.
inline constexpr int positions_together = register_bytes >= 64 ? 8 : 6;

// The sums over the taps of channels `channel` to channel + W - 1, which are neighbours in the image, at P positions,
// neighbours along the last axis that see the same taps: emit(position, sums) for each. A register of filters serves
// all of them.
template <int W, int P, class T, int A, class V, class F, class Emit>
KGEN_FN void sum_taps(const ImagePart<V, A>& image, const F& filters, const ConvolutionShape<A>& sizes,
                      const SeenTaps<A>& taps, std::int64_t channel, const Emit& emit) {
  const V& x = image.view;
  constexpr int width = std::min(W, F::together), parts = W / width;
  Vec<T, width> sums[P][parts];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 8
    for (int i = 0; i < parts; ++i) sums[p][i] = Vec<T, width>(T(0));
  }
  const std::int64_t first = channel - image.origin[A + 1];
  for_each_tap_line(x, sizes, taps, first, [&](auto seen, const Index<A>& tap, std::int64_t count) KGEN_LAMBDA {
    auto filter = filters.at(tap, channel);
    const std::int64_t x_step = sizes.dilations[A - 1] * x.stride(A), next = filters.next();
    const std::int64_t position_step = sizes.strides[A - 1] * x.stride(A);
    for (std::int64_t t = 0; t < count; ++t, seen += x_step, filter += filters.step()) {
#pragma GCC unroll 8
      for (int i = 0; i < parts; ++i) {
        const auto factor = convert<T>(load_elements<width>(filter + i * next));
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p) {
          const auto value = convert<T>(load_elements<width>(seen + p * position_step + i * width));
          sums[p][i] = multiply_add(value, factor, sums[p][i]);
        }
      }
    }
  });
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) {
    if constexpr (parts == 1) {
      emit(p, sums[p][0]);
    } else {
      T lanes[W];
#pragma GCC unroll 8
      for (int i = 0; i < parts; ++i) store_lanes(lanes + i * width, sums[p][i]);
      emit(p, load_lanes<W>(lanes));
    }
  }
}

// P positions from `position` on, which see `taps`, all channels of the part.
template <int P, class T, int A, class V, class F, class Out>
void convolve_positions(const ImagePart<V, A>& image, const F& filters, const ConvolutionShape<A>& sizes,
                        const SeenTaps<A>& taps, const Index<A + 1>& position, const Out& out) {
  const auto step = [&]<int W>(std::int64_t channel) KGEN_LAMBDA {
    sum_taps<W, P, T>(image, filters, sizes, taps, channel, [&](int p, const auto& sums) KGEN_LAMBDA {
      Index<A + 2> at = join(position, Index<1>{channel});
      at[A] += p;
      store_to(out, at, sums);
    });
  };
  for_each_lane<P == 1 ? 4 : 2>(image.channels.begin, image.channels.end, step);
}

// `count` positions from `position` on, of one line. Those all of whose taps along it see the image, `whole` of the
// line, are taken several at a time, and their taps are looked for once: one at a time, 16 channels of 112x112 took
// four times as long, most of it to find the taps.
template <class T, int A, class V, class F, class Out>
void convolve_line(const ImagePart<V, A>& image, const F& filters, const ConvolutionShape<A>& sizes,
                   Index<A + 1> position, std::int64_t count, const Range& whole, const Out& out) {
  const auto taps_at = [&](const Index<A + 1>& at) {
    SeenTaps<A> taps(sizes, at);
    for (int axis = 0; axis <= A; ++axis) taps.from[axis] -= image.origin[axis];
    return taps;
  };
  const auto one_by_one = [&](std::int64_t end) {
    for (; position[A] < end; ++position[A]) {
      convolve_positions<1, T>(image, filters, sizes, taps_at(position), position, out);
    }
  };
  const std::int64_t end = position[A] + count, end_of_whole = std::min(end, whole.end);
  one_by_one(std::min(end, whole.begin));
  if (position[A] < end_of_whole) {
    SeenTaps<A> taps = taps_at(position);
    const auto together = [&]<int P>() {
      for (; position[A] + P <= end_of_whole; position[A] += P, taps.from[A] += P * sizes.strides[A - 1]) {
        convolve_positions<P, T>(image, filters, sizes, taps, position, out);
      }
    };
    together.template operator()<positions_together>();
    together.template operator()<positions_together / 2>();
    together.template operator()<1>();
  }
  one_by_one(end);
}

// All channels of every position. Those of x are neighbours in memory.
template <class T, int A, class X, class F, class Out>
void convolve_channels(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const Out& out, Stream stream) {
  const std::int64_t channels = x.extent(A + 1), positions = sizes.positions();
  const Range whole = positions_that_see_all(sizes);
  const ImageLines<T, A, X> lines(x, sizes);
  parallel(threads_for(stream, positions * channels * element_count(sizes.filter) / 8), [&](Team team) {
    const Range part = team.part(positions);
    if (part.begin == part.end) return;
    Index<A + 1> position = sizes.position(part.begin);
    for (std::int64_t i = part.begin, count; i < part.end; i += count) {
      count = std::min(part.end - i, sizes.result[A - 1] - position[A]);
      lines.for_each_part(position, count, [&](const auto& image) {
        convolve_line<T>(image, filters, sizes, position, count, whole, out);
      });
      position[A] += count - 1;
      advance(position, A + 1, Index<A + 1>{}, join(Index<1>{sizes.images}, sizes.result));
    }
  });
}

// Computes all, and returns true; or false where the channels are no neighbours in memory.
template <int A, class X, class F, class Out>
bool depthwise_convolution(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const Out& out,
                           Stream stream) {
  if constexpr (!is_view<X> || !is_view<F>) {
    return false;
  } else {
    if (x.stride(A + 1) != 1 || filters.stride(A + 1) != 1) return false;
    convolve_channels<source_lane_t<X, A + 2>>(x, FilterLines<F, A>{filters}, sizes, out, stream);
    return true;
  }
}

}  // namespace kgen::cpu
