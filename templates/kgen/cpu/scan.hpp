// Running sums on the CPU. Along the last axis registers hold neighbours of one line; along any other one, of one step.
#pragma once

#include "kgen/cpu/elementwise.hpp"
#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/scan_order.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// Lane i: the sum of the lanes up to it, or from it on.
template <class T, int W>
KGEN_FN Vec<T, W> running_sums(const Vec<T, W>& v, bool reverse) {
  if constexpr (W == 1) {
    return v;
  } else {
    const Vec<T, W / 2> low = running_sums(low_half(v), reverse), high = running_sums(high_half(v), reverse);
    if (reverse) return concatenate(low + Vec<T, W / 2>(high[0]), high);
    return concatenate(low, high + Vec<T, W / 2>(low[W / 2 - 1]));
  }
}

// The sums of a stretch of one line along the last axis, counted from 0 at its begin: emit(at, sums) for each step.
// Returns the last one.
template <class Sum, int R, class X, class Emit>
Sum scan_stretch(const X& x, Index<R> line, const ScanOrder& order, Range steps, const Emit& emit) {
  const std::int64_t length = x.shape()[R - 1];
  Sum total = 0;
  const auto step = [&]<int W>(std::int64_t s) KGEN_LAMBDA {
    line[R - 1] = order.source(s, length, W);
    const auto sums = Vec<Sum, W>(total) + running_sums(convert<Sum>(x.template load<W>(line)), order.reverse);
    total = sums[order.reverse ? 0 : W - 1];
    line[R - 1] = order.position(s, length, W);
    emit(line, sums);
  };
  if (!order.takes_in(steps.begin)) {
    line[R - 1] = order.position(steps.begin++, length);
    emit(line, Vec<Sum, 1>(0));
  }
  for_each_lane(steps.begin, steps.end, step);
  return total;
}

// Lines along the last axis, in stretches whose sums begin anew: so all bits are the same whether one thread computes a
// line or several do, who first find what stands before each stretch.
template <class Sum, int R, class X, class Out>
void scan_along(const X& x, const Out& out, const ScanOrder& order, int threads) {
  constexpr std::int64_t stretch = 8192;
  const std::int64_t length = x.shape()[R - 1], stretches = (length + stretch - 1) / stretch;
  const Index<R - 1> outer = first_axes<R - 1>(x.shape());
  const std::int64_t lines = element_count(outer);
  const auto scan = [&](std::int64_t number, const auto& emit) {
    const std::int64_t begin = number % stretches * stretch;
    const Index<R> line = join(unflatten(number / stretches, outer), Index<1>{0});
    return scan_stretch<Sum>(x, line, order, Range{begin, std::min(length, begin + stretch)}, emit);
  };
  const auto emit_from = [&](Sum offset) {
    return [&out, offset]<int W>(const Index<R>& at, const Vec<Sum, W>& sums) KGEN_LAMBDA {
      store_to(out, at, convert<source_lane_t<X, R>>(Vec<Sum, W>(offset) + sums));
    };
  };
  const bool shares_lines = lines < threads && stretches > 1;
  Sum* totals = shares_lines ? scratch<Sum>(0, lines * stretches) : nullptr;
  parallel(threads, [&](Team team) {
    if (!shares_lines) {
      const Range part = team.part(lines);
      for (std::int64_t line = part.begin; line < part.end; ++line) {
        Sum offset = 0;
        for (std::int64_t i = 0; i < stretches; ++i) offset += scan(line * stretches + i, emit_from(offset));
      }
      return;
    }
    const Range part = team.part(lines * stretches);
    for (std::int64_t i = part.begin; i < part.end; ++i) totals[i] = scan(i, [](const auto&, const auto&) KGEN_LAMBDA {});
    team.barrier();
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      Sum offset = 0;
      for (std::int64_t before = i / stretches * stretches; before < i; ++before) offset += totals[before];
      scan(i, emit_from(offset));
    }
  });
}

// Strips of neighbours along the last axis, step by step along another one.
template <class Sum, int R, class X, class Out>
void scan_across(const X& x, const Out& out, const ScanOrder& order, int threads) {
  constexpr std::int64_t strip = 64;
  const std::int64_t length = x.shape()[order.axis], width = x.shape()[R - 1];
  Index<R> strips = x.shape();
  strips[order.axis] = 1;
  strips[R - 1] = (width + strip - 1) / strip;
  parallel(threads, [&](Team team) {
    const Range part = team.part(element_count(strips));
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const Index<R> place = unflatten(i, strips);
      const std::int64_t begin = place[R - 1] * strip, end = std::min(width, begin + strip);
      Sum sums[strip] = {};
      for (std::int64_t s = 0; s < length; ++s) {
        const auto step = [&]<int W>(std::int64_t last) KGEN_LAMBDA {
          Index<R> at = place;
          at[R - 1] = last;
          Vec<Sum, W> sum = load_lanes<W>(sums + (last - begin));
          if (order.takes_in(s)) {
            at[order.axis] = order.source(s, length);
            sum = sum + convert<Sum>(x.template load<W>(at));
            store_lanes(sums + (last - begin), sum);
          }
          at[order.axis] = order.position(s, length);
          store_to(out, at, convert<source_lane_t<X, R>>(sum));
        };
        for_each_lane(begin, end, step);
      }
    }
  });
}

template <class X, class Out>
void scan(const X& x, const Out& out, const ScanOrder& order, Stream stream) {
  constexpr int R = source_rank<X>;
  using Sum = accumulator_t<source_lane_t<X, R>>;
  const std::int64_t count = element_count(Index<R>(x.shape()));
  if (count == 0) return;
  const int threads = threads_for(stream, count);
  if (order.axis == R - 1) {
    scan_along<Sum, R>(x, out, order, threads);
  } else {
    scan_across<Sum, R>(x, out, order, threads);
  }
}

}  // namespace kgen::cpu
