// Whole numbers at equal distances.
#pragma once

#include <cassert>

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

// A source of start, start + step, ...
struct Counted {
  std::int64_t start, step, count;

  KGEN_FN Index<1> shape() const { return {count}; }
  template <int W>
  KGEN_FN Vec<std::int64_t, W> load(Index<1> at) const {
    std::int64_t lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) lanes[i] = start + (at[0] + i) * step;
    return load_lanes<W>(lanes);
  }
};

// Where the count is known it is an argument, and an epilogue may take the results.
//
// out[i] = start + i * step: `count` of them.
template <Sink<std::int64_t, 1> Out>
KGEN_KERNEL(iota, "count >= 0")
void iota_to(std::int64_t count, std::int64_t start, std::int64_t step, const Out& out, Stream stream = {}) {
  assert(count >= 0);
  const Counted source{start, step, count};
  copy(source.shape(), source, out, stream);
}

// The same where only the run knows the count, which is that of out.
KGEN_KERNEL(iota)
inline void iota(std::int64_t start, std::int64_t step, const View<std::int64_t, 1>& out, Stream stream = {}) {
  iota_to(out.extent(0), start, step, out, stream);
}

// A source of one number.
struct OneNumber {
  std::int64_t number;

  template <int W>
  KGEN_FN Vec<std::int64_t, W> load(Index<0>) const {
    return Vec<std::int64_t, W>(number);
  }
};

// out = the extent of x, of which nothing else is looked at.
template <Element T, Sink<std::int64_t, 0> Out>
KGEN_KERNEL(length_of)
void length_of(const View<const T, 1>& x, const Out& out, Stream stream = {}) {
  copy(Index<0>{}, OneNumber{x.extent(0)}, out, stream);
}

}  // namespace kgen
