// Activation and elementary functions, lane by lane. Operands are vectors or scalars of floats; of scalars alone, the
// result is a scalar. Accuracy in units in the last place (ulp) of the result; with `numerics: match_unfused` 1 ulp on
// the CPU, where nothing smaller is said.
#pragma once

#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// max(x, 0); NaN stays NaN. Integers too.
struct KGEN_KERNEL(relu) Relu {
  template <Number X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return maximum(v, decltype(v)(0)); }, x);
  }
};

// 1 / (1 + exp(-x)), within 4 ulp.
struct KGEN_KERNEL(sigmoid) Sigmoid {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return sigmoid(v); }, x);
  }
};

// Hyperbolic tangent, within 3 ulp.
struct KGEN_KERNEL(tanh) Tanh {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return tanh(v); }, x);
  }
};

// e to the power x, within 2 ulp.
struct KGEN_KERNEL(exp) Exp {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return exp(v); }, x);
  }
};

// e to the power x, so, of an x that is at most 0: of what a maximum was subtracted from.
struct KGEN_KERNEL(exp_nonpositive) ExpNonpositive {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return exp_nonpositive(v); }, x);
  }
};

// Natural logarithm, within 1 ulp.
struct KGEN_KERNEL(log) Log {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return log(v); }, x);
  }
};

// Sine of x in radians, within 1 ulp.
struct KGEN_KERNEL(sin) Sin {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return sin(v); }, x);
  }
};

// Cosine of x in radians, within 1 ulp.
struct KGEN_KERNEL(cos) Cos {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return cos(v); }, x);
  }
};

// The error function, within 6 ulp of f32 and 1 of f64.
struct KGEN_KERNEL(erf) Erf {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return erf(v); }, x);
  }
};

// x * sigmoid(x), also called swish.
struct KGEN_KERNEL(silu) Silu {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return v * sigmoid(v); }, x);
  }
};

// x times the standard normal distribution function of x: x / 2 * (1 + erf(x / sqrt(2))).
struct KGEN_KERNEL(gelu) Gelu {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return v * normal_distribution(v); }, x);
  }
};

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
struct KGEN_KERNEL(gelu_tanh) GeluTanh {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes(
        [](auto v) KGEN_LAMBDA {
          const auto inner = (v * v * v * 0.044715 + v) * 0.79788456080286535588;
          return v * 0.5 * (tanh(inner) + 1.0);
        },
        x);
  }
};

}  // namespace kgen
