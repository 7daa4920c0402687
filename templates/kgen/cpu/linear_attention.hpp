// Linear attention on the CPU: threads take pieces of a head's columns, whose part of the state stays in the nearest
// cache.
#pragma once

#include "kgen/cpu/parallel.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

template <class Columns>
void walk_columns(const Columns& columns, Stream stream) {
  using T = typename decltype(columns.state)::element_type;
  constexpr int lanes = register_bytes / int(sizeof(T)), together = 2 * lanes;
  const Index<4> shape = columns.state.shape();
  const std::int64_t width = shape[3], pieces = (width + together - 1) / together;
  const int threads = threads_for(stream, element_count(shape) * (columns.v.shape()[1] + 1));
  parallel_for(threads, shape[0] * shape[1] * pieces, [&](std::int64_t number) {
    const std::int64_t head = number / pieces, b = head / shape[1], h = head % shape[1];
    std::int64_t column = number % pieces * together;
    const std::int64_t end = std::min(column + together, width);
    if (column + together <= end) return columns.template walk<together>(b, h, column);
    for (; column + lanes <= end; column += lanes) columns.template walk<lanes>(b, h, column);
    for (; column < end; ++column) columns.template walk<1>(b, h, column);
  });
}

}  // namespace kgen::cpu
