// What attention computes, as its kernels on a GPU see it.
#pragma once

#include <cstdint>

#include "kgen/platform.hpp"

namespace kgen::gpu {

struct NoMask {};

// The queries of one head of keys form rows: row i is query i / group of head i % group, for the `group` heads that
// share these keys. T: what scores are computed in. Size: what extents are counted in.
template <class T, class Size = std::int64_t>
struct AttentionShape {
  Size B, S, H, D, keys, key_heads, group;
  T scale;
  bool causal;

  KGEN_FN Size rows() const { return S * group; }
  // Keys that the query of a row sees: those before this one.
  KGEN_FN Size keys_seen(Size row) const {
    const Size seen = causal ? keys - S + row / group + 1 : keys;
    return seen < 0 ? 0 : seen;
  }
};

}  // namespace kgen::gpu
