// Elementwise on the CPU: threads over the outer axes, and over pieces of the last axis where the outer ones are few;
// registers along the last axis.
#pragma once

#include "kgen/cpu/parallel.hpp"
#include "kgen/index.hpp"
#include "kgen/vec.hpp"

namespace kgen::cpu {

// step.operator()<W>(i) from `begin` to `end`: whole registers, then quarters of one, then single lanes.
template <class Step>
KGEN_FN void for_each_lane(std::int64_t begin, std::int64_t end, const Step& step) {
  constexpr int width = lanes_of<float>;
  std::int64_t i = begin;
  for (; i + width <= end; i += width) step.template operator()<width>(i);
  if constexpr (width >= 8) {
    for (; i + width / 4 <= end; i += width / 4) step.template operator()<width / 4>(i);
  }
  for (; i < end; ++i) step.template operator()<1>(i);
}

// Of what a functor reads at a position: it does not say.
inline constexpr std::int64_t assumed_bytes = 4;

template <int R, class Functor>
void elementwise(const Index<R>& shape, const Functor& functor, Stream stream) {
  if constexpr (R == 0) {
    functor.template operator()<1>(shape);
  } else {
    const std::int64_t total = element_count(shape);
    if (total == 0) return;
    const std::int64_t inner = shape[R - 1];
    const std::int64_t outer = total / inner;
    const int threads = threads_for(stream, total);
    // Pieces of the last axis, so that there are some for each thread.
    constexpr std::int64_t unit = 64;
    const std::int64_t wanted = outer >= 4 * threads ? 1 : 4 * threads;
    const std::int64_t piece = wanted == 1 ? inner : std::max(unit, (inner / wanted + unit - 1) / unit * unit);
    Index<R> pieces = shape;
    pieces[R - 1] = (inner + piece - 1) / piece;

    parallel(threads, [&](Team team) {
      const Range part = team.part(outer * pieces[R - 1]);
      if (part.begin == part.end) return;
      Index<R> position = unflatten(part.begin, pieces);
      Reading reading(stream, team);
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        const std::int64_t begin = position[R - 1] * piece;
        const auto step = [&]<int W>(std::int64_t last) KGEN_LAMBDA {
          Index<R> at = position;
          at[R - 1] = last;
          functor.template operator()<W>(at);
        };
        const std::int64_t end = std::min(inner, begin + piece);
        for_each_lane(begin, end, step);
        reading.add((end - begin) * assumed_bytes);
        advance(position, R, Index<R>{}, pieces);
      }
    });
  }
}

}  // namespace kgen::cpu
