// Arithmetic, lane by lane. Operands are vectors or scalars; of scalars alone, the result is a scalar.
#pragma once

#include <limits>

#include "kgen/introspect.hpp"
#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// a + b; integers wrap.
struct KGEN_KERNEL(add) Add {
  template <Number A, Number B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x + y; }, a, b);
  }
};

// a - b; integers wrap.
struct KGEN_KERNEL(sub) Sub {
  template <Number A, Number B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x - y; }, a, b);
  }
};

// a * b, rounded also where an addition follows; integers wrap.
struct KGEN_KERNEL(mul) Mul {
  template <Number A, Number B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return rounded_product(x, y); }, a, b);
  }
};

// a / b; integers truncate towards zero and give 0 for a division by 0.
struct KGEN_KERNEL(div) Div {
  template <Number A, Number B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x / y; }, a, b);
  }
};

// The lesser of a and b; NaN where either is NaN.
struct KGEN_KERNEL(minimum) Minimum {
  template <Number A, Number B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return minimum(x, y); }, a, b);
  }
};

// The greater of a and b; NaN where either is NaN.
struct KGEN_KERNEL(maximum) Maximum {
  template <Number A, Number B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return maximum(x, y); }, a, b);
  }
};

// a to the power b.
struct KGEN_KERNEL(pow) Pow {
  template <Float A, Float B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return pow(x, y); }, a, b);
  }
};

// -x; integers wrap.
struct KGEN_KERNEL(neg) Neg {
  template <Number X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return -v; }, x);
  }
};

// The magnitude of x.
struct KGEN_KERNEL(abs) Abs {
  template <Number X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return abs(v); }, x);
  }
};

// The square root; NaN below 0.
struct KGEN_KERNEL(sqrt) Sqrt {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return sqrt(v); }, x);
  }
};

// 1 / sqrt(x), within 2 ulp.
struct KGEN_KERNEL(rsqrt) Rsqrt {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return reciprocal_sqrt(v); }, x);
  }
};

// 1 / x.
struct KGEN_KERNEL(reciprocal) Reciprocal {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return decltype(v)(1) / v; }, x);
  }
};

// x * x, rounded also where an addition follows.
struct KGEN_KERNEL(square) Square {
  template <Number X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return rounded_product(v, v); }, x);
  }
};

// The greatest integer that is not above x.
struct KGEN_KERNEL(floor) Floor {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return floor(v); }, x);
  }
};

// The least integer that is not below x.
struct KGEN_KERNEL(ceil) Ceil {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return ceil(v); }, x);
  }
};

// The nearest integer, halves to even.
struct KGEN_KERNEL(round) Round {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return round(v); }, x);
  }
};

// The integer part: towards zero.
struct KGEN_KERNEL(trunc) Trunc {
  template <Float X>
  static KGEN_FN auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return trunc(v); }, x);
  }
};

// 1 above 0, -1 below, and 0 itself; NaN stays NaN.
struct KGEN_KERNEL(sign) Sign {
  template <Number X>
  static KGEN_FN auto apply(X x) {
    return on_lanes(
        [](auto v) KGEN_LAMBDA {
          using V = decltype(v);
          const V positive = select(v > V(0), V(1), v);
          if constexpr (std::is_unsigned_v<typename V::lane_type>) {
            return positive;
          } else {
            return select(v < V(0), V(-1), positive);
          }
        },
        x);
  }
};

// x limited to [minimum, maximum], maximum winning where they cross; NaN stays NaN. Of integers, to
// the whole numbers between.
struct KGEN_KERNEL(clamp) Clamp {
  double minimum, maximum;

  template <Number X>
  KGEN_FN auto apply(X x) const {
    return on_lanes(
        [this](auto v) KGEN_LAMBDA {
          using T = typename decltype(v)::lane_type;
          const T low = limit<T>(minimum, false), high = limit<T>(maximum, true);
          return kgen::minimum(kgen::maximum(v, decltype(v)(low)), decltype(v)(high));
        },
        x);
  }

 private:
  // A limit beyond the range of T limits nothing. One of integers is the whole number below or, if not, above.
  template <class T>
  static KGEN_FN T limit(double value, bool below) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(value);
    } else {
      const double whole = below ? ::floor(value) : ::ceil(value);
      if (!(whole > static_cast<double>(std::numeric_limits<T>::lowest()))) return std::numeric_limits<T>::lowest();
      if (!(whole < static_cast<double>(std::numeric_limits<T>::max()))) return std::numeric_limits<T>::max();
      return static_cast<T>(whole);
    }
  }
};

}  // namespace kgen
