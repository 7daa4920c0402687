// An elementwise kernel that does a composite operator whole, and less exactly.
#pragma once

#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace mine {

// x * sigmoid(1.702 * x), within 0.021 of x * (1 + erf(x / sqrt(2))) / 2 (Hendrycks and Gimpel, arXiv:1606.08415).
struct KGEN_KERNEL(gelu, "T == f32") FastGelu {
  template <kgen::Float X>
  static KGEN_FN auto apply(X x) {
    return kgen::on_lanes([](auto each) KGEN_LAMBDA { return each * kgen::sigmoid(each * decltype(each)(1.702f)); }, x);
  }
};

}  // namespace mine
