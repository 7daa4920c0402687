// How a scan goes along an axis, on every target.
//
// It takes steps: step s computes the result of position position(s), and takes in the element at source(s), which is one
// step behind where the scan is exclusive; then step 0 takes in nothing.
#pragma once

#include <cstdint>

#include "kgen/platform.hpp"

namespace kgen {

struct ScanOrder {
  int axis;
  bool exclusive, reverse;

  // The first of `width` neighbours along an axis of `length`, for the steps from s on; a reverse scan meets the last one
  // first.
  KGEN_FN std::int64_t position(std::int64_t s, std::int64_t length, int width = 1) const {
    return reverse ? length - s - width : s;
  }
  KGEN_FN std::int64_t source(std::int64_t s, std::int64_t length, int width = 1) const {
    return position(exclusive ? s - 1 : s, length, width);
  }
  KGEN_FN bool takes_in(std::int64_t s) const { return s > 0 || !exclusive; }
};

// What a scan combines elements by. `reassociates`: in any order of steps, where rounding alone tells the results apart.
// Products are taken step by step: what overflows beside a zero would be NaN. Whole numbers wrap.
struct Sums {
  static constexpr bool reassociates = true;
  static constexpr int identity = 0;
  template <class T>
  KGEN_FN static T apply(const T& a, const T& b) {
    return a + b;
  }
};
struct Products {
  static constexpr bool reassociates = false;
  static constexpr int identity = 1;
  template <class T>
  KGEN_FN static T apply(const T& a, const T& b) {
    return a * b;
  }
};

}  // namespace kgen
