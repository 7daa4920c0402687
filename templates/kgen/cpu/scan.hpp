// Running sums and products on the CPU. Along the last axis registers hold neighbours of one line; along any other one, of one step.
#pragma once

#include <algorithm>
#include <utility>

#include "kgen/cpu/elementwise.hpp"
#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/scan_order.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// The lanes moved up by `Distance` places, or down; zeros come in.
template <int Distance, bool Down, class T, int W, int... I>
KGEN_FN Vec<T, W> shifted(const Vec<T, W>& v, std::integer_sequence<int, I...>) {
  const Vec<T, W> zero(0);
  Vec<T, W> result;
  if constexpr (Down) {
    result.data = __builtin_shufflevector(v.data, zero.data, (I + Distance)...);
  } else {
    result.data = __builtin_shufflevector(zero.data, v.data, (I + W - Distance)...);
  }
  return result;
}

// Lane i: the sum of the lanes up to it, or from it on where it runs down.
template <bool Down, int Distance = 1, class T, int W>
KGEN_FN Vec<T, W> running_sums(const Vec<T, W>& v) {
  if constexpr (Distance >= W) {
    return v;
  } else if constexpr (Vec<T, W>::form == detail::Form::halves) {
    const Vec<T, W / 2> low = running_sums<Down>(v.data.low), high = running_sums<Down>(v.data.high);
    if constexpr (Down) return concatenate(low + Vec<T, W / 2>(high[0]), high);
    return concatenate(low, high + Vec<T, W / 2>(low[W / 2 - 1]));
  } else {
    const auto moved = shifted<Distance, Down>(v, std::make_integer_sequence<int, W>{});
    return running_sums<Down, 2 * Distance>(v + moved);
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
    const auto lanes = convert<Sum>(x.template load<W>(line));
    const auto sums = Vec<Sum, W>(total) + (order.reverse ? running_sums<true>(lanes) : running_sums<false>(lanes));
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
    return [&out, offset]<int W>(const Index<R>& at, const Vec<Sum, W>& sums)
               KGEN_LAMBDA { store_to(out, at, convert<source_lane_t<X, R>>(Vec<Sum, W>(offset) + sums)); };
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
    const auto ignore = [](const auto&, const auto&) KGEN_LAMBDA {};
    for (std::int64_t i = part.begin; i < part.end; ++i) totals[i] = scan(i, ignore);
    team.barrier();
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      Sum offset = 0;
      for (std::int64_t before = i / stretches * stretches; before < i; ++before) offset += totals[before];
      scan(i, emit_from(offset));
    }
  });
}

// Lines along the last axis, step by step.
template <class Combine, class Total, int R, class X, class Out>
void scan_steps(const X& x, const Out& out, const ScanOrder& order, int threads) {
  const std::int64_t length = x.shape()[R - 1];
  const Index<R - 1> outer = first_axes<R - 1>(x.shape());
  parallel(threads, [&](Team team) {
    const Range part = team.part(element_count(outer));
    for (std::int64_t line = part.begin; line < part.end; ++line) {
      Index<R> at = join(unflatten(line, outer), Index<1>{0});
      Vec<Total, 1> total(Combine::identity);
      for (std::int64_t s = 0; s < length; ++s) {
        at[R - 1] = order.source(s, length);
        if (order.takes_in(s)) total = Combine::apply(total, convert<Total>(x.template load<1>(at)));
        at[R - 1] = order.position(s, length);
        store_to(out, at, convert<source_lane_t<X, R>>(total));
      }
    }
  });
}

// Strips of neighbours along the last axis, step by step along another one.
template <class Combine, class Total, int R, class X, class Out>
void scan_across(const X& x, const Out& out, const ScanOrder& order, int threads) {
  constexpr std::int64_t most = 4096;
  const std::int64_t length = x.shape()[order.axis], width = x.shape()[R - 1];
  Index<R> strips = x.shape();
  strips[order.axis] = 1;
  const std::int64_t share = element_count(strips) / threads / 64 * 64;
  const std::int64_t strip = std::clamp<std::int64_t>(share, 64, most);
  strips[R - 1] = (width + strip - 1) / strip;
  parallel(threads, [&](Team team) {
    const Range part = team.part(element_count(strips));
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const Index<R> place = unflatten(i, strips);
      const std::int64_t begin = place[R - 1] * strip, end = std::min(width, begin + strip);
      Total totals[most];
      std::fill_n(totals, most, Total(Combine::identity));
      for (std::int64_t s = 0; s < length; ++s) {
        Index<R> from = place, to = place;
        from[order.axis] = order.source(s, length);
        to[order.axis] = order.position(s, length);
        const bool takes_in = order.takes_in(s);
        const auto step = [&]<int W>(std::int64_t last) KGEN_LAMBDA {
          from[R - 1] = to[R - 1] = last;
          Vec<Total, W> total = load_lanes<W>(totals + (last - begin));
          if (takes_in) {
            total = Combine::apply(total, convert<Total>(x.template load<W>(from)));
            store_lanes(totals + (last - begin), total);
          }
          store_to(out, to, convert<source_lane_t<X, R>>(total));
        };
        for_each_lane(begin, end, step);
      }
    }
  });
}

// Combine: Sums or Products.
template <class Combine, class X, class Out>
void scan(const X& x, const Out& out, const ScanOrder& order, Stream stream) {
  constexpr int R = source_rank<X>;
  using Total = accumulator_t<source_lane_t<X, R>>;
  const std::int64_t count = element_count(Index<R>(x.shape()));
  if (count == 0) return;
  const int threads = threads_for(stream, count);
  if constexpr (R > 1) {
    if (order.axis != R - 1) return scan_across<Combine, Total, R>(x, out, order, threads);
  }
  if constexpr (Combine::reassociates) {
    scan_along<Total, R>(x, out, order, threads);
  } else {
    scan_steps<Combine, Total, R>(x, out, order, threads);
  }
}

}  // namespace kgen::cpu
