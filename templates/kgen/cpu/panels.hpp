// The parts that matrix kernels share: operands copied into panels, and the product of two panels in registers.
//
// A panel holds `width` rows (of the left operand) or columns (of the right one), depth-major: element (depth k, row j)
// is at panel[k * width + j]. What lies beyond the operand is 0.
#pragma once

#include <array>

#include "kgen/cpu/caches.hpp"
#include "kgen/cpu/computed_row.hpp"
#include "kgen/cpu/elementwise.hpp"
#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/products.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/cpu/transpose.hpp"
#include "kgen/fields.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// The piece of a product that stays in registers: `rows` x `columns`. P: what is multiplied, where that is not T.
template <class T, class P = T>
struct RegisterTile {
#if defined(KGEN_AVX512)
  static constexpr int rows =
      12;  // 24 sums, 2 columns of the right operand, and the left one from memory: 32 registers
#elif defined(__aarch64__)
  static constexpr int rows = 12;  // as many registers: 24 sums, 2 columns, and three of the left operand's rows
#elif defined(__AVX2__)
  static constexpr int rows = 6;
#else
  static constexpr int rows = 4;
#endif
  static constexpr int vectors = 2;
  static constexpr int lanes = lanes_of<T>;
  static constexpr int columns = vectors * lanes;
};

// Where a product's sums for one register tile come from and go to: rows `stride` and `to_stride` apart. fresh: they
// come from nowhere, and begin with 0.
template <class T>
struct TileSums {
  T* from;
  std::int64_t stride;
  bool fresh;
  T* to = from;
  std::int64_t to_stride = stride;
};

// to[i * to_stride + j] = (fresh ? 0 : from[i * stride + j]) + sum over k of left[i * RowStride + k * DepthStride] *
// right[k * columns + j], for i < Rows and j < columns of the register tile. The left operand is a panel (RowStride 1),
// or row-major memory (DepthStride 1). P: T, or pairs of what is multiplied (pairs.hpp). depth >= 1: of a loop that may
// have no turn GCC kept the sums in memory as well, 18 stores and 9 loads a call of AVX2's tile, beside the 64 to 192
// turns of six cycles that a depth of attention or of a packed block has.
template <int Rows, int RowStride, int DepthStride, class P, class T>
inline __attribute__((noinline)) void multiply_panels(const P* left, const P* right, std::int64_t depth,
                                                      TileSums<T> sums) {
  using Tile = RegisterTile<T>;
  constexpr int lanes = Tile::lanes;
  Vec<T, lanes> sum[Rows][Tile::vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Tile::vectors; ++v) {
      sum[i][v] = sums.fresh ? Vec<T, lanes>(0) : load_lanes<lanes>(sums.from + i * sums.stride + v * lanes);
    }
  }
  std::int64_t k = 0;
  do {
    Vec<P, lanes> column[Tile::vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Tile::vectors; ++v) {
      column[v] = load_lanes<lanes>(right + k * Tile::columns + v * lanes);
      hold_column<Rows, RegisterTile<T>::rows>(column[v]);
    }
    add_products<RowStride>(left + k * DepthStride, column, sum);
  } while (++k < depth);
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Tile::vectors; ++v) store_lanes(sums.to + i * sums.to_stride + v * lanes, sum[i][v]);
  }
}

// The same for the first `rows` rows of a panel: with no more of them than a third of the tile beyond what is asked.
template <class P, class T>
KGEN_FN void multiply_panels_of(std::int64_t rows, const P* left, const P* right, std::int64_t depth,
                                const TileSums<T>& sums) {
  constexpr int all = RegisterTile<T>::rows, third = (all + 2) / 3;
  if (rows > 2 * third) {
    multiply_panels<all, 1, all>(left, right, depth, sums);
  } else if (rows > third) {
    multiply_panels<2 * third, 1, all>(left, right, depth, sums);
  } else {
    multiply_panels<third, 1, all>(left, right, depth, sums);
  }
}

// The same of rows where they lie, `row_stride` apart: the first `rows` of those that follow `left`, which is the
// element of the first one at the panel's first k. Vectors: registers of columns, of a panel, or of as many columns
// where they lie, in rows `right_stride` apart.
template <int Rows, class T, int Vectors = RegisterTile<T>::vectors, bool RightInPanel = true>
inline __attribute__((noinline)) void multiply_rows_in_place(std::int64_t rows, const T* left, std::int64_t row_stride,
                                                             const T* right, std::int64_t depth, TileSums<T> sums,
                                                             std::int64_t right_stride = 0) {
  using Tile = RegisterTile<T>;
  constexpr int lanes = Tile::lanes;
  if (RightInPanel) right_stride = Tile::columns;
  const T* row[Rows];
  Vec<T, lanes> sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    row[i] = left + std::min<std::int64_t>(i, rows - 1) * row_stride;
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      sum[i][v] = sums.fresh ? Vec<T, lanes>(0) : load_lanes<lanes>(sums.from + i * sums.stride + v * lanes);
    }
  }
  std::int64_t k = 0;
  do {
    Vec<T, lanes> column[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      column[v] = load_lanes<lanes>(right + k * right_stride + v * lanes);
      hold_column<Rows, RegisterTile<T>::rows>(column[v]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vec<T, lanes> element(row[i][k]);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sum[i][v] = multiply_add(element, column[v], sum[i][v]);
    }
  } while (++k < depth);
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) store_lanes(sums.to + i * sums.to_stride + v * lanes, sum[i][v]);
  }
}

// multiply.operator()<Rows>() with no more rows of the register tile than a third of it beyond what is asked.
template <class T, class Multiply>
KGEN_FN void with_tile_rows(std::int64_t rows, const Multiply& multiply) {
  constexpr int all = RegisterTile<T>::rows, third = (all + 2) / 3;
  if (rows > 2 * third) return multiply.template operator()<all>();
  if (rows > third) return multiply.template operator()<2 * third>();
  multiply.template operator()<third>();
}

// Rows of the left operand at one block of the depth: in panels, or, `row_stride` apart, where they lie.
template <class P>
struct LeftRows {
  const P* data;
  std::int64_t row_stride = 0;  // 0: in panels

  // The product of rows `first` to first + rows, at most those of the register tile, by a panel.
  template <class T>
  KGEN_FN void multiply(std::int64_t first, std::int64_t rows, const P* right, std::int64_t depth,
                        const TileSums<T>& sums) const {
    if (row_stride == 0) return multiply_panels_of(rows, data + first * depth, right, depth, sums);
    if constexpr (std::is_same_v<P, T>) {
      const P* from = data + first * row_stride;
      with_tile_rows<T>(rows, [&]<int Rows>() KGEN_LAMBDA {
        multiply_rows_in_place<Rows>(rows, from, row_stride, right, depth, sums);
      });
    }
  }
};

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

// As many panels as are full, which it returns. Of what is computed, lanes of one panel at a time. Of a matrix in memory
// whose rows lie in one piece, plain loads and stores. A register that is wider than a panel is stored beyond it, into the row that is written next; so the last
// row, behind which the next panel begins, goes element by element, and the last panel, behind which the source may
// end, is none of them.
template <int Width, class T, class S>
std::int64_t pack_whole_panels(T* panels, std::int64_t panel_elements, const S& source, Range depth, std::int64_t first,
                               std::int64_t count) {
  constexpr int lanes = lanes_of<T>, last = (Width - 1) / lanes * lanes;
  if constexpr (is_view<S> && lanes > 1) {
    if (source.stride(1) != 1) return 0;
    const bool beyond = last + lanes > Width;
    const std::int64_t whole = count / Width - (beyond ? 1 : 0);
    auto row = source.data() + depth.begin * source.stride(0) + first;
    for (std::int64_t k = depth.begin; k < depth.end; ++k, row += source.stride(0), panels += Width) {
      auto from = row;
      T* to = panels;
      if (beyond && k + 1 == depth.end) {
        for (std::int64_t i = 0; i < whole; ++i, from += Width, to += panel_elements) {
          for (int j = 0; j < Width; ++j) to[j] = convert<T>(load_elements<1>(from + j)).data;
        }
        break;
      }
      for (std::int64_t i = 0; i < whole; ++i, from += Width, to += panel_elements) {
#pragma GCC unroll 8
        for (int j = 0; j < Width; j += lanes) store_lanes(to + j, convert<T>(load_elements<lanes>(from + j)));
      }
    }
    return std::max<std::int64_t>(0, whole);
  } else if constexpr (!is_view<S> && !MappedMatrix<S> && Width % lanes == 0) {
    const std::int64_t whole = count / Width;
    const auto store = [&]<int W>(std::int64_t k, std::int64_t column, const Vec<T, W>& values) KGEN_LAMBDA {
      static_assert(Width % W == 0);  // all of one panel
      const std::int64_t j = column - first;
      store_lanes(panels + j / Width * panel_elements + (k - depth.begin) * Width + j % Width, values);
    };
    if (whole == 0) return 0;
    for_each_computed<T, std::min(Width, 16)>(source, depth, Range{first, first + whole * Width}, store);
    return whole;
  } else {
    return 0;
  }
}

// Fills panels, `panel_elements` apart, from a source whose lanes run along their width: element (k, j) is source(k,
// j), for k in `depth` and `count` values of j from `first`. Every row is read in one go, across the panels.
template <int Width, class T, class S>
void pack_along_width(T* panels, std::int64_t panel_elements, const S& source, Range depth, std::int64_t first,
                      std::int64_t count) {
  const auto pack_row = [&](T* panel, std::int64_t width, const auto& tensor, const auto& at) KGEN_LAMBDA {
    const auto step = [&]<int W>(std::int64_t j)
                          KGEN_LAMBDA { store_lanes(panel + j, convert<T>(tensor.template load<W>(moved(at, j)))); };
    for_each_lane(0, width, step);
    for (std::int64_t j = width; j < Width; ++j) panel[j] = T(0);
  };
  const std::int64_t whole = pack_whole_panels<Width>(panels, panel_elements, source, depth, first, count);
  for (std::int64_t k = depth.begin; k < depth.end; ++k, panels += Width) {
    in_row(source, Index<2>{k, first + whole * Width}, [&](const auto& tensor, const auto& at) KGEN_LAMBDA {
      T* panel = panels + whole * panel_elements;
      for (std::int64_t j = 0; j < count - whole * Width; j += Width, panel += panel_elements) {
        pack_row(panel, std::min(std::int64_t{Width}, count - whole * Width - j), tensor, moved(at, j));
      }
    });
  }
}

// panel[k * Width + j] = rows[j * stride + k] for k < depth and j < count, and 0 for the other j.
template <int Width, class T>
void transpose_rows(T* panel, const T* rows, std::int64_t stride, std::int64_t depth, std::int64_t count) {
  constexpr int lanes = lanes_of<T>;
  constexpr int groups = (Width + lanes - 1) / lanes;
  // A register that is wider than what is left of the panel's width is stored beyond, into rows that are written later:
  // so the last group comes first, and the end of the depth, where there are no such rows, goes element by element.
  constexpr int beyond = (groups * lanes - 1) / Width;
  std::int64_t k = 0;
  for (; Width > 1 && k + lanes + beyond <= depth; k += lanes) {
    for (int group = groups - 1; group >= 0; --group) {
      Vec<T, lanes> square[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        const std::int64_t j = group * lanes + i;
        square[i] = j < count ? load_lanes<lanes>(rows + j * stride + k) : Vec<T, lanes>(0);
      }
      transpose(square);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) store_lanes(panel + (k + i) * Width + group * lanes, square[i]);
    }
  }
  for (; k < depth; ++k) {
    for (std::int64_t j = 0; j < Width; ++j) panel[k * Width + j] = j < count ? rows[j * stride + k] : T(0);
  }
}

// Fills one panel from a source whose lanes run along the depth: element (k, j) is source(j, k). What is no memory of
// type T is brought into rows of such in the first-level cache.
template <int Width, class T, class S>
void pack_along_depth(T* panel, const S& source, Range depth, std::int64_t first, std::int64_t count) {
  if constexpr (is_view<S>) {
    if constexpr (std::is_same_v<view_element_t<S>, T>) {
      if (source.stride(1) == 1) {
        const T* rows = source.data() + first * source.stride(0) + depth.begin;
        return transpose_rows<Width>(panel, rows, source.stride(0), depth.end - depth.begin, count);
      }
    }
  }
  constexpr std::int64_t staged = 128;
  alignas(64) T rows[Width * staged];
  for (std::int64_t k = depth.begin; k < depth.end; k += staged, panel += Width * staged) {
    const Range part{k, std::min(depth.end, k + staged)};
    for (std::int64_t j = 0; j < count; ++j) {
      for_each_of_row<T>(source, first + j, part, [&]<int W>(std::int64_t at, const Vec<T, W>& lanes) KGEN_LAMBDA {
        store_lanes(rows + j * staged + at - k, lanes);
      });
    }
    transpose_rows<Width>(panel, rows, staged, part.end - part.begin, count);
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

// Brings a piece of a matrix into the second-level cache, a few lines at a time between other work, so that it is there
// when it is packed. Packing alone waits for some two dozen lines at once: of the last-level cache 8 cycles each.
class Prefetch {
 public:
  Prefetch() = default;
  // The rows and columns of a view; of a source that computes its elements, of the greatest view that it reads so.
  template <class S>
  Prefetch(const S& source, Range rows, Range columns) {
    if constexpr (is_view<S>) {
      follow(source, rows, columns);
    } else {
      for_each_own_view(source, [&]<class T, int R>(const View<T, R>& view) {
        if constexpr (R == 2) {
          Prefetch found;
          if (view.shape() != source.shape() || view.stride(0) == 0) return;
          found.follow(view, rows, columns);
          if (found.lines() > lines()) *this = found;
        }
      });
    }
  }
  std::int64_t lines() const { return rows_ * ((row_bytes_ + line - 1) / line); }
  void fetch(std::int64_t count) {
    for (; count > 0 && rows_ > 0; --count) {
      __builtin_prefetch(row_ + at_, 0, 2);
      if ((at_ += line) >= row_bytes_) at_ = 0, row_ += stride_, --rows_;
    }
  }

 private:
  template <class T>
  void follow(const View<T, 2>& view, Range rows, Range columns) {
    const auto bytes = [](std::int64_t elements) { return elements * element_bits<std::remove_const_t<T>> / 8; };
    const bool along = view.stride(1) == 1;
    if (!along && view.stride(0) != 1) return;
    if (!along) std::swap(rows, columns);
    stride_ = bytes(view.stride(along ? 0 : 1)), rows_ = rows.end - rows.begin;
    row_bytes_ = bytes(columns.end - columns.begin);
    row_ = reinterpret_cast<const char*>(address_of(view.data())) + rows.begin * stride_ + bytes(columns.begin);
  }
  static constexpr std::int64_t line = 64;
  const char* row_ = nullptr;
  std::int64_t stride_ = 0, row_bytes_ = 0, rows_ = 0, at_ = 0;
};

// The same with each step through the depth of a product, so few lines at a time that none of the product's own loads
// waits behind them: all that is due between two register tiles, some hundred lines, held those up. One thread of a Zen
// 5, weights from memory, least of calls in microseconds, in such bursts and so: 49x512x2048 620 to 524, 32x2048x2048
// 1835 to 1240, 128x768x3072 2775 to 2449.
//
// The lines of the result and of a residual, which came along in a trial, are not worth it: where all had left the
// caches one thread gained 3 to 9 % of 25088x64x256 and 6272x128x512, two lost up to 10, and results of models of batch
// 1 are in the last-level cache, where 784x128x512 went from 460 to 468 and MobileNetV3 lost 2 %. Operands that lie in
// memory (matmul.hpp) gained nothing from steps: 1024x1024x1024 on two threads 4672 to 4880.
class PacedPrefetch {
 public:
  static constexpr std::int64_t stretch = 16;  // of the depth, which a step has
  static std::int64_t steps(std::int64_t depth) { return (depth + stretch - 1) / stretch; }

  PacedPrefetch(const Prefetch& coming, std::int64_t steps)
      : coming_(coming), rate_((coming.lines() << fraction) / std::max<std::int64_t>(1, steps) + 1) {}

  KGEN_FN void step() {
    due_ += rate_;
    coming_.fetch(due_ >> fraction);
    due_ &= (1 << fraction) - 1;
  }

 private:
  static constexpr int fraction = 16;
  Prefetch coming_;
  std::int64_t rate_, due_ = 0;  // lines a step, and not yet fetched, in 65536ths
};

// ---- few rows -------------------------------------------------------------------------------------------------------

// True for the last `count` of W lanes.
template <class T, int W>
KGEN_FN Vec<bool, W> last_lanes(std::int64_t count) {
  static constexpr auto numbers = [] {
    std::array<T, 2 * W> result{};
    for (int i = W; i < 2 * W; ++i) result[i] = T(1);
    return result;
  }();
  return load_lanes<W>(numbers.data() + count) > Vec<T, W>(T(0));
}

// sums[row * sums_stride + j] += sum over Depth values of k of left[row * left_stride + k] * right(k_first + k, first +
// j), for j < columns. What is left behind the last whole register is added by one that ends with the line, of which
// those lanes are stored that the others have not: 38 columns in pieces of 8, 2 and 1 took 1.7 times as long as 40.
template <int Depth, class T, class S>
KGEN_FN void add_slice(T* sums, std::int64_t sums_stride, const T* left, std::int64_t left_stride, std::int64_t rows,
                       const S& right, std::int64_t k_first, std::int64_t first, std::int64_t columns) {
  const auto add = [&]<int W>(std::int64_t j, const auto& chosen) KGEN_LAMBDA {
    Vec<T, W> column[Depth];
#pragma GCC unroll 8
    for (int k = 0; k < Depth; ++k) column[k] = convert<T>(right.template load<W>(Index<2>{k_first + k, first + j}));
    for (std::int64_t row = 0; row < rows; ++row) {
      T* to = sums + row * sums_stride + j;
      const Vec<T, W> before = load_lanes<W>(to);
      Vec<T, W> sum = before;
#pragma GCC unroll 8
      for (int k = 0; k < Depth; ++k) sum = multiply_add(Vec<T, W>(left[row * left_stride + k]), column[k], sum);
      store_lanes(to, chosen(sum, before));
    }
  };
  const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
    add.template operator()<W>(j, [](const auto& sum, const auto&) KGEN_LAMBDA { return sum; });
  };
  constexpr int width = lanes_of<float>;
  const std::int64_t rest = columns % width;
  // What is computed is computed once.
  const bool overlaps = is_view<S> && columns > width && rest > 1 && rest != width / 4;
  for_each_lane(0, overlaps ? columns - rest : columns, step);
  if constexpr (is_view<S>) {
    if (!overlaps) return;
    const auto own = last_lanes<T, width>(rest);
    add.template operator()<width>(
        columns - width, [&](const auto& sum, const auto& before) KGEN_LAMBDA { return select(own, sum, before); });
  }
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

// sums[i * lanes...] += the lane-wise products of row i / Columns of `a` and row i % Columns of `b`, over k < K, which
// is a multiple of the lanes.
template <int Rows, int Columns, class T, class U>
void add_square(const T* a, std::int64_t a_stride, const U* b, std::int64_t b_stride, std::int64_t K, T* sums,
                bool fresh) {
  constexpr int lanes = Rows * Columns;
  Vec<T, lanes> sum[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) sum[i] = fresh ? Vec<T, lanes>(0) : load_lanes<lanes>(sums + i * lanes);
  for (std::int64_t k = 0; k < K; k += lanes) {
    Vec<T, lanes> row[Columns];
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) row[j] = convert<T>(load_elements<lanes>(b + j * b_stride + k));
#pragma GCC unroll 4
    for (int i = 0; i < Rows; ++i) {
      const Vec<T, lanes> left = load_lanes<lanes>(a + i * a_stride + k);
#pragma GCC unroll 4
      for (int j = 0; j < Columns; ++j) sum[i * Columns + j] = multiply_add(left, row[j], sum[i * Columns + j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) store_lanes(sums + i * lanes, sum[i]);
}

// The products of all rows of `left` and `Columns` of `b`: to[m * stride + j]. Squares of Rows rows: as many sums as a
// register has lanes, so that the lanes of all of them are added together; the last square overlaps the one before. The
// rows of b stay in the first-level cache while all squares meet them: read again from the second one, they and those
// of `left` took 64 bytes in a cycle, which is all that it gives.
template <int Rows, int Columns, class T, class U>
void multiply_squares(T* to, std::int64_t stride, const T* left, std::int64_t left_stride, std::int64_t M,
                      std::int64_t K, const U* b, std::int64_t b_stride) {
  constexpr int lanes = Rows * Columns;
  const std::int64_t squares = (M + Rows - 1) / Rows, whole = K / lanes * lanes;
  const std::int64_t depth =
      std::max<std::int64_t>(1, caches().first / 3 / (Columns * static_cast<std::int64_t>(sizeof(T)) * lanes)) * lanes;
  T* sums = scratch<T>(4, squares * lanes * lanes);
  const auto row_of = [&](std::int64_t square) { return std::min(square * Rows, M - Rows); };
  if (whole == 0) std::fill_n(sums, squares * lanes * lanes, T(0));
  for (std::int64_t k = 0; k < whole; k += depth) {
    for (std::int64_t i = 0; i < squares; ++i) {
      add_square<Rows, Columns>(left + row_of(i) * left_stride + k, left_stride, b + k, b_stride,
                                std::min(depth, whole - k), sums + i * lanes * lanes, k == 0);
    }
  }
  for (std::int64_t i = 0; i < squares; ++i) {
    Vec<T, lanes> sum[lanes];
#pragma GCC unroll 16
    for (int j = 0; j < lanes; ++j) sum[j] = load_lanes<lanes>(sums + (i * lanes + j) * lanes);
    T totals[lanes];
    store_lanes(totals, sums_of(sum));
    for (int j = 0; j < lanes; ++j) {
      const std::int64_t row = row_of(i) + j / Columns, column = j % Columns;
      for (std::int64_t k = whole; k < K; ++k) {
        totals[j] += left[row * left_stride + k] * convert<T>(load_elements<1>(b + column * b_stride + k)).data;
      }
      to[row * stride + column] = totals[j];
    }
  }
}

// sums[m * stride + j] = the sum over k < K of left[m * left_stride + k] * b[n + j, k], for m < M and j < count.
template <class T, class U>
void multiply_by_rows(T* sums, std::int64_t stride, const T* left, std::int64_t left_stride, std::int64_t M,
                      std::int64_t K, const View<U, 2>& b, std::int64_t n, std::int64_t count) {
  constexpr int rows = std::max(1, lanes_of<T> / 4), columns = lanes_of<T> / rows;
  for (std::int64_t j = 0; j < count; j += columns) {
    const std::int64_t width = std::min<std::int64_t>(columns, count - j);
    if constexpr (!is_packed<std::remove_const_t<U>>) {
      if (M >= rows && M > 1 && width == columns && b.stride(1) == 1) {
        const U* from = b.data() + (n + j) * b.stride(0);
        multiply_squares<rows, columns>(sums + j, stride, left, left_stride, M, K, from, b.stride(0));
        continue;
      }
    }
    for (std::int64_t m = 0; m < M; ++m) {
      for (std::int64_t i = 0; i < width; ++i) sums[m * stride + j + i] = dot(left + m * left_stride, b, n + j + i, K);
    }
  }
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
