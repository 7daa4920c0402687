// A frame around a tensor.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

// What stands outside of a tensor: one value, its nearest element, its mirror image, in which its first and its last
// elements stand once, or the tensor again.
enum class PadMode { constant, edge, reflect, wrap };

// A source with a frame around it.
template <int R, class X>
struct Padded {
  using Lane = source_lane_t<X, R>;
  X x;
  Index<R> extents;  // of x
  Index<R> before;   // how far the frame reaches in front of x
  PadMode mode;
  Lane value;

  template <int W>
  KGEN_FN Vec<Lane, W> load(Index<R> at) const {
    if constexpr (W > most_lanes) {
      Index<R> next = at;
      next[R - 1] += W / 2;
      return concatenate(load<W / 2>(at), load<W / 2>(next));
    } else {
      return lanes<W>(at);
    }
  }

  // More at a time would not find registers on a GPU.
  static constexpr int most_lanes = register_bytes == 0 ? 8 : 64;

  template <int W>
  KGEN_FN Vec<Lane, W> lanes(Index<R> at) const {
    bool inside = true;
    KGEN_UNROLL
    for (int axis = 0; axis < R - (W > 1 ? 1 : 0); ++axis) {
      at[axis] = element_at(at[axis] - before[axis], extents[axis]);
      inside = inside && at[axis] >= 0;
    }
    if (!inside) return Vec<Lane, W>(value);
    if constexpr (W == 1) {
      return x.template load<1>(at);
    } else {
      const std::int64_t first = at[R - 1] - before[R - 1];
      at[R - 1] = first;
      if (first >= 0 && first + W <= extents[R - 1]) return load_anywhere<W>(x, at);
      Lane elements[W];
      KGEN_UNROLL
      for (int i = 0; i < W; ++i) {
        at[R - 1] = element_at(first + i, extents[R - 1]);
        elements[i] = at[R - 1] < 0 ? value : x.template load<1>(at).data;
      }
      return load_lanes<W>(elements);
    }
  }

  // The element of an axis that stands at position i, counted from its first element; -1 where none does.
  KGEN_FN std::int64_t element_at(std::int64_t i, std::int64_t extent) const {
    if (i >= 0 && i < extent) return i;
    if (mode == PadMode::constant || extent == 0) return -1;
    if (mode == PadMode::edge || extent == 1) return i < 0 ? 0 : extent - 1;
    if (mode == PadMode::wrap) {
      const std::int64_t rest = i % extent;
      return rest < 0 ? rest + extent : rest;
    }
    while (i < 0 || i >= extent) i = i < 0 ? -i : 2 * (extent - 1) - i;
    return i;
  }
};

// x of shape [...] with a frame: out has pads[i] more elements in front of axis i, and pads[R + i] behind it. They are
// `value`, or as `mode` says; of an x without elements, all are `value`. out: R axes as x.
template <int N, Source<N / 2> X, Sink<source_lane_t<X, N / 2>, N / 2> Out>
KGEN_KERNEL(pad)
void pad(const X& x, Index<N> pads, PadMode mode, double value, const Out& out, Stream stream = {}) {
  constexpr int R = N / 2;
  const auto lane = static_cast<source_lane_t<X, R>>(convert<source_lane_t<X, R>>(Vec<double, 1>(value)).data);
  const Index<R> extents = x.shape();
  Index<R> shape = extents;
  for (int axis = 0; axis < R; ++axis) shape[axis] += pads[axis] + pads[R + axis];
  copy(shape, Padded<R, X>{x, extents, first_axes<R>(pads), mode, lane}, out, stream);
}

}  // namespace kgen
