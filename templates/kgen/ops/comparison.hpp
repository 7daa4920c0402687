// Comparison, logic and choice, lane by lane. Operands are vectors or scalars; of scalars alone, the result is a
// scalar.
#pragma once

#include <algorithm>
#include <limits>

#include "kgen/introspect.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// a == b
struct KGEN_KERNEL(equal) Equal {
  template <Element A, Element B>
  static KGEN_FN Boolean auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x == y; }, a, b);
  }
};

// a != b; true where either is NaN.
struct KGEN_KERNEL(not_equal) NotEqual {
  template <Element A, Element B>
  static KGEN_FN Boolean auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x != y; }, a, b);
  }
};

// a < b
struct KGEN_KERNEL(less) Less {
  template <Element A, Element B>
  static KGEN_FN Boolean auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x < y; }, a, b);
  }
};

// a <= b
struct KGEN_KERNEL(less_equal) LessEqual {
  template <Element A, Element B>
  static KGEN_FN Boolean auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x <= y; }, a, b);
  }
};

// a > b
struct KGEN_KERNEL(greater) Greater {
  template <Element A, Element B>
  static KGEN_FN Boolean auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x > y; }, a, b);
  }
};

// a >= b
struct KGEN_KERNEL(greater_equal) GreaterEqual {
  template <Element A, Element B>
  static KGEN_FN Boolean auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x >= y; }, a, b);
  }
};

// Both of two bools.
struct KGEN_KERNEL(logical_and) LogicalAnd {
  template <Boolean A, Boolean B>
  static KGEN_FN Boolean auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x & y; }, a, b);
  }
};

// Either of two bools.
struct KGEN_KERNEL(logical_or) LogicalOr {
  template <Boolean A, Boolean B>
  static KGEN_FN Boolean auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x | y; }, a, b);
  }
};

// One of two bools, and not the other.
struct KGEN_KERNEL(logical_xor) LogicalXor {
  template <Boolean A, Boolean B>
  static KGEN_FN Boolean auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x ^ y; }, a, b);
  }
};

// The opposite of a bool.
struct KGEN_KERNEL(logical_not) LogicalNot {
  template <Boolean X>
  static KGEN_FN Boolean auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return !v; }, x);
  }
};

// a where the condition, a bool, holds, else b.
struct KGEN_KERNEL(where) Where {
  template <Boolean C, Element A, Element B>
  static KGEN_FN Element auto apply(C condition, A a, B b) {
    constexpr int width = std::max(common_width<C>, common_width<A, B>);
    constexpr int lanes = std::max(width, 1);
    using T = common_lane_t<A, B>;
    return unspread<width>(select(spread<bool, lanes>(condition), spread<T, lanes>(a), spread<T, lanes>(b)));
  }
};

// True where x is NaN.
struct KGEN_KERNEL(isnan) IsNan {
  template <Float X>
  static KGEN_FN Boolean auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return v != v; }, x);
  }
};

// True where x is infinite, of the signs asked for.
struct KGEN_KERNEL(isinf) IsInf {
  bool detect_negative, detect_positive;

  template <Float X>
  KGEN_FN Boolean auto apply(X x) const {
    return on_lanes(
        [this](auto v) KGEN_LAMBDA {
          using V = decltype(v);
          using T = typename V::lane_type;
          constexpr T infinity = std::numeric_limits<T>::infinity();
          const Vec<bool, V::width> negative(detect_negative), positive(detect_positive);
          return (negative & (v == V(-infinity))) | (positive & (v == V(infinity)));
        },
        x);
  }
};

// True where x is neither infinite nor NaN.
struct KGEN_KERNEL(isfinite) IsFinite {
  template <Float X>
  static KGEN_FN Boolean auto apply(X x) {
    return on_lanes([](auto v) KGEN_LAMBDA { return v - v == decltype(v)(0); }, x);
  }
};

}  // namespace kgen
