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

// Cast, with what lies beyond the numbers of a float of 8 bits as its infinity, or NaN where it has none, unless it is
// to `saturate`; and, to f8e8m0, rounded as `round` says.
template <Element To>
struct KGEN_KERNEL(narrow) Narrow {
  bool saturate;
  Rounding round;

  template <Element X>
  KGEN_FN Element auto apply(X x) const {
    return on_lanes(
        [this](auto v) KGEN_LAMBDA {
          if constexpr (is_narrow_float<To> && sizeof(To) == 1 && !is_packed<To>) {
            const auto bits = as_bits(detail::before_narrowing(v));
            return as_float(detail::widen_codes<To>(saturate ? detail::narrow_codes<To, true>(bits, round)
                                                             : detail::narrow_codes<To, false>(bits, round)));
          } else {
            return round_to<To>(v);
          }
        },
        x);
  }
};

// The bits of x as another type of 32 or 64 bits. Narrower ones may be lanes of another width: bit_copy reads their
// memory.
template <Element To>
struct KGEN_KERNEL(bitcast) BitCast {
  template <Element X>
  static KGEN_FN Element auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return bit_cast<compute_t<To>>(v); }, x);
  }
};

}  // namespace kgen
