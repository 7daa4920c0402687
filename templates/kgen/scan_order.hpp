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

}  // namespace kgen
