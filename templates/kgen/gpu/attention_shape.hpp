// What attention computes, as its kernels on a GPU see it.
#pragma once

#include <cstdint>

#include "kgen/attention_rule.hpp"
#include "kgen/divide.hpp"
#include "kgen/platform.hpp"

namespace kgen::gpu {

struct NoMask {};

// The queries of one head of keys form rows: row i is query i / group of head i % group, for the `group` heads that
// share these keys. T: what scores are computed in. Rule: which keys are seen. Size: what extents are counted in.
template <class T, class Rule = WholeAttention, class Size = std::int64_t>
struct AttentionShape {
  Size B, S, H, D, keys, key_heads, group;
  T scale;
  Rule rule;
  Divider by_group = {};  // by `group`, where Size is int

  // With the keys that sequence b has.
  KGEN_FN AttentionShape of_sequence(std::int64_t b) const {
    AttentionShape shape = *this;
    shape.keys = static_cast<Size>(rule.keys_of(b, keys));
    return shape;
  }
  KGEN_FN Size rows() const { return S * group; }
  // Of a row.
  KGEN_FN Size query(Size row) const {
    if constexpr (std::is_same_v<Size, int>) {
      auto rest = static_cast<std::uint32_t>(row);
      return static_cast<Size>(by_group.split(rest));
    } else {
      return row / group;
    }
  }
  // Keys that the query of a row sees: those before this one, which may be beyond the last,
  KGEN_FN Size keys_seen(Size row) const {
    const std::int64_t end = rule.end(keys - S + query(row), keys);
    if (Rule::is_local && end > keys) return keys;
    return end < 0 ? 0 : static_cast<Size>(end);
  }
  // from this one on.
  KGEN_FN Size first_key(Size row) const {
    const std::int64_t begin = rule.begin(keys - S + query(row));
    return begin < 0 ? 0 : static_cast<Size>(begin);
  }
};

}  // namespace kgen::gpu
