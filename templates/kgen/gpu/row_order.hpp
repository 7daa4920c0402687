// The order of a matrix's rows on a GPU.
#pragma once

#include "kgen/gpu/elementwise.hpp"
#include "kgen/selection.hpp"
#include "kgen/view.hpp"

namespace kgen::gpu {

// One step of a sorting network over rows in any number: each pair of places that it compares is in ascending order
// behind it, so that what would stand behind the last row never moves.
template <class T>
struct OrderRowPairs {
  View<const T, 2> x;
  View<std::int64_t, 1> order;
  std::int64_t distance;
  bool mirrored;  // the first step of a run: i meets the place as far from the run's end

  template <int W>
  KGEN_FN void operator()(Index<1> at) const {
    for (int lane = 0; lane < W; ++lane) order_pair(at[0] + lane);
  }
  KGEN_FN void order_pair(std::int64_t pair) const {
    const std::int64_t within = pair & (distance - 1), low = 2 * pair - within;
    const std::int64_t high = mirrored ? low + 2 * (distance - within) - 1 : low + distance;
    if (high >= order.extent(0)) return;
    std::int64_t* const first = order.data() + low * order.stride(0);
    std::int64_t* const second = order.data() + high * order.stride(0);
    const std::int64_t a = *first, b = *second;
    const int compared = compare_rows(x, b, a, x.extent(1));
    if (compared > 0 || (compared == 0 && b > a)) return;
    *first = b;
    *second = a;
  }
};

struct CountRows {
  View<std::int64_t, 1> order;

  template <int W>
  KGEN_FN void operator()(Index<1> at) const {
    for (int lane = 0; lane < W; ++lane) order.store(Index<1>{at[0] + lane}, Vec<std::int64_t, 1>(at[0] + lane));
  }
};

// Every step is a launch: blocks meet nowhere else.
template <class T>
void argsort_rows(const View<const T, 2>& x, const View<std::int64_t, 1>& order, Stream stream) {
  const std::int64_t rows = x.extent(0);
  if (rows == 0) return;
  gpu::elementwise(Index<1>{rows}, CountRows{order}, stream);
  for (std::int64_t half = 1; half < rows; half *= 2) {
    for (std::int64_t distance = half; distance > 0; distance /= 2) {
      const std::int64_t pairs = (rows + 2 * distance - 1) / (2 * distance) * distance;
      gpu::elementwise(Index<1>{pairs}, OrderRowPairs<T>{x, order, distance, distance == half}, stream);
    }
  }
}

}  // namespace kgen::gpu
