// Division by a number that is known at launch: a multiplication and a shift (Granlund and Montgomery, 1994).
#pragma once

#include <cstdint>

#include "kgen/index.hpp"

namespace kgen::gpu {

// n / divisor for 0 <= n < 2^31; the divisor is in [1, 2^31).
class Divider {
 public:
  Divider() = default;
  explicit Divider(std::int64_t divisor) : divisor_(static_cast<std::uint32_t>(divisor)) {
    while ((std::uint64_t{1} << shift_) < divisor_) ++shift_;
    const std::uint64_t excess = (std::uint64_t{1} << shift_) - divisor_;  // 2^shift = divisor + excess
    magic_ = static_cast<std::uint32_t>((excess << 32) / divisor_ + 1);
  }
  // n becomes n % divisor; returns n / divisor.
  KGEN_FN std::uint32_t split(std::uint32_t& n) const {
    const std::uint32_t high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(n) * magic_ >> 32);
    const std::uint32_t quotient = (high + n) >> shift_;
    n -= quotient * divisor_;
    return quotient;
  }

 private:
  std::uint32_t divisor_ = 1, magic_ = 1, shift_ = 0;
};

// The positions of a box of fewer than 2^31, in row-major order.
template <int R>
class Positions {
 public:
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
