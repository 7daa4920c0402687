// What a sink reads beside the sums of a product, asked into the second-level cache while they are made.
#pragma once

#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/tile_io.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// Operands of a sink that lie row by row as its result does, such as a residual, as the copy engine is told of them. A
// tile's sums wait for what is read of them, and the tensor cores for the sums: from memory that takes longer than many
// products (tests/bench/MATMUL_KERNELS.md). A parameter of the kernel, KGEN_GRID_CONSTANT.
struct RowsAhead {
  static constexpr int most = 2;
  static constexpr int rows = 128, line = 128;  // of a box; bytes of one of its lines
  TensorMap maps[most];
  int columns[most];  // of a box
  int count = 0;

  // Asks for `rows` rows from `row` on, of the columns from `first` to `end`. By one thread.
  KGEN_FN void ask(int row, int first, int end) const {
    KGEN_UNROLL
    for (int i = 0; i < most; ++i) {
      if (i >= count) return;
      KGEN_NO_UNROLL
      for (int column = first; column < end; column += columns[i]) ask_ahead(maps[i], column, row);
    }
  }
};

// Those of a sink of a matrix of so many rows and columns, or of what has its rows in several axes.
template <class C>
RowsAhead rows_ahead(const C& sink, std::int64_t rows, std::int64_t columns) {
  RowsAhead ahead;
  for_each_view(sink, [&]<class T, int R>(const View<T, R>& view) {
    constexpr bool is_float = std::is_same_v<T, const bf16> || std::is_same_v<T, const f16> || std::is_same_v<T, const float>;
    if constexpr (is_float && R >= 2) {
      const auto matrix = merged<0, R - 1>(view);
      const bool fits = matrix && matrix->extent(0) == rows && matrix->extent(1) == columns;
      if (!fits || matrix->stride(0) == 0 || ahead.count == RowsAhead::most) return;
      constexpr int each = RowsAhead::line / static_cast<int>(sizeof(T));
      const auto memory = matrix_in_memory(*matrix, false, each, RowsAhead::rows);
      const auto map = memory ? tensor_map<std::remove_const_t<T>>(*memory) : std::nullopt;
      if (!map) return;
      ahead.columns[ahead.count] = each;
      ahead.maps[ahead.count++] = *map;
    }
  });
  return ahead;
}

}  // namespace kgen::gpu

#endif
