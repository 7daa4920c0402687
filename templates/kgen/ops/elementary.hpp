// Further elementary functions, lane by lane: of angles, hyperbolic ones, exponentials and logarithms. Operands are
// vectors or scalars of floats; of scalars alone, the result is a scalar. Within 1 ulp on the CPU (exp2 and expm1 2,
// sinh and cosh 3 where e^|x| overflows), and 4 with a GPU's library.
#pragma once

#include "kgen/elementary.hpp"
#include "kgen/introspect.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// Tangent of x in radians.
struct KGEN_KERNEL(tan) Tan {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return tan(v); }, x);
  }
};

// The angle in [-pi/2, pi/2] whose sine is x; NaN beyond [-1, 1].
struct KGEN_KERNEL(asin) Asin {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return asin(v); }, x);
  }
};

// The angle in [0, pi] whose cosine is x; NaN beyond [-1, 1].
struct KGEN_KERNEL(acos) Acos {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return acos(v); }, x);
  }
};

// The angle in [-pi/2, pi/2] whose tangent is x.
struct KGEN_KERNEL(atan) Atan {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return atan(v); }, x);
  }
};

// Hyperbolic sine.
struct KGEN_KERNEL(sinh) Sinh {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return sinh(v); }, x);
  }
};

// Hyperbolic cosine.
struct KGEN_KERNEL(cosh) Cosh {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return cosh(v); }, x);
  }
};

// Inverse hyperbolic sine.
struct KGEN_KERNEL(asinh) Asinh {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return asinh(v); }, x);
  }
};

// Inverse hyperbolic cosine, at least 0; NaN below 1.
struct KGEN_KERNEL(acosh) Acosh {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return acosh(v); }, x);
  }
};

// Inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond.
struct KGEN_KERNEL(atanh) Atanh {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return atanh(v); }, x);
  }
};

// 2 to the power x.
struct KGEN_KERNEL(exp2) Exp2 {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return exp2(v); }, x);
  }
};

// exp(x) - 1, precise also near 0.
struct KGEN_KERNEL(expm1) Expm1 {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return expm1(v); }, x);
  }
};

// Logarithm to base 2; -inf for 0, NaN for negative x.
struct KGEN_KERNEL(log2) Log2 {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return log2(v); }, x);
  }
};

// Logarithm to base 10; -inf for 0, NaN for negative x.
struct KGEN_KERNEL(log10) Log10 {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return log10(v); }, x);
  }
};

// log(1 + x), precise also near 0; -inf for -1, NaN below.
struct KGEN_KERNEL(log1p) Log1p {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return log1p(v); }, x);
  }
};

// The angle in [-pi, pi] of the point (x, y), from the x axis; the signs of zeros and infinities count as in C.
struct KGEN_KERNEL(atan2) Atan2 {
  template <Float Y, Float X>
  static KGEN_FN auto apply(Y y, X x) {
    return on_lanes([](auto a, auto b) KGEN_LAMBDA { return atan2(a, b); }, y, x);
  }
};

}  // namespace kgen
