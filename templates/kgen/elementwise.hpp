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
#endif
#include "kgen/view.hpp"

namespace kgen {

// functor.operator()<W>(at) computes positions at, ..., at + W - 1 of the last axis. Positions are independent of each
// other, and are visited once each, in no particular order.
template <int R, class Functor>
void elementwise(const Index<R>& shape, const Functor& functor, Stream stream = {}) {
  target::elementwise(shape, functor, stream);
}

}  // namespace kgen
