// Convolutions of few channels in each group on the CPU: lanes along the channels of several groups. Of one register of
// the image's channels, as many groups as it holds, each channel in turn is spread over the lanes of its group, and
// multiplied by the filters' lanes: a shuffle and a multiply-add, where a panel of 16 filters would have 12 of zeros
// for groups of 4. Groups by themselves, each with threads, a window and panels of its own, took 8 times as long for 4
// channels (3x3 56x56x128, two threads of a Zen 5), 4 times for 8; for as many as a register has they take half as
// long.
#pragma once

#include "kgen/cpu/depthwise.hpp"

namespace kgen::cpu {

// Channel C of each group of Group lanes, in all lanes of that group.
template <int Group, int C, class T, int W, int... I>
KGEN_FN Vec<T, W> spread_channel(const Vec<T, W>& x, std::integer_sequence<int, I...>) {
  Vec<T, W> result;
  result.data = __builtin_shufflevector(x.data, x.data, (I / Group * Group + C)...);
  return result;
}

// Adds to each register the products of one tap: of the image's channels from `seen` on and the filters from `filter`
// on, whose channels are `step` apart. Each has two sums, since one would wait for itself.
template <int Group, int Registers, class T, int W, class X, class F>
KGEN_FN void add_tap(Vec<T, W> (&sums)[Registers][2], const X* seen, const F* filter, std::int64_t step) {
#pragma GCC unroll 4
  for (int r = 0; r < Registers; ++r) {
    const auto x = convert<T>(load_elements<W>(seen + r * W));
    [&]<int... C>(std::integer_sequence<int, C...>) KGEN_LAMBDA {
      ((sums[r][C % 2] = multiply_add(spread_channel<Group, C>(x, std::make_integer_sequence<int, W>{}),
                                      convert<T>(load_elements<W>(filter + C * step + r * W)), sums[r][C % 2])),
       ...);
    }
    (std::make_integer_sequence<int, Group>{});
  }
}

// The results of a position, `Registers` of them from `channel` on.
template <int Group, int Registers, class T, int A, class X, class F, class Out>
KGEN_FN void compute_groups(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const SeenTaps<A>& taps,
                            const Index<A + 1>& position, std::int64_t channel, const Out& out) {
  constexpr int W = lanes_of<T>;
  Vec<T, W> sums[Registers][2];
#pragma GCC unroll 4
  for (int r = 0; r < Registers; ++r) sums[r][0] = sums[r][1] = Vec<T, W>(0);
  for_each_line(x, filters, sizes, taps, channel, [&](auto seen, auto filter, std::int64_t count) KGEN_LAMBDA {
    const std::int64_t x_step = sizes.dilations[A - 1] * x.stride(A), filter_step = filters.stride(A - 1);
    for (std::int64_t i = 0; i < count; ++i, seen += x_step, filter += filter_step) {
      add_tap<Group>(sums, seen, filter, filters.stride(A));
    }
  });
#pragma GCC unroll 4
  for (int r = 0; r < Registers; ++r) {
    store_to(out, join(position, Index<1>{channel + r * W}), sums[r][0] + sums[r][1]);
  }
}

template <int Group, int A, class X, class F, class Out>
void convolve_groups(const X& x, const F& filters, const ConvolutionShape<A>& sizes, const Out& out, Stream stream) {
  using T = source_lane_t<X, A + 2>;
  constexpr int W = lanes_of<T>, together = 4;
  const std::int64_t channels = x.extent(A + 1), positions = sizes.positions();
  parallel(threads_for(stream, positions * channels * sizes.depth() / 16), [&](Team team) {
    const Range part = team.part(positions);
    if (part.begin == part.end) return;
    Index<A + 1> position = sizes.position(part.begin);
    for (std::int64_t i = part.begin; i < part.end;
         ++i, advance(position, A + 1, Index<A + 1>{}, join(Index<1>{sizes.images}, sizes.result))) {
      const SeenTaps<A> taps(sizes, position);
      std::int64_t channel = 0;
      for (; channel + together * W <= channels; channel += together * W) {
        compute_groups<Group, together, T>(x, filters, sizes, taps, position, channel, out);
      }
      for (; channel < channels; channel += W) {
        compute_groups<Group, 1, T>(x, filters, sizes, taps, position, channel, out);
      }
    }
  });
}

// Computes all, and returns true; or false where groups are of other sizes, or their channels no neighbours in memory.
// `channels`: of one group's result.
template <int A, class X, class F, class Out>
bool grouped_convolution(const X& x, const F& filters, const ConvolutionShape<A>& sizes, std::int64_t channels,
                         const Out& out, Stream stream) {
  if constexpr (is_view<X> && is_view<F>) {
    constexpr int W = lanes_of<source_lane_t<X, A + 2>>;
    const bool fits = sizes.channels == channels && x.extent(A + 1) % W == 0;
    if (!fits || x.stride(A + 1) != 1 || filters.stride(A + 1) != 1) return false;
    const auto of = [&]<int Group>() {
      if constexpr (Group < W) {
        if (channels == Group) return convolve_groups<Group>(x, filters, sizes, out, stream), true;
      }
      return false;
    };
    return of.template operator()<4>() || of.template operator()<8>();
  } else {
    return false;
  }
}

}  // namespace kgen::cpu
