// Row states: numbers of each row that a kernel's sink uses beside its lanes, such as what a normalisation multiplies a
// row by. The sink holds the row program (kgen/rows.hpp) that makes them, over the memory of rows as many as the result
// has:
//
//   struct Scale {
//     View<const bf16, 2> x;  // [M, K]
//     KGEN_FN Index<2> shape() const { return x.shape(); }
//     template <class Row>
//     KGEN_FN auto operator()(Row& row) const {
//       return row_state(row.map(Rsqrt{}, row.reduce(Mean{}, row.map(Square{}, row.load(x)))));
//     }
//   };
//   struct Epilogue {
//     Scale rows;
//     View<bf16, 2> y;
//     template <int W>
//     KGEN_FN void operator()(Index<2> at, Vec<float, W> product, float scale) const {
//       y.store(at, Mul::apply(product, scale));
//     }
//   };
//
// A kernel that takes such a sink (KGEN_ROWS) makes the numbers of a row before it stores any lanes of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "kgen/index.hpp"
#include "kgen/platform.hpp"

namespace kgen {

template <int N>
struct RowState {
  static constexpr int count = N;
  float values[N];
};

template <std::same_as<float>... S>
KGEN_FN RowState<sizeof...(S)> row_state(S... values) {
  return {{values...}};
}

// A sink that is called as sink(at, lanes..., numbers of row at[0]...): its `rows` is a program, and no memory.
template <class S>
concept UsesRows = requires(const S& sink) {
  sink.rows.shape();
} && !requires(const S& sink) {
  sink.rows.template load<1>(sink.rows.shape());
};

// What a row program returns on such a Row.
template <class Program, class Row>
using row_state_t = decltype(std::declval<const Program&>()(std::declval<Row&>()));

// A sink like any other, of one that uses rows.
template <class S, class State>
struct KnownRows {
  S sink;
  const State* states;  // of each row

  template <int R, class... Lanes>
  KGEN_FN void operator()(const Index<R>& at, const Lanes&... lanes) const {
    const State& of_row = states[at[0]];
    [&]<int... I>(std::integer_sequence<int, I...>) KGEN_LAMBDA { sink(at, lanes..., of_row.values[I]...); }
    (std::make_integer_sequence<int, State::count>{});
  }
};

}  // namespace kgen
