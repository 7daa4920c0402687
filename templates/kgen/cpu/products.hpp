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

// Keeps lanes of the right operand in their register, where more than two rows but fewer than `Most`, which the
// registers have room for, are multiplied by them: GCC 12 loaded them anew for each row, and a core loads no more of
// them in a cycle than it multiplies. AVX2's tile of 4 rows had 12 loads beside 8 multiply-adds, and has 6 so. (The
// sums of one or two rows wait for each other, or for memory.)
template <int Rows, int Most, class P, int W>
KGEN_FN void hold_column(Vec<P, W>& lanes) {
#if defined(__x86_64__)
  if constexpr (Rows > 2 && Rows < Most && sizeof(lanes.data) == register_bytes) {
    auto data = lanes.data;  // or GCC stores what it does not read
    asm("" : "+v"(data));
    lanes.data = data;
  }
#else
  (void)lanes;
#endif
}

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
