// The order of a matrix's rows on the CPU: one thread sorts their numbers.
#pragma once

#include <algorithm>
#include <numeric>

#include "kgen/cpu/scratch.hpp"
#include "kgen/selection.hpp"
#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

template <class T>
void argsort_rows(const View<const T, 2>& x, const View<std::int64_t, 1>& out, Stream) {
  const std::int64_t rows = x.extent(0);
  std::int64_t* const order = scratch<std::int64_t>(0, rows);
  std::iota(order, order + rows, std::int64_t{0});
  std::sort(order, order + rows, [&](std::int64_t a, std::int64_t b) {
    const int compared = compare_rows(x, a, b, x.extent(1));
    return compared != 0 ? compared < 0 : a < b;
  });
  for (std::int64_t i = 0; i < rows; ++i) out.store(Index<1>{i}, Vec<std::int64_t, 1>(order[i]));
}

}  // namespace kgen::cpu
