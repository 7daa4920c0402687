// What the row programs of a GPU have in common: where a row lies, and what its program asks for.
#pragma once

#include "kgen/gpu/layout.hpp"
#include "kgen/gpu/team.hpp"
#include "kgen/index.hpp"
#include "kgen/row_expression.hpp"

namespace kgen::gpu {

// `V` neighbours of the last axis of a row, whose number among all such pieces of the row is `number`.
template <int K>
struct Piece {
  std::int64_t number;
  Index<K> at;
};

// The piece's place. Lines of the last axis are whole pieces.
template <int V, int K>
KGEN_FN Piece<K> piece_of(std::int64_t number, Index<K> extents) {
  if constexpr (K == 1) {
    return {number, Index<1>{number * V}};
  } else {
    extents[K - 1] /= V;
    Index<K> at = unflatten(number, extents);
    at[K - 1] *= V;
    return {number, at};
  }
}

template <int K>
KGEN_FN Index<K> position_of(const Piece<K>& piece) {
  return piece.at;
}

// The row at `outer` of a View of the whole shape.
template <int K, class T, int R>
KGEN_FN View<T, K> row_of(const View<T, R>& view, const Index<R - K>& outer) {
  std::int64_t offset = 0;
  KGEN_UNROLL
  for (int axis = 0; axis < R - K; ++axis) offset += outer[axis] * view.stride(axis);
  return View<T, K>(view.data() + offset, last_axes<K>(view.shape()), last_axes<K>(view.strides()))
      .with_access(view.access());
}

// ---- what a program asks for ----------------------------------------------------------------------------------------

// What a program does; bytes are those of one element.
struct RowNeeds {
  bool vectors = true;            // of the rows that it reads or writes, each may be accessed as vectors
  int reductions = 0;
  int stores = 0;                 // of rows; stores of scalars do not count
  int keeps = 0, keep_bytes = 0;  // kept values that are not computed anew

  int passes() const { return reductions + stores + keeps; }
  // For a group of rows of `elements` in all.
  std::int64_t keep_room(std::int64_t elements) const { return elements * keep_bytes + 16 * keeps; }
};

template <class T>
struct ProbedRow {
  static constexpr int size = 1;
  template <int W>
  KGEN_FN auto value(Index<1>) const {
    return Vec<T, W>(0);
  }
};

template <class T>
struct ProbedLines {  // without elements: nothing is read
  static constexpr int size = 1;
  template <int W>
  KGEN_FN auto value(Index<1>) const {
    return Line<T, W>(nullptr, 0, 0, 0);
  }
};

// A row that computes nothing: a program that runs on it says what it needs, if its rows are to be vectors of `width`.
// It runs on the host.
template <int R, int K>
class RowProbe {
 public:
  RowNeeds needs;

  explicit RowProbe(int width) : width_(width) {}

  template <class T>
  KGEN_FN auto load(const View<T, R>& view) {
    look_at(view);
    return ProbedRow<compute_t<T>>{};
  }
  template <class T>
  KGEN_FN auto load_scalar(const View<T, R>&) const {
    return compute_t<T>(0);
  }
  template <class T, int Axis>
  KGEN_FN auto load(const Lines<T, R, Axis>&) const {
    return ProbedLines<std::remove_const_t<T>>{};
  }
  template <class T, int Axis>
  KGEN_FN auto load_scalar(const Lines<T, R, Axis>&) const {
    return Line<std::remove_const_t<T>, 0>(nullptr, 0, 0, 0);
  }
  template <class Functor, class... A>
  KGEN_FN auto map(const Functor& functor, const A&... operands) {
    return map_row(*this, functor, operands...);
  }
  template <class Reduction, class A>
  KGEN_FN auto reduce(const Reduction&, const A&) {
    ++needs.reductions;
    return Reduction::finish(Reduction::template identity<row_lane_t<A, 1, Index<1>>, 1>(), 1);
  }
  template <class A>
  KGEN_FN auto keep(const A& row) {
    if constexpr (row_size<A> <= row_size_limit) {
      return row;
    } else {
      using T = row_lane_t<A, 1, Index<1>>;
      ++needs.keeps, needs.keep_bytes += static_cast<int>(sizeof(T));
      return ProbedRow<T>{};
    }
  }
  template <class T, class A>
  KGEN_FN void store(const View<T, R>& view, const A&) {
    look_at(view);
    ++needs.stores;
  }
  template <class T, Scalar S>
  KGEN_FN void store_scalar(const View<T, R>&, S) {}

 private:
  template <class T>
  KGEN_FN void look_at(const View<T, R>& view) {
    needs.vectors = needs.vectors && has_vectors(view, width_);
  }

  int width_;
};

template <int K, int R, class Program>
RowNeeds probe(const Program& program, int width) {
  RowProbe<R, K> row(width);
  program(row);
  return row.needs;
}

}  // namespace kgen::gpu
