// Division by a number that is known before a loop: a multiplication and a shift (Granlund and Montgomery, 1994).
#pragma once

#include <cstdint>

#include "kgen/platform.hpp"

namespace kgen {

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

// The same for any position: 0 <= n < 2^63, and a divisor in [1, 2^63).
class WideDivider {
  __extension__ typedef unsigned __int128 Product;

 public:
  WideDivider() = default;
  explicit WideDivider(std::int64_t divisor) : divisor_(static_cast<std::uint64_t>(divisor)) {
    while ((std::uint64_t{1} << shift_) < divisor_) ++shift_;
    const std::uint64_t excess = (std::uint64_t{1} << shift_) - divisor_;
    magic_ = static_cast<std::uint64_t>((static_cast<Product>(excess) << 64) / divisor_ + 1);
  }
  KGEN_FN std::int64_t split(std::int64_t& n) const {
    const auto whole = static_cast<std::uint64_t>(n);
    const auto high = static_cast<std::uint64_t>(static_cast<Product>(whole) * magic_ >> 64);
    const std::uint64_t quotient = (high + whole) >> shift_;
    n = static_cast<std::int64_t>(whole - quotient * divisor_);
    return static_cast<std::int64_t>(quotient);
  }

 private:
  std::uint64_t divisor_ = 1, magic_ = 1;
  std::uint32_t shift_ = 0;
};

}  // namespace kgen
