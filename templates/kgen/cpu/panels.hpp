// The parts that matrix kernels share: operands copied into panels, and the product of two panels in registers.
//
// A panel holds `width` rows (of the left operand) or columns (of the right one), depth-major: element (depth k, row j)
// is at panel[k * width + j]. What lies beyond the operand is 0.
#pragma once

#include "kgen/cpu/elementwise.hpp"
#include "kgen/cpu/parallel.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// The piece of a product that stays in registers: `rows` x `columns`.
template <class T>
struct RegisterTile {
#if defined(KGEN_AVX512)
  static constexpr int rows =
      12;  // 24 sums, 2 columns of the right operand, and the left one from memory: 32 registers
#elif defined(__AVX2__)
  static constexpr int rows = 6;
#else
  static constexpr int rows = 4;
#endif
  static constexpr int vectors = 2;
  static constexpr int lanes = lanes_of<T>;
  static constexpr int columns = vectors * lanes;
};

// sums[i * stride + j] = (fresh ? 0 : sums[i * stride + j]) + sum over k of left[i * RowStride + k * DepthStride] *
// right[k * columns + j], for i < rows and j < columns of the register tile. The left operand is a panel (RowStride 1),
// or row-major memory (DepthStride 1).
template <int RowStride, int DepthStride, class T>
inline __attribute__((noinline)) void multiply_panels(const T* left, const T* right, std::int64_t depth, T* sums,
                                                      std::int64_t stride, bool fresh) {
  using Tile = RegisterTile<T>;
  constexpr int lanes = Tile::lanes;
  Vec<T, lanes> sum[Tile::rows][Tile::vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Tile::rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Tile::vectors; ++v) {
      sum[i][v] = fresh ? Vec<T, lanes>(0) : load_lanes<lanes>(sums + i * stride + v * lanes);
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    Vec<T, lanes> column[Tile::vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Tile::vectors; ++v) column[v] = load_lanes<lanes>(right + k * Tile::columns + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Tile::rows; ++i) {
      const Vec<T, lanes> row(left[i * RowStride + k * DepthStride]);
#pragma GCC unroll 4
      for (int v = 0; v < Tile::vectors; ++v) sum[i][v] = multiply_add(row, column[v], sum[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Tile::rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Tile::vectors; ++v) store_lanes(sums + i * stride + v * lanes, sum[i][v]);
  }
}

// A matrix that is a tensor seen otherwise: what follows `at` in its row follows position(at) along the tensor's last
// axis.
template <class S>
concept MappedMatrix = requires(const S& matrix, Index<2> at) {
  matrix.tensor;
  matrix.position(at);
};

// body(tensor, position): where the row at `at` goes on; `source` itself, unless it is mapped.
template <class S, int R, class Body>
KGEN_FN void in_row(const S& source, const Index<R>& at, const Body& body) {
  if constexpr (MappedMatrix<S>) {
    body(source.tensor, source.position(at));
  } else {
    body(source, at);
  }
}

// The position `count` further along the last axis.
template <int R>
KGEN_FN Index<R> moved(Index<R> at, std::int64_t count) {
  at[R - 1] += count;
  return at;
}

// step.operator()<W>(k, lanes) for what row `row` of a source holds from depth.begin to depth.end. A source that lies
// in runs elsewhere (im2col.hpp) says where.
template <class T, class S, class Step>
KGEN_FN void for_each_of_row(const S& source, std::int64_t row, Range depth, const Step& step) {
  if constexpr (requires { source.for_each_run(row, 0, 0, [](auto...) {}); }) {
    source.for_each_run(row, depth.begin, depth.end,
                        [&](std::int64_t k, std::int64_t length, const auto& at, bool inside) KGEN_LAMBDA {
      const auto load = [&]<int W>(std::int64_t i) KGEN_LAMBDA {
        step(k + i, inside ? convert<T>(source.x.template load<W>(moved(at, i))) : Vec<T, W>(T(0)));
      };
      for_each_lane(0, length, load);
    });
  } else {
    const auto load = [&]<int W>(std::int64_t k) KGEN_LAMBDA {
      step(k, convert<T>(source.template load<W>(Index<2>{row, k})));
    };
    for_each_lane(depth.begin, depth.end, load);
  }
}

// Fills one panel from a source whose lanes run along the panel's width: element (k, j) is source(k, j), for k in
// `depth` and `count` values of j from `first`.
template <int Width, class T, class S>
void pack_along_width(T* panel, const S& source, Range depth, std::int64_t first, std::int64_t count) {
  for (std::int64_t k = depth.begin; k < depth.end; ++k, panel += Width) {
    in_row(source, Index<2>{k, first}, [&](const auto& tensor, const auto& at) KGEN_LAMBDA {
      const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
        store_lanes(panel + j, convert<T>(tensor.template load<W>(moved(at, j))));
      };
      for_each_lane(0, count, step);
    });
    for (std::int64_t j = count; j < Width; ++j) panel[j] = T(0);
  }
}

// The same from a source whose lanes run along the depth: element (k, j) is source(j, k).
template <int Width, class T, class S>
void pack_along_depth(T* panel, const S& source, Range depth, std::int64_t first, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) {
    for_each_of_row<T>(source, first + j, depth, [&]<int W>(std::int64_t k, const Vec<T, W>& lanes) KGEN_LAMBDA {
      T* to = panel + (k - depth.begin) * Width + j;
      for (int i = 0; i < W; ++i) to[i * Width] = lanes[i];
    });
  }
  for (std::int64_t k = depth.begin; k < depth.end; ++k, panel += Width) {
    for (std::int64_t j = count; j < Width; ++j) panel[j] = T(0);
  }
}

// True for a view whose elements are neighbours along its first axis instead of its last.
template <class S>
bool is_transposed(const S& source) {
  if constexpr (is_view<S>) {
    return source.stride(0) == 1 && source.stride(1) != 1;
  } else {
    return false;
  }
}

// ---- few rows -------------------------------------------------------------------------------------------------------

// sums[row * sums_stride + j] += sum over Depth values of k of left[row * left_stride + k] * right(k_first + k, first +
// j), for j < columns.
template <int Depth, class T, class S>
KGEN_FN void add_slice(T* sums, std::int64_t sums_stride, const T* left, std::int64_t left_stride, std::int64_t rows,
                       const S& right, std::int64_t k_first, std::int64_t first, std::int64_t columns) {
  const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
    Vec<T, W> column[Depth];
#pragma GCC unroll 8
    for (int k = 0; k < Depth; ++k) column[k] = convert<T>(right.template load<W>(Index<2>{k_first + k, first + j}));
    for (std::int64_t row = 0; row < rows; ++row) {
      T* to = sums + row * sums_stride + j;
      Vec<T, W> sum = load_lanes<W>(to);
#pragma GCC unroll 8
      for (int k = 0; k < Depth; ++k) sum = multiply_add(Vec<T, W>(left[row * left_stride + k]), column[k], sum);
      store_lanes(to, sum);
    }
  };
  for_each_lane(0, columns, step);
}

// The same over the whole `depth` of the right operand, which is read once, several of its rows at a time. left[0]
// belongs to depth.begin.
template <class T, class S>
KGEN_FN void add_product(T* sums, std::int64_t sums_stride, const T* left, std::int64_t left_stride, std::int64_t rows,
                         const S& right, Range depth, std::int64_t first, std::int64_t columns) {
  constexpr int step = 8;
  std::int64_t k = depth.begin;
  for (; k + step <= depth.end; k += step, left += step) {
    add_slice<step>(sums, sums_stride, left, left_stride, rows, right, k, first, columns);
  }
  for (; k < depth.end; ++k, ++left) {
    add_slice<1>(sums, sums_stride, left, left_stride, rows, right, k, first, columns);
  }
}

// The sum over k < K of a[k] * b[n, k].
template <class T, class U>
KGEN_FN T dot(const T* a, const View<U, 2>& b, std::int64_t n, std::int64_t K) {
  constexpr int lanes = lanes_of<T>;
  const U* row = b.data() + n * b.stride(0);
  Vec<T, lanes> sum[4] = {0, 0, 0, 0};
  std::int64_t k = 0;
  if (b.stride(1) == 1) {
    for (; k + 4 * lanes <= K; k += 4 * lanes) {
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const auto right = convert<T>(load_elements<lanes>(row + k + u * lanes));
        sum[u] = multiply_add(load_lanes<lanes>(a + k + u * lanes), right, sum[u]);
      }
    }
  }
  T total = sum_of((sum[0] + sum[1]) + (sum[2] + sum[3]));
  for (; k < K; ++k) total += a[k] * convert<T>(load_elements<1>(row + k * b.stride(1))).data;
  return total;
}

// ---- results

// Gives `count` sums to the sink, for the positions from `at` along the last axis.
template <class T, int R, class C>
KGEN_FN void emit_row(const C& c, const T* sums, Index<R> at, std::int64_t count) {
  in_row(c, at, [&](const auto& tensor, const auto& begin) KGEN_LAMBDA {
    const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
      store_to(tensor, moved(begin, j), load_lanes<W>(sums + j));
    };
    for_each_lane(0, count, step);
  });
}

}  // namespace kgen::cpu
