// Indices as rows of truth values.
#pragma once

#include <cassert>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

// A source of indices with one more axis, along which the place that an index names holds true.
template <int R, class I>
struct OneHot {
  I indices;
  std::int64_t depth;

  template <int W>
  KGEN_FN Vec<bool, W> load(Index<R> at) const {
    const auto index = static_cast<std::int64_t>(indices.template load<1>(first_axes<R - 1>(at)).data);
    const std::int64_t lane = (index < 0 ? index + depth : index) - at[R - 1];
    bool elements[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) elements[i] = i == lane;
    return load_lanes<W>(elements);
  }
};

// out[..., j] = true where j is indices[...]. Negative ones count from `depth`, which is the last extent of out; those
// beyond name no place. indices: any axes, out: these and one more. A prologue is evaluated more than
// once for each index.
template <AnySource I, Sink<bool, source_rank<I> + 1> Out>
KGEN_KERNEL(one_hot)
KGEN_EVALUATED(indices, "depth")
void one_hot(const I& indices, std::int64_t depth, const Out& out, Stream stream = {})
requires Integer<source_lane_t<I, source_rank<I>>>
{
  constexpr int R = source_rank<I> + 1;
  assert(depth >= 0);
  copy(join(indices.shape(), Index<1>{depth}), OneHot<R, I>{indices, depth}, out, stream);
}

}  // namespace kgen
