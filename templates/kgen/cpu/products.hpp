// The step of a product in registers: some elements of the left operand, each times registers of the right one.
#pragma once

#include <utility>

#include "kgen/math.hpp"
#include "kgen/vec.hpp"

namespace kgen {

#if defined(KGEN_LANES)
// a[Lane] * b + c. Where Vec is, since what is multiplied may be pairs or fours, which say it of themselves (pairs.hpp).
template <int Lane, std::floating_point T>
KGEN_FN Vec<T, lanes_of<T>> multiply_lane(const Vec<T, lanes_of<T>>& a, const Vec<T, lanes_of<T>>& b,
                                          const Vec<T, lanes_of<T>>& c) {
  Vec<T, lanes_of<T>> result;
  result.data = cpu::fused_lane<Lane>(a.data, b.data, c.data);
  return result;
}
#endif

namespace cpu {

#if defined(KGEN_LANES)
template <class P, class T, int W>
concept MultipliesLanes = requires(Vec<P, W> a, Vec<T, W> sum) {
  multiply_lane<0>(a, a, sum);
};

template <class P, class T, int W, int Vectors, int Rows, int... I>
KGEN_FN void add_lane_products(const Vec<P, W>* left, const Vec<P, W> (&column)[Vectors], Vec<T, W> (&sum)[Rows][Vectors],
                               std::integer_sequence<int, I...>) {
  const auto add_row = [&]<int Row>(std::integral_constant<int, Row>) KGEN_LAMBDA {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[Row][v] = multiply_lane<Row % W>(left[Row / W], column[v], sum[Row][v]);
  };
  (add_row(std::integral_constant<int, I>{}), ...);
}
#endif

// sum[i][v] += left[i * Stride] * column[v], for all of both.
template <int Stride, int Rows, int Vectors, class P, class T, int W>
KGEN_FN void add_products(const P* left, const Vec<P, W> (&column)[Vectors], Vec<T, W> (&sum)[Rows][Vectors]) {
  int i = 0;
#if defined(KGEN_LANES)
  // Lanes of elements that are loaded together: spreading one over a register takes as long as multiplying by it.
  if constexpr (Stride == 1 && Rows >= W && MultipliesLanes<P, T, W>) {
    Vec<P, W> group[Rows / W];
#pragma GCC unroll 16
    for (int g = 0; g < Rows / W; ++g) group[g] = load_lanes<W>(left + g * W);
    add_lane_products(group, column, sum, std::make_integer_sequence<int, Rows / W * W>{});
    i = Rows / W * W;
  }
#endif
#pragma GCC unroll 16
  for (; i < Rows; ++i) {
    const Vec<P, W> row(left[i * Stride]);
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[i][v] = multiply_add(row, column[v], sum[i][v]);
  }
}

}  // namespace cpu
}  // namespace kgen
