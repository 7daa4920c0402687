// Running sums.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/scan.hpp"
#else
#include "kgen/cpu/scan.hpp"
#endif
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

// out[..., i, ...] = sum over j <= i of x[..., j, ...] along one axis, which counts from the last where it is negative.
// exclusive: over j < i. reverse: from the other end, over j >= i (or j > i). Accumulated in f32 (f64 for f64, 64 bits
// for integers); the same bits in every run, for any number of threads. A prologue is evaluated once or twice for each
// element.
template <AnySource X, SinkLike<X> Out>
KGEN_KERNEL(cumsum)
void cumsum(const X& x, std::int64_t axis, bool exclusive, bool reverse, const Out& out, Stream stream = {})
requires Number<source_lane_t<X, source_rank<X>>>
{
  constexpr int R = source_rank<X>;
  const auto counted = static_cast<int>(axis < 0 ? axis + R : axis);
  assert(counted >= 0 && counted < R);
  target::scan<Sums>(x, out, ScanOrder{counted, exclusive, reverse}, stream);
}

}  // namespace kgen
