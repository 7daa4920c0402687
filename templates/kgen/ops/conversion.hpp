// Copies and changes of element type, lane by lane.
#pragma once

#include "kgen/cpu/convert.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// x itself.
struct Copy {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return a;
  }
};

// x converted to `To` as a store would; the lanes stay in its compute type, so that Cast<bf16> of floats gives floats
// that bf16 can hold. It is also what rounds a fused chain where its unfused operators would (numerics: match_unfused).
template <class To>
struct Cast {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return round_to<To>(x); }, a);
  }
};

}  // namespace kgen
