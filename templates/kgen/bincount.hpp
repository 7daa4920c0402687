// How often numbers occur.
#pragma once

#include "kgen/platform.hpp"
#include "kgen/view.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/bincount.hpp"
#else
#include "kgen/cpu/bincount.hpp"
#endif
#include "kgen/introspect.hpp"

namespace kgen {

// out[i] = how many elements of x are i. Those that are negative, or have no bin, do not count. A prologue is evaluated
// once for each element.
template <AnySource X>
KGEN_KERNEL(bincount)
void bincount(const X& x, const View<std::int64_t, 1>& out,
              Stream stream = {}) requires Integer<source_lane_t<X, source_rank<X>>> {
  if (out.extent(0) > 0) target::bincount(x, out, stream);
}

}  // namespace kgen
