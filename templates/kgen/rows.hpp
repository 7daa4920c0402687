// Row programs: loads, maps, reductions and stores over the last K axes of a shape, once for each position of the other
// axes.
//
//   struct Softmax {
//     View<const float, 2> x;
//     View<float, 2> y;
//     template <class Row>
//     KGEN_FN void operator()(Row& row) const {
//       const auto x_row = row.load(x);
//       const auto maximum = row.reduce(Max{}, x_row);                           // a scalar
//       const auto e = row.keep(row.map(ExpNonpositive{}, row.map(Sub{}, x_row, maximum)));  // once
//       const auto total = row.reduce(Sum{}, e);
//       row.store(y, row.map(Div{}, e, total));
//     }
//   };
//   rows<1>(y.shape(), Softmax{x, y}, stream);
//
// What a Row offers (R axes in all, the last K form the row):
//   rank, shape()            R, and the extents of the loop
//   load(view)               the row of a View of R axes, broadcast to the shape where it must be
//   load_scalar(view)        the one element that this row has in a View whose last K extents are 1 (or broadcast)
//   load(lines)              the lines that cross the row, one for each element (kgen/line.hpp): an operand for map
//   load_scalar(lines)       the one line that this row has
//   map(functor, a, b, ...)  elementwise; of what is one per row alone, a scalar
//   reduce(reduction, a)     a scalar, or a struct of several
//   keep(a)                  `a` held for the passes to come, or computed anew where that costs less
//   store(view, a)           writes the row
//   store_scalar(view, s)    writes the one element that this row has
//
// Rows are lazy: `map` and `load` cost nothing by themselves. Each reduce, keep and store is one pass over the row that
// loads and computes what it needs; so a store must not overwrite what a later pass of the same row still loads.
// Reductions accumulate in f32 (f64 for f64, integers in their own type, in which they wrap).
//
// A program reads and writes its Views through the Row alone. Before a GPU's kernel is chosen it runs once on the host, on
// a Row of zeros, to say what it needs.
#pragma once

#include "kgen/platform.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/rows.hpp"
#else
#include "kgen/cpu/columns.hpp"
#include "kgen/cpu/rows.hpp"
#endif

namespace kgen {

// `Length`, where the caller knows it, is how many elements a row has: then kernels are compiled for just that, a GPU's
// all of them, the CPU's where rows are short.
template <int K, std::int64_t Length = 0, int R, class Program>
void rows(const Index<R>& shape, const Program& program, Stream stream = {}) {
  static_assert(K >= 1 && K <= R, "the row is one or more of the axes");
#if defined(KGEN_GPU)
  gpu::rows<K, Length>(shape, program, stream);
#else
  cpu::rows<K, Length>(shape, program, stream);
#endif
}

// The same, for Views that may lie along another axis than the row's last, as those of columns do: on the CPU
// neighbouring rows are computed together then, in the lanes of a vector, and what a Row says to be a scalar is a
// vector of one for each; rows() would read them element by element.
template <int K, std::int64_t Length = 0, int R, class Program>
void rows_across(const Index<R>& shape, const Program& program, Stream stream = {}) {
#if !defined(KGEN_GPU)
  if (cpu::rows_in_columns<K>(shape, program, stream)) return;
#endif
  rows<K, Length>(shape, program, stream);
}

}  // namespace kgen
