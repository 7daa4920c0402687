// Row statistics: numbers of each row of what a kernel stores, such as the sum of its squares, which a normalisation of
// the rows begins with, or their absolute maximum. A row program (kgen/rows.hpp) makes them over the memory that the
// kernel's sink writes. It loads nothing else, reduces it once, and stores numbers of rows:
//
//   struct Statistics {
//     View<bf16, 2> h;        // [M, N], which the epilogue stores
//     View<float, 2> factor;  // [M, 1]
//     KGEN_FN Index<2> shape() const { return h.shape(); }
//     template <class Row>
//     KGEN_FN void operator()(Row& row) const {
//       row.store_scalar(factor, row.map(Rsqrt{}, row.reduce(Mean{}, row.map(Square{}, row.load(h)))));
//     }
//   };
//   struct Epilogue {
//     View<const bf16, 2> x;
//     View<bf16, 2> h;
//     template <int W>
//     KGEN_FN auto operator()(Index<2> at, Vec<float, W> product) const {
//       const auto sum = Add::apply(product, x.load<W>(at));
//       h.store(at, sum);
//       return sum;  // what h has, but for the rounding to its type
//     }
//   };
//   matmul(a, b, with_statistics(Epilogue{x, h}, Statistics{h, factor}), stream);
//
// A kernel that takes them (KGEN_STATISTICS) gives the program lanes as they are stored, rounded as h rounds them: each
// tile reduces what it has of a row, and these parts are combined in the order of the tiles once all are there. Else it
// runs the program over the rows behind its own launch. So the numbers are those of the memory, either way.
#pragma once

#include "kgen/index.hpp"
#include "kgen/platform.hpp"
#include "kgen/vec.hpp"

namespace kgen {

template <class S, class Program>
struct WithStatistics {
  S sink;
  Program statistics;

  // Returns the lanes that were stored.
  template <int R, class T, int W, class... Others>
  KGEN_FN auto operator()(const Index<R>& at, const Vec<T, W>& lanes, const Others&... others) const {
    if constexpr (requires { sink.store(at, lanes); }) {
      sink.store(at, lanes);
      return lanes;
    } else {
      return sink(at, lanes, others...);
    }
  }
};

template <class S, class Program>
KGEN_FN constexpr WithStatistics<S, Program> with_statistics(const S& sink, const Program& statistics) {
  return {sink, statistics};
}

template <class C>
inline constexpr bool has_statistics = false;
template <class S, class Program>
inline constexpr bool has_statistics<WithStatistics<S, Program>> = true;

}  // namespace kgen
