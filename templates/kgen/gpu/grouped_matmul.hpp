// Products of groups of rows on a GPU: by its tensor cores where operands and device allow
// (warpgroup_grouped_matmul.hpp, wave_grouped_matmul.hpp); else tiles of all groups, as matmul.hpp computes them, are
// blocks of one launch for
// each sink. Which rows a tile has, blocks find on the device (RowGroups).
#pragma once

#include "kgen/gpu/matmul.hpp"
#include "kgen/gpu/row_groups.hpp"
#include "kgen/gpu/warpgroup_grouped_matmul.hpp"
#include "kgen/gpu/wave_grouped_matmul.hpp"

namespace kgen::gpu {

// The products First to First + Count, which `c` takes together.
template <class T, int First, int Count, class A, class B, class I, class C>
KGEN_GLOBAL(MatmulTile::threads, 2)
grouped_matmul_kernel(A a, B b, View<const I, 1> ends, C c, MatmulShape<several_count<B>> shape) {
  take_turn();
  SharedMemory shared;
  T* staged = shared.take<T>((1 + Count) * MatmulTile::staged<T>());
  const RowGroups groups(shared, ends, shape.M, MatmulTile::block_rows<T>(Count));
  const std::int64_t columns = shape.column_tiles(First), tiles = groups.tiles() * columns;
  for (std::int64_t tile = block_index(); tile < tiles; tile += block_count()) {
    const GroupRows rows = groups(static_cast<int>(tile / columns));
    const bool has_matrix = groups.has_matrix(rows);
    MatmulShape<Count> own{rows.end - rows.first, has_matrix ? shape.K : 0, {}, shape.a_along_rows, {}};
    KGEN_UNROLL
    for (int product = 0; product < Count; ++product) {
      own.N[product] = shape.N[First + product];
      own.b_along_rows[product] = shape.b_along_rows[First + product];
    }
    compute_tile<T, 0, Count>(matrix_of(a, Index<2>{rows.first, 0}, Index<2>{own.M, shape.K}),
                              matrices_of_group<First, Count>(b, has_matrix ? rows.group : 0, own.K),
                              RowsFrom<C>{c, rows.first}, own, tile % columns, staged,
                              std::make_integer_sequence<int, Count>{});
  }
}

// The tiles that a caller chooses are the CPU's.
template <int, int, int LeastBits, class A, class B, class I, class C>
void grouped_matmul(const A& a, const B& b, const View<const I, 1>& ends, const C& c, Stream stream) {
  using T = source_lane_t<A, 2>;
  constexpr int products = several_count<B>;
#if defined(KGEN_WARPGROUPS)
  if constexpr (has_warpgroup_matmul<LeastBits, A, B, C>) {
    if (warpgroup_grouped_matmul(a, b, ends, c, stream)) return;
  }
#endif
  if constexpr (has_wave_matmul<A, B, C>) {
    if (wave_grouped_matmul<wave_element_t<A, B>>(a, b, ends, c, stream)) return;
  }
  MatmulShape<products> shape{a.shape()[0], a.shape()[1], {}, runs_along_rows(a), {}};
  int product = 0;
  for_each_of(b, [&](const auto& each) {
    shape.N[product] = each.shape()[2];
    shape.b_along_rows[product++] = runs_along_rows(each);
  });
  const auto seen = [](const auto& object) { return with_access(object, MatmulTile::lanes); };
  const auto left = seen(a);
  const auto right = with_each(b, seen);
  for_each_sink<products>(c, [&]<int First, int Count>(const auto& sink) {
    using C1 = std::remove_cvref_t<decltype(sink)>;
    // Each group may have a tile that is not full.
    const std::int64_t most = (shape.M + MatmulTile::block_rows<T>(Count) - 1) / MatmulTile::block_rows<T>(Count) +
                              std::min(shape.M, ends.extent(0));
    const std::int64_t tiles = most * shape.column_tiles(First);
    if (tiles == 0) return;
    const Grid grid{"grouped_matmul", blocks_for(tiles, MatmulTile::threads), MatmulTile::threads,
                    shared_bytes<T>((1 + Count) * MatmulTile::staged<T>()) + RowGroups::shared(ends.extent(0))};
    launch_early(grid, stream, grouped_matmul_kernel<T, First, Count, A, B, I, C1>, left, right, ends, seen(sink),
                 shape);
  });
}

}  // namespace kgen::gpu
