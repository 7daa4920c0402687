// What attention computes, as its kernels on a GPU see it.
#pragma once

#include <cstdint>

#include "kgen/attention_rule.hpp"
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

  // With the keys that sequence b has.
  KGEN_FN AttentionShape of_sequence(std::int64_t b) const {
    AttentionShape shape = *this;
    shape.keys = static_cast<Size>(rule.keys_of(b, keys));
    return shape;
  }
  KGEN_FN Size rows() const { return S * group; }
  // Keys that the query of a row sees: those before this one, which may be beyond the last,
  KGEN_FN Size keys_seen(Size row) const {
    const std::int64_t end = rule.end(keys - S + row / group, keys);
    if (Rule::is_local && end > keys) return keys;
    return end < 0 ? 0 : static_cast<Size>(end);
  }
  // from this one on.
  KGEN_FN Size first_key(Size row) const {
    const std::int64_t begin = rule.begin(keys - S + row / group);
    return begin < 0 ? 0 : static_cast<Size>(begin);
  }
};

}  // namespace kgen::gpu
