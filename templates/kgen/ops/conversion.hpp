// Copies and changes of element type, lane by lane.
#pragma once

#include "kgen/convert.hpp"
#include "kgen/introspect.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// x itself.
struct KGEN_KERNEL(copy) Copy {
  template <Element X>
  static KGEN_FN auto apply(X x) {
    return x;
  }
};

// x converted to `To` as a store would; the lanes stay in its compute type, so that Cast<bf16> of floats gives floats
// that bf16 can hold. It is also what rounds a fused chain where its unfused operators would (numerics: match_unfused).
template <Element To>
struct KGEN_KERNEL(cast) Cast {
  template <Element X>
  static KGEN_FN Element auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return round_to<To>(v); }, x);
  }
};

}  // namespace kgen
