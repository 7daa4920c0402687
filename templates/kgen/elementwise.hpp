// One functor over every position of a shape.
//
//   struct Scale {
//     View<const float, 2> x;
//     View<float, 2> y;
//     template <int W>
//     KGEN_FN void operator()(Index<2> at) const { y.store(at, Mul::apply(x.load<W>(at), 2.0f)); }
//   };
//   elementwise(y.shape(), Scale{x, y}, stream);
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/elementwise.hpp"
#else
#include "kgen/cpu/elementwise.hpp"
#include "kgen/cpu/tiles.hpp"
#endif
#include "kgen/view.hpp"

namespace kgen {

// functor.operator()<W>(at) computes positions at, ..., at + W - 1 of the last axis. Positions are independent of each
// other, and are visited once each, in no particular order. What the functor may write to through a View of its own it
// does not read through it: that may be a buffer, which goes to memory later.
template <int R, class Functor>
void elementwise(const Index<R>& shape, const Functor& functor, Stream stream = {}) {
  target::elementwise(shape, functor, stream);
}

// The same, for Views that may lie along another axis than the last, as transposed ones do: those are turned in
// tiles, through shared memory or a buffer in the cache; elementwise() would read them element by element.
template <int R, class Functor>
void elementwise_across(const Index<R>& shape, const Functor& functor, Stream stream = {}) {
  if (target::elementwise_in_tiles(shape, functor, stream)) return;
  target::elementwise(shape, functor, stream);
}

namespace detail {
template <int R, class S, class Out>
struct Copy {
  static constexpr bool seeks = requires { S::seeks; };
  S source;
  Out out;

  template <int W>
  KGEN_FN void operator()(Index<R> at) const {
    store_to(out, at, source.template load<W>(at));
  }
};
}  // namespace detail

// All of a source, given to a sink.
template <int R, class S, class Out>
void copy(const Index<R>& shape, const S& source, const Out& out, Stream stream = {}) {
  elementwise_across(shape, detail::Copy<R, S, Out>{source, out}, stream);
}

}  // namespace kgen
