// How many keys a sequence has, which of them the query at a place among them sees, and what becomes of its scores. The
// last query is at the last key.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kgen/platform.hpp"
#include "kgen/view.hpp"

namespace kgen {

// All keys, or (causal) those up to its own. Scores stay as they are.
struct WholeAttention {
  static constexpr bool is_local = false;
  bool causal;

  KGEN_FN std::int64_t keys_of(std::int64_t, std::int64_t all) const { return all; }
  KGEN_FN std::int64_t begin(std::int64_t) const { return 0; }
  KGEN_FN std::int64_t end(std::int64_t own, std::int64_t keys) const { return causal ? own + 1 : keys; }
};

// The same of the first lengths[b] keys of sequence b: only what computes knows how many there are.
template <class I>
struct CountedAttention : WholeAttention {
  View<const I, 1> lengths;

  KGEN_FN std::int64_t keys_of(std::int64_t b, std::int64_t all) const {
    const auto length = static_cast<std::int64_t>(lengths.template load<1>(Index<1>{b}).data);
    return length < 0 ? 0 : length < all ? length : all;
  }
};

// From `left` keys before its own to `right` behind it. Scores are kept between -cap and cap; where cap is 0, they
// stay as they are.
struct LocalAttention {
  static constexpr bool is_local = true;
  std::int64_t left, right;
  double cap;

  // A window of less than 0 keys to a side has no end there; one of more than there are neither.
  static LocalAttention of(std::int64_t left, std::int64_t right, double cap, std::int64_t keys, std::int64_t queries) {
    const std::int64_t all = keys + queries;
    return {left < 0 || left > all ? all : left, right < 0 || right > all ? all : right, cap};
  }
  KGEN_FN std::int64_t keys_of(std::int64_t, std::int64_t all) const { return all; }
  KGEN_FN std::int64_t begin(std::int64_t own) const { return own - left; }
  KGEN_FN std::int64_t end(std::int64_t own, std::int64_t) const { return own + right + 1; }
};

}  // namespace kgen
