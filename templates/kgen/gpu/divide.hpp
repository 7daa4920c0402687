// The positions of a box, by their numbers.
#pragma once

#include <cstdint>

#include "kgen/divide.hpp"
#include "kgen/index.hpp"

namespace kgen::gpu {

// The positions of a box of fewer than 2^31, in row-major order.
template <int R>
class Positions {
 public:
  Positions() = default;
  explicit Positions(const Index<R>& extents) {
    for (int axis = 0; axis < R; ++axis) dividers_[axis] = Divider(extents[axis]);
  }
  KGEN_FN Index<R> operator()(std::uint32_t number) const {
    Index<R> at{};
    KGEN_UNROLL
    for (int axis = R - 1; axis > 0; --axis) {
      const std::uint32_t outer = dividers_[axis].split(number);
      at[axis] = number;
      number = outer;
    }
    at[0] = number;
    return at;
  }

 private:
  Divider dividers_[R];
};

}  // namespace kgen::gpu
