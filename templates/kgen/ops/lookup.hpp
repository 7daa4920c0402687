// Elements found by index, along an axis of memory.
#pragma once

#include <limits>

#include "kgen/introspect.hpp"
#include "kgen/line.hpp"

namespace kgen {

// The element at each index along the axis; a negative index counts from its end. An index outside of it reads nothing
// and gives NaN (integers 0, bool false): a wrong index shows itself in the result and cannot harm memory.
struct KGEN_KERNEL(gather) Gather {
  template <Element T, int W, Integer I>
  static KGEN_FN auto apply(const Line<T, W>& x, I indices) {
    using Lane = compute_t<T>;
    using Limits = std::numeric_limits<Lane>;
    constexpr Lane missing = Limits::has_quiet_NaN ? Limits::quiet_NaN() : Lane(0);
    const auto from_start = [&](const auto& given) KGEN_LAMBDA {
      return on_lanes(
          [&](auto i) KGEN_LAMBDA {
            using Places = decltype(convert<std::int64_t>(i));
            const Places place = convert<std::int64_t>(i);
            return select(place < Places(0), place + Places(x.extent()), place);
          },
          given);
    };
    // What looks up whole lines has one index for all lanes: they are compared, and the rest is done once.
    if constexpr (W > 1 && common_width<I> == W) {
      if (has_equal_lanes(indices)) return x.at(from_start(indices[0]), missing);
    }
    return x.at(from_start(indices), missing);
  }
};

}  // namespace kgen
