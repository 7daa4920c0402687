// Comparison, logic and choice, lane by lane. Operands are vectors or scalars; of scalars alone, the result is a
// scalar.
#pragma once

#include <algorithm>

#include "kgen/vec.hpp"

namespace kgen {

// a == b
struct Equal {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x == y; }, a, b);
  }
};

// a != b; true where either is NaN.
struct NotEqual {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x != y; }, a, b);
  }
};

// a < b
struct Less {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x < y; }, a, b);
  }
};

// a <= b
struct LessEqual {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x <= y; }, a, b);
  }
};

// a > b
struct Greater {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x > y; }, a, b);
  }
};

// a >= b
struct GreaterEqual {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x >= y; }, a, b);
  }
};

// Both of two bools.
struct LogicalAnd {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x & y; }, a, b);
  }
};

// Either of two bools.
struct LogicalOr {
  template <class A, class B>
  static KGEN_FN auto apply(A a, B b) {
    return on_lanes([](auto x, auto y) KGEN_LAMBDA { return x | y; }, a, b);
  }
};

// The opposite of a bool.
struct LogicalNot {
  template <class A>
  static KGEN_FN auto apply(A a) {
    return on_lanes([](auto x) KGEN_LAMBDA { return !x; }, a);
  }
};

// a where the condition, a bool, holds, else b.
struct Where {
  template <class C, class A, class B>
  static KGEN_FN auto apply(C condition, A a, B b) {
    constexpr int width = std::max(common_width<C>, common_width<A, B>);
    constexpr int lanes = std::max(width, 1);
    using T = common_lane_t<A, B>;
    return unspread<width>(select(spread<bool, lanes>(condition), spread<T, lanes>(a), spread<T, lanes>(b)));
  }
};

}  // namespace kgen
