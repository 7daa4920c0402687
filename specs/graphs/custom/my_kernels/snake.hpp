// An elementwise kernel: a struct with a static `apply` that works on lanes.
#pragma once

#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace mine {

// x + sin(alpha * x)^2 / alpha (Ziyin et al., arXiv:2006.08195).
struct KGEN_KERNEL(snake) Snake {
  template <kgen::Float X, kgen::Float Alpha>
  static KGEN_FN auto apply(X x, Alpha alpha) {
    return kgen::on_lanes(
        [](auto each, auto frequency) KGEN_LAMBDA {
          const auto wave = kgen::sin(each * frequency);
          return each + wave * wave / frequency;
        },
        x, alpha);
  }
};

}  // namespace mine
