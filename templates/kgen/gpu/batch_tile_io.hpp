// How tiles of batches of matrices come to shared memory, where the tensor cores read them, and which batches lie as
// the copy engine takes them.
#pragma once

#include "kgen/batch.hpp"
#include "kgen/gpu/divide.hpp"
#include "kgen/gpu/warpgroup_matmul.hpp"
#include "kgen/gpu/wave_matmul.hpp"

#if defined(KGEN_WARPGROUPS)

namespace kgen::gpu {

// By the copy engine, which counts the axes of the batch behind those of a matrix. `a_steps`, `b_steps`: 0 along axes
// along which an operand repeats, else 1.
template <class Tiles, bool BDeep, int Axes>
struct EngineBatches {
  static constexpr const char* name = "warpgroup_batched_matmul";
  static constexpr int threads = 1, registers = 56;
  TensorMap a, b;
  Positions<Axes + 1> rows;
  int a_steps[Axes], b_steps[Axes];
  int box_rows;  // of the left operand that come: of a stage, the first

  KGEN_FN int bytes() const { return static_cast<int>(sizeof(Tiles)) - (Tiles::rows - box_rows) * swizzle_bytes; }

  struct Tile {
    const EngineBatches& loads;
    int row, column, k, a_at[Axes], b_at[Axes];

    KGEN_FN Tile(const EngineBatches& loads, int number, int column, int k) : loads(loads), column(column), k(k) {
      const Index<Axes + 1> place = loads.rows(static_cast<std::uint32_t>(number));
      row = static_cast<int>(place[Axes]);
      KGEN_UNROLL
      for (int axis = 0; axis < Axes; ++axis) {
        a_at[axis] = static_cast<int>(place[axis]) * loads.a_steps[axis];
        b_at[axis] = static_cast<int>(place[axis]) * loads.b_steps[axis];
      }
    }
    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      constexpr int box = BDeep ? Tiles::columns : Tiles::depth;
      copy(stage->a, loads.a, stage.arrival(), k, row, a_at);
      KGEN_UNROLL
      for (int n = 0; n < Tiles::columns; n += box) {
        const int at = column + n;
        copy(stage->b + n * Tiles::depth, loads.b, stage.arrival(), BDeep ? k : at, BDeep ? at : k, b_at);
      }
      k += Tiles::depth;
    }

   private:
    template <class T>
    KGEN_FN static void copy(T* to, const TensorMap& map, Mbarrier& arrival, int x, int y, const int (&at)[Axes]) {
      static_assert(Axes >= 1 && Axes <= 3);
      if constexpr (Axes == 1) copy_tile(to, map, arrival, x, y, at[0]);
      if constexpr (Axes == 2) copy_tile(to, map, arrival, x, y, at[0], at[1]);
      if constexpr (Axes == 3) copy_tile(to, map, arrival, x, y, at[0], at[1], at[2]);
    }
  };
  // From depth k on.
  template <int, int>
  KGEN_FN Tile tile(int row, int column, int k = 0) const {
    return {*this, row, column, k};
  }
};

// By threads, from anywhere in memory. Steps in elements.
template <class T, class Tiles, bool BDeep, int Axes>
struct CopiedBatches {
  using Matrices = CopiedTiles<T, Tiles, BDeep, 1>;
  static constexpr const char* name = "warpgroup_batched_matmul_copied";
  static constexpr int threads = Matrices::threads, registers = Matrices::registers;
  Matrices first;
  Positions<Axes + 1> rows;
  std::int64_t a_steps[Axes], b_steps[Axes];

  struct Tile {
    Matrices own;
    int row, column, k = 0;

    template <class Stage>
    KGEN_FN void load(const Stage& stage) {
      typename Matrices::template Tile<0, 1> tile{own, row, column, k};
      tile.load(stage);
      k = tile.k;
    }
  };
  template <int, int>
  KGEN_FN Tile tile(int number, int column) const {
    const Index<Axes + 1> place = rows(static_cast<std::uint32_t>(number));
    Tile tile{first, static_cast<int>(place[Axes]), column};
    KGEN_UNROLL
    for (int axis = 0; axis < Axes; ++axis) {
      tile.own.a.data += place[axis] * a_steps[axis];
      tile.own.b[0].data += place[axis] * b_steps[axis];
    }
    return tile;
  }
};

namespace detail {
// How far apart the matrices of an operand are along each axis of the batch, in elements: 0 where it repeats.
template <int Axes, class T, int R>
void batch_steps(const View<T, R>& view, std::int64_t (&steps)[Axes]) {
  for (int axis = 0; axis < Axes; ++axis) {
    const int own = axis - (Axes - (R - 2));
    steps[axis] = own >= 0 && view.extent(own) > 1 ? view.stride(own) : 0;
  }
}

// matrix_in_memory() of all matrices of an operand; steps as EngineBatches has them.
template <class T, int Axes, int R>
std::optional<BoxedMemory<Axes + 2>> batch_in_memory(const View<const T, R>& view, bool across, int box_columns,
                                                     int box_rows, int (&steps)[Axes]) {
  const View<const T, 2> first = matrix_of(view, Index<R>{}, last_axes<2>(view.shape()));
  const auto matrix = matrix_in_memory<const T>(first, across, box_columns, box_rows);
  if (!matrix) return std::nullopt;
  BoxedMemory<Axes + 2> batch{
      view.data(), {matrix->extents[0], matrix->extents[1]}, {0, matrix->pitches[1]}, {matrix->box[0], matrix->box[1]}};
  std::int64_t distances[Axes];
  batch_steps(view, distances);
  for (int axis = 0; axis < Axes; ++axis) {
    const std::int64_t pitch = distances[axis] * static_cast<std::int64_t>(sizeof(T));
    steps[axis] = pitch != 0 ? 1 : 0;
    batch.extents[axis + 2] = pitch != 0 ? view.extent(axis - (Axes - (R - 2))) : 1;
    batch.pitches[axis + 2] = pitch != 0 ? pitch : matrix->pitches[1];
    batch.box[axis + 2] = 1;
    if (pitch < 0 || pitch % 16 != 0 || pitch >= std::int64_t{1} << 40) return std::nullopt;
  }
  return batch;
}

// The first matrix of a batch, of which all may be read.
template <class T, int R>
CopiedMatrix<T> first_of_batch(const View<const T, R>& view, bool across) {
  CopiedMatrix<T> matrix(matrix_of(view, Index<R>{}, last_axes<2>(view.shape())), across);
  const Span all(view);
  matrix.begin = all.begin, matrix.end = all.end;
  return matrix;
}
// Whether the lines of all matrices are whole vectors of 16 bytes.
template <class T, int R>
bool has_whole_lines(const View<const T, R>& view, bool across) {
  constexpr int lanes = CopiedMatrix<T>::lanes;
  const View<const T, R> lines = across ? with_turned_axes(view) : view;
  return lines.extent(R - 1) % lanes == 0 && has_vectors(lines, lanes);
}

template <int Axes, class T, int R>
bool is_batch_in_memory(const View<const T, R>& view, bool across) {
  int steps[Axes];
  return batch_in_memory<T>(view, across, 1, 1, steps).has_value();
}
}  // namespace detail

}  // namespace kgen::gpu

#endif
