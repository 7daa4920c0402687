// Products of groups of rows on matrix cores that each wave uses alone: tiles of all groups, as wave_matmul.hpp
// computes them, are blocks of one launch for each sink. Which rows a tile has, blocks find on the device (RowGroups).
#pragma once

#include "kgen/gpu/row_groups.hpp"
#include "kgen/gpu/wave_matmul.hpp"

namespace kgen::gpu {

// The products First to First + Count, which `c` takes together.
template <class Op, class T, bool BDeep, int First, int Count, class A, class B, class I, class C>
KGEN_GLOBAL((runs_waves<T, A, B> ? WaveMatmulTile::threads : 1), 2)
wave_grouped_matmul_kernel(A a, B b, View<const I, 1> ends, C c, WaveMatmulShape<several_count<B>> shape) {
  if constexpr (runs_waves<T, A, B>) {
    take_turn();
    SharedMemory shared;
    auto* stages = shared.take<WaveMatmulTile::Stage<T>>(WaveMatmulTile::stages);
    const RowGroups groups(shared, ends, shape.M, WaveMatmulTile::rows);
    constexpr int own_columns = WaveMatmulTile::columns / Count;
    const std::int64_t columns = (shape.N[First] + own_columns - 1) / own_columns, tiles = groups.tiles() * columns;
    const std::int64_t tile = block_index();  // a block has one at most
    if (tile >= tiles) return;
    const GroupRows rows = groups(static_cast<int>(tile / columns));
    const bool has_matrix = groups.has_matrix(rows);
    WaveMatmulShape<Count> own{rows.end - rows.first, has_matrix ? shape.K : 0, {}, shape.lanes, shape.a_across, {}};
    KGEN_UNROLL
    for (int product = 0; product < Count; ++product) {
      own.N[product] = shape.N[First + product];
      own.b_across[product] = shape.b_across[First + product];
    }
    multiply_tile_of<Op, T, BDeep, 0, Count, true>(
        stages, matrix_of(a, Index<2>{rows.first, 0}, Index<2>{own.M, shape.K}),
        matrices_of_group<First, Count>(b, has_matrix ? rows.group : 0, BDeep ? own.N[0] : shape.K),
        RowsFrom<C>{c, rows.first}, own, Index<2>{0, tile % columns * own_columns},
        std::make_integer_sequence<int, Count>{});
  }
}

namespace detail {
template <class Op, class T, bool BDeep, class A, class B, class I, class C>
bool launch_wave_grouped_matmul(const A& a, const B& b, const View<const I, 1>& ends, const C& c,
                                const WaveMatmulShape<several_count<B>>& shape, Stream stream) {
  const std::int64_t bytes = WaveMatmulTile::Pipeline<T>::shared() + RowGroups::shared(ends.extent(0));
  const auto seen = [](const auto& object) { return with_access(object, 8); };
  bool runs = device_limits(stream).shared_bytes >= bytes;
  for_each_sink<several_count<B>>(c, [&]<int First, int Count>(const auto& sink) {
    using C1 = std::remove_cvref_t<decltype(sink)>;
    const auto kernel = wave_grouped_matmul_kernel<Op, T, BDeep, First, Count, A, B, I, C1>;
    runs = runs && runs_threads(reinterpret_cast<const void*>(kernel), WaveMatmulTile::threads, stream);
    // Each group may have a tile that is not full.
    const std::int64_t most =
        (shape.M + WaveMatmulTile::rows - 1) / WaveMatmulTile::rows + std::min(shape.M, ends.extent(0));
    const std::int64_t columns = (shape.N[First] * Count + WaveMatmulTile::columns - 1) / WaveMatmulTile::columns;
    runs = runs && most * columns <= most_blocks(WaveMatmulTile::threads);
    if (!runs || most * columns == 0) return;
    const Grid grid{"wave_grouped_matmul", most * columns, WaveMatmulTile::threads, bytes};
    launch_early(grid, stream, kernel, seen(a), with_each(b, seen), ends, seen(sink), shape);
  });
  return runs;
}
}  // namespace detail

// c = a * b, of the matrix of each row's group: false where device or compiler do not allow it, or where memory does
// not lie in whole vectors.
template <class T, class Op = DeviceTile<T>, class A, class B, class I, class C>
bool wave_grouped_matmul(const A& a, const B& b, const View<const I, 1>& ends, const C& c, Stream stream) {
  WaveMatmulShape<several_count<B>> shape{a.shape()[0], a.shape()[1], {}, emitted_lanes(c), runs_across(a), {}};
  const bool deep = has_deep_columns<T>(b);
  bool fits = lies_in_vectors<T>(a, false);
  int product = 0;
  for_each_of(b, [&](const auto& each) {
    fits = fits && lies_in_vectors<T>(each, deep);
    shape.N[product] = each.shape()[2];
    shape.b_across[product++] = runs_across(each);
  });
  if (!fits) return false;
  if constexpr (is_memory_of<T, B>) {
    if (deep) {
      const auto turned = with_each(b, [](const auto& view) { return with_turned_axes(view); });
      return detail::launch_wave_grouped_matmul<Op, T, true>(a, turned, ends, c, shape, stream);
    }
  }
  return detail::launch_wave_grouped_matmul<Op, T, false>(a, b, ends, c, shape, stream);
}

}  // namespace kgen::gpu
