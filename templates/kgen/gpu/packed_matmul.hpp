// Products with a packed right operand on a GPU: the product of matrices as they lie, which reads columns out of panels.
// Right, and not fast: graphs that are planned for a GPU keep their weights as they are.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/gpu/matmul.hpp"

namespace kgen::gpu {

inline constexpr int panel_columns = 16;  // as kgen/packed_matmul.hpp says

// Some lanes of one row of a panel.
template <class B, class T>
struct PackedRow {
  B b;                // [K, N]
  View<T, 3> panels;  // [(N + 15) / 16, K, 16]

  template <int W>
  KGEN_FN void operator()(Index<3> at) const {
    const std::int64_t columns = b.shape()[1];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      const Index<3> to{at[0], at[1], at[2] + i};
      const Index<2> from{at[1], at[0] * panel_columns + to[2]};
      using Lane = source_lane_t<B, 2>;
      panels.store(to, from[1] < columns ? b.template load<1>(from) : Vec<Lane, 1>(Lane(0)));
    }
  }
};

template <class B, class T>
void pack_columns(const B& b, const View<T, 3>& panels, Stream stream) {
  kgen::elementwise(panels.shape(), PackedRow<B, T>{b, panels}, stream);
}

// The matrix [K, N] that panels hold.
template <class V>
struct PanelColumns {
  V panels;
  std::int64_t columns;

  KGEN_FN Index<2> shape() const { return {panels.extent(1), columns}; }
  template <int W>
  KGEN_FN auto load(Index<2> at) const {
    using Lane = typename V::lane_type;
    Lane lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      const std::int64_t column = at[1] + i;
      lanes[i] = panels.template load<1>(Index<3>{column / panel_columns, at[0], column % panel_columns}).data;
    }
    return load_lanes<W>(lanes);
  }
};

template <class V>
PanelColumns<V> columns_of(const V& panels, std::int64_t padding) {
  const std::int64_t columns = panels.extent(0) * panel_columns - padding;
  return {panels, columns < 0 ? 0 : columns};
}
template <class First, class... Rest>
auto columns_of(const Several<First, Rest...>& panels, std::int64_t padding) {
  if constexpr (sizeof...(Rest) == 0) {
    return several(columns_of(panels.first, padding));
  } else {
    return Several<PanelColumns<First>, PanelColumns<Rest>...>{columns_of(panels.first, padding),
                                                               columns_of(panels.rest, padding)};
  }
}

template <int TileM, int TileN, class A, class P, class C>
void packed_matmul(const A& a, const P& panels, std::int64_t padding, const C& c, Stream stream) {
  matmul<TileM, TileN, 23>(a, columns_of(panels, padding), c, stream);
}

}  // namespace kgen::gpu
