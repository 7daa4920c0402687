// A matrix of floats of few bits with a scale for each of its blocks, as a source of what it stands for.
#pragma once

#include "kgen/index.hpp"
#include "kgen/math.hpp"
#include "kgen/view.hpp"

namespace kgen {

// How much of a product's depth shares a scale.
inline constexpr int scaled_depth = 128;

// Element (i, j) is codes[i, j] * scales[i / rows, j / columns].
template <class V, class S>
struct ScaledBlocks {
  V codes;
  S scales;
  Index<2> block;  // rows, columns

  KGEN_FN Index<2> shape() const { return codes.shape(); }
  template <int W>
  KGEN_FN Vec<float, W> load(Index<2> at) const {
    float scale[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      scale[i] = scales.template load<1>(Index<2>{at[0] / block[0], (at[1] + i) / block[1]}).data;
    }
    return convert<float>(codes.template load<W>(at)) * load_lanes<W>(scale);
  }
};

// A left operand, [M, K], with scales [M, K / 128]; a right one, [K, N], with scales [K / 128, N / width].
template <class V, class S>
ScaledBlocks<V, S> scaled_rows(const V& codes, const S& scales) {
  return {codes, scales, {1, scaled_depth}};
}
template <class V, class S>
ScaledBlocks<V, S> scaled_columns(const V& codes, const S& scales, std::int64_t width) {
  return {codes, scales, {scaled_depth, width}};
}

}  // namespace kgen
