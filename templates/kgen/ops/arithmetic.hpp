// Arithmetic, lane by lane. Operands are vectors or scalars; of scalars alone, the result is a scalar.
#pragma once

#include <limits>

#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// a + b; integers wrap.
struct Add {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x + y; }, a, b);
  }
};

// a - b; integers wrap.
struct Sub {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x - y; }, a, b);
  }
};

// a * b; integers wrap.
struct Mul {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x * y; }, a, b);
  }
};

// a / b; integers truncate towards zero and give 0 for a division by 0.
struct Div {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x / y; }, a, b);
  }
};

// The lesser of a and b; NaN where either is NaN.
struct Minimum {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return minimum(x, y); }, a, b);
  }
};

// The greater of a and b; NaN where either is NaN.
struct Maximum {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return maximum(x, y); }, a, b);
  }
};

// a to the power b.
struct Pow {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return pow(x, y); }, a, b);
  }
};

// -x; integers wrap.
struct Neg {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return -x; }, a);
  }
};

// The magnitude of x.
struct Abs {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return abs(x); }, a);
  }
};

// The square root; NaN below 0.
struct Sqrt {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return sqrt(x); }, a);
  }
};

// 1 / sqrt(x), rounded twice.
struct Rsqrt {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return decltype(x)(1) / sqrt(x); }, a);
  }
};

// 1 / x.
struct Reciprocal {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return decltype(x)(1) / x; }, a);
  }
};

// x * x.
struct Square {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return x * x; }, a);
  }
};

// The greatest integer that is not above x.
struct Floor {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return floor(x); }, a);
  }
};

// The least integer that is not below x.
struct Ceil {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return ceil(x); }, a);
  }
};

// The nearest integer, halves to even.
struct Round {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return round(x); }, a);
  }
};

// x limited to [minimum, maximum], maximum winning where they cross; NaN stays NaN.
struct Clamp {
  double minimum, maximum;

  template <class A>
  KGEN_FN auto apply(A a) const {
    return on_lanes(
        [this](auto x) KGEN_LAMBDA {
          using T = typename decltype(x)::lane_type;
          return kgen::minimum(kgen::maximum(x, decltype(x)(limit<T>(minimum))), decltype(x)(limit<T>(maximum)));
        },
        a);
  }

 private:
  // A limit beyond the range of T limits nothing.
  template <class T>
  static KGEN_FN T limit(double value) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(value);
    } else {
      if (!(value > static_cast<double>(std::numeric_limits<T>::lowest()))) return std::numeric_limits<T>::lowest();
      if (!(value < static_cast<double>(std::numeric_limits<T>::max()))) return std::numeric_limits<T>::max();
      return static_cast<T>(value);
    }
  }
};

}  // namespace kgen
