// Rows of a matrix that a functor works out of codes of few bits, with scales and zero points for groups of the depth:
// whether its Views have the elements of a row side by side in whole bytes is asked once, and the compiler knows it
// then. As Views are, 8 codes of 4 bits took 36 instructions of AVX2, of which 9 made floats of them: each load asked
// for the stride, for the bit that it begins at, and for a place that it had worked out before.
#pragma once

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "kgen/cpu/elementwise.hpp"
#include "kgen/fields.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// The bits of an element that a field of a functor of a matrix reads along its rows; 0 of a field that is another kind
// of thing.
template <class Field>
inline constexpr int row_element_bits = std::is_arithmetic_v<Field> ? 64 : 0;
template <class T>
inline constexpr int row_element_bits<View<const T, 0>> = 64;
template <class T>
inline constexpr int row_element_bits<View<const T, 2>> = element_bits<T>;
template <class T, int R>
inline constexpr int row_element_bits<Flattened<View<const T, R>, R - 1, 1>> = element_bits<T>;

template <class Fields>
inline constexpr bool read_codes = false;
template <class... Fields>
inline constexpr bool read_codes<std::tuple<Fields&...>> =
    ((row_element_bits<std::remove_const_t<Fields>> > 0) && ...) &&
    ((row_element_bits<std::remove_const_t<Fields>> <= 8) || ...);

// A functor of a matrix of whose fields one has elements of at most a byte, and all are numbers or Views.
template <class S>
concept ReadsCodes = !is_view<S> && read_codes<decltype(fields_of(std::declval<S&>()))>;

// body(view) for each View of the functor that has rows.
template <class S, class Body>
void for_each_matrix(S& source, const Body& body) {
  for_each_view(source, [&](auto& view) {
    if constexpr (std::remove_cvref_t<decltype(view)>::rank > 0) body(view);
  });
}

inline constexpr int whole_bytes = 8;  // so many elements begin with a byte where the first of them does

// Whether in each View the elements of a row follow each other, and rows begin with a byte, as does that column of one.
template <ReadsCodes S>
bool lies_in_rows(const S& source, std::int64_t column) {
  bool lies = column % whole_bytes == 0;
  for_each_matrix(source, [&]<class T, int R>(const View<T, R>& view) {
    lies = lies && view.stride(R - 1) == 1 && at_byte(view.data());
    constexpr int bits = element_bits<std::remove_const_t<T>>;
    for (int axis = 0; axis < R - 1; ++axis) lies = lies && view.stride(axis) * bits % 8 == 0;
  });
  return lies;
}

// The same functor, for which that holds, as the compiler sees it: by constants, and by which bits are zero. It may be
// asked for any position, as one that works out another from its own does.
template <ReadsCodes S>
KGEN_FN S seen_in_rows(const S& source) {
  S seen = source;
  for_each_matrix(seen, []<class T, int R>(View<T, R>& view) KGEN_LAMBDA {
    auto from = view.data();
    Index<R> strides = view.strides();
    if constexpr (is_packed<std::remove_const_t<T>>) {
      from = reinterpret_cast<T*>(from.byte());
      for (int axis = 0; axis < R - 1; ++axis) strides[axis] = strides[axis] / 2 * 2;
    }
    strides[R - 1] = 1;
    view = View<T, R>(from, view.shape(), strides);
  });
  return seen;
}

// step.operator()<W>(k, j, lanes) for what rows of a functor hold from columns.begin to columns.end: up to `Most`
// lanes at a time, by default what suits the functor.
template <class T, int Most = 0, class S, class Step>
KGEN_FN void for_each_computed(const S& source, Range rows, Range columns, const Step& step) {
  constexpr int together = std::max(1, (Most > 0 ? Most : ReadsCodes<S> ? 16 : 1) / lanes_of<float>);
  const auto go_over = [&](const S& own, std::int64_t first) KGEN_LAMBDA {
    for (std::int64_t k = rows.begin; k < rows.end; ++k) {
      const auto load = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
        step(k, columns.begin + j, convert<T>(own.template load<W>(Index<2>{k, first + j})));
      };
      for_each_lane<together>(0, columns.end - columns.begin, load);
    }
  };
  if constexpr (ReadsCodes<S>) {
    if (lies_in_rows(source, columns.begin)) {
      const S seen = seen_in_rows(source);  // and no store changes where it leads to
      return go_over(seen, columns.begin / whole_bytes * whole_bytes);
    }
  }
  const S own = source;
  go_over(own, columns.begin);
}

// ---- few rows

// Rows of a right operand that is computed, as lines `stride` apart. Codes of 4 bits with a scale for 128 of the depth,
// 4096x4096 on a core of an Emerald Rapids: 4 rows 8.0 ms to 4.9, 16 rows 13.9 to 11.2, and 10.3 packed.
template <class T, class S>
[[gnu::noinline]] void compute_lines(T* lines, std::int64_t stride, const S& right, Range depth, Range columns) {
  const auto store = [&]<int W>(std::int64_t k, std::int64_t j, const Vec<T, W>& lanes) KGEN_LAMBDA {
    store_lanes(lines + (k - depth.begin) * stride + (j - columns.begin), lanes);
  };
  for_each_computed<T>(right, depth, columns, store);
}

// sums[j] += sum over Depth values of k of left[k] * line k's element j: of one row, whose elements stay in registers.
template <int Depth, class T>
void add_lines_to_row(T* sums, const T* left, const T* lines, std::int64_t stride, std::int64_t columns) {
  const auto step = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
    Vec<T, W> sum = load_lanes<W>(sums + j);
#pragma GCC unroll 8
    for (int k = 0; k < Depth; ++k) {
      sum = multiply_add(Vec<T, W>(left[k]), load_lanes<W>(lines + k * stride + j), sum);
    }
    store_lanes(sums + j, sum);
  };
  for_each_lane(0, columns, step);
}

}  // namespace kgen::cpu
