// Depthwise convolutions on the CPU: lanes along the channels, four registers of them at a time, whose sums stay there
// while the taps that see the image go by. The bounds of those are found once for a position, so that a tap costs two
// loads and a multiply-add for each register, and a pointer's step.
#pragma once

#include "kgen/cpu/elementwise.hpp"
#include "kgen/im2col.hpp"

namespace kgen::cpu {

// The taps of a position that see the image, along each axis, and what the first of them sees.
template <int A>
struct SeenTaps {
  Index<A> begin, end;
  Index<A + 1> from;

  SeenTaps(const ConvolutionShape<A>& sizes, const Index<A + 1>& position) : from(sizes.tap(position, Index<A>{})) {
    for (int axis = 0; axis < A; ++axis) {
      const std::int64_t step = sizes.dilations[axis], first = from[axis + 1], left = sizes.image[axis] - first;
      begin[axis] = first < 0 ? (-first + step - 1) / step : 0;
      end[axis] = std::clamp<std::int64_t>(left > 0 ? (left + step - 1) / step : 0, 0, sizes.filter[axis]);
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

// body(seen, filter, count) for each line of taps that see the image: where the first of them sees channel `channel`,
// and stands in the filters, and how many there are along the last axis.
template <int A, class X, class F, class Body>
KGEN_FN void for_each_line(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const SeenTaps<A>& taps,
                           std::int64_t channel, const Body& body) {
  if (taps.none()) return;
  const auto offset = [](const auto& view, const auto& at) KGEN_LAMBDA { return element_offset(view.strides(), at); };
  Index<A> tap = taps.begin;
  do {
    Index<A + 1> from = taps.from;
    for (int axis = 0; axis < A - 1; ++axis) from[axis + 1] += (tap[axis] - taps.begin[axis]) * sizes.dilations[axis];
    body(x.data() + offset(x, join(from, Index<1>{channel})),
         filters.data() + offset(filters, join(tap, Index<2>{0, channel})), taps.end[A - 1] - taps.begin[A - 1]);
  } while (advance(tap, A - 1, taps.begin, taps.end));
}

// The sum over the taps of channels `channel` to channel + W - 1, which are neighbours in both Views.
template <int W, class T, int A, class X, class F>
KGEN_FN Vec<T, W> sum_of_taps(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const SeenTaps<A>& taps,
                              std::int64_t channel) {
  Vec<T, W> sum(T(0));
  for_each_line(x, filters, sizes, taps, channel, [&](auto seen, auto filter, std::int64_t count) KGEN_LAMBDA {
    const std::int64_t x_step = sizes.dilations[A - 1] * x.stride(A), filter_step = filters.stride(A - 1);
    for (std::int64_t i = 0; i < count; ++i, seen += x_step, filter += filter_step) {
      sum = multiply_add(convert<T>(load_elements<W>(seen)), convert<T>(load_elements<W>(filter)), sum);
    }
  });
  return sum;
}

// Computes all, and returns true; or false where the channels are no neighbours in memory.
template <int A, class X, class F, class Out>
bool depthwise_convolution(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const Out& out,
                           Stream stream) {
  if constexpr (!is_view<X> || !is_view<F>) {
    return false;
  } else {
    using T = source_lane_t<X, A + 2>;
    const std::int64_t channels = x.extent(A + 1), positions = sizes.positions();
    if (x.stride(A + 1) != 1 || filters.stride(A + 1) != 1) return false;
    parallel(threads_for(stream, positions * channels * element_count(sizes.filter) / 8), [&](Team team) {
      const Range part = team.part(positions);
      if (part.begin == part.end) return;
      Index<A + 1> position = sizes.position(part.begin);
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        const SeenTaps<A> taps(sizes, position);
        const auto step = [&]<int W>(std::int64_t channel) KGEN_LAMBDA {
          store_to(out, join(position, Index<1>{channel}), sum_of_taps<W, T>(x, filters, sizes, taps, channel));
        };
        for_each_lane<4>(0, channels, step);
        advance(position, A + 1, Index<A + 1>{}, join(Index<1>{sizes.images}, sizes.result));
      }
    });
    return true;
  }
}

}  // namespace kgen::cpu
