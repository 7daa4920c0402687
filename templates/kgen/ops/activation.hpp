// Activation and elementary functions, lane by lane. Operands are vectors or scalars of floats; of scalars alone, the
// result is a scalar. Accuracy in units in the last place (ulp) of the result.
#pragma once

#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// max(x, 0); NaN stays NaN. Integers too.
struct Relu {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return select(x < decltype(x)(0), decltype(x)(0), x); }, a);
  }
};

// 1 / (1 + exp(-x)), within 4 ulp.
struct Sigmoid {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return sigmoid(x); }, a);
  }
};

// Hyperbolic tangent, within 1 ulp.
struct Tanh {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return tanh(x); }, a);
  }
};

// e to the power x, within 1 ulp.
struct Exp {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return exp(x); }, a);
  }
};

// Natural logarithm, within 1 ulp.
struct Log {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return log(x); }, a);
  }
};

// Sine of x in radians, within 1 ulp.
struct Sin {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return sin(x); }, a);
  }
};

// Cosine of x in radians, within 1 ulp.
struct Cos {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return cos(x); }, a);
  }
};

// The error function, within 1 ulp.
struct Erf {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return erf(x); }, a);
  }
};

// x * sigmoid(x), also called swish, as x / (1 + exp(-x)).
struct Silu {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return x / (decltype(x)(1) + exp(-x)); }, a);
  }
};

// x / 2 * (1 + erf(x / sqrt(2)))
struct Gelu {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return x * 0.5 * (erf(x * 0.70710678118654752440) + 1.0); }, a);
  }
};

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
struct GeluTanh {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes(
        [](auto x) KGEN_LAMBDA {
          const auto inner = (x * x * x * 0.044715 + x) * 0.79788456080286535588;
          return x * 0.5 * (tanh(inner) + 1.0);
        },
        a);
  }
};

}  // namespace kgen
