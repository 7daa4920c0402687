// Rows of a matrix that a functor works out of codes of few bits, with scales and zero points for groups of the depth:
// where each of its Views has a row is found once, and that its elements are neighbours the compiler knows then. As
// Views are, 8 codes of 4 bits took 36 instructions of AVX2, of which 9 made floats of them: each load asked for the
// stride, for the bit that it begins at, and for a place that it had worked out before.
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

// A functor of a matrix whose fields are all looked at, of which one has elements of at most a byte.
template <class S>
concept ReadsCodes = !is_view<S> && read_codes<decltype(fields_of(std::declval<S&>()))>;

// body(view, at) for each View of the functor that is a matrix, and where it has position `at` of that.
template <class S, class Body>
KGEN_FN void for_each_matrix(S& source, Index<2> at, const Body& body) {
  for_each_field(source, [&](auto& field) KGEN_LAMBDA {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (is_flattened<Field>) {
      body(field.view, field.position(at));
    } else if constexpr (is_view<Field>) {
      if constexpr (Field::rank == 2) body(field, at);
    }
  });
}

// Whether in each View the elements of a row, from that column on, follow each other in whole bytes.
template <ReadsCodes S>
bool lies_in_rows(const S& source, std::int64_t column) {
  bool lies = true;
  for_each_matrix(source, Index<2>{0, column}, [&]<class V>(const V& view, const auto& position) {
    constexpr int last = V::rank - 1, bits = element_bits<std::remove_const_t<typename V::element_type>>;
    lies = lies && view.stride(last) == 1 && at_byte(view.data() + element_offset(view.strides(), position));
    for (int axis = 0; axis < last; ++axis) {
      lies = lies && (view.extent(axis) == 1 || view.stride(axis) * bits % 8 == 0);
    }
  });
  return lies;
}

// The functor whose position {0, j} is {row, column + j} of this one, for which that holds.
template <ReadsCodes S>
KGEN_FN S row_from(const S& source, Index<2> at) {
  S row = source;
  for_each_matrix(row, at, [&]<class V>(V& view, const auto& position) KGEN_LAMBDA {
    auto from = view.data() + element_offset(view.strides(), position);
    if constexpr (is_packed<std::remove_const_t<typename V::element_type>>) {
      from = reinterpret_cast<typename V::element_type*>(from.byte());
    }
    Index<V::rank> strides{};
    strides[V::rank - 1] = 1;
    view = V(from, view.shape(), strides);
  });
  return row;
}

// step.operator()<W>(k, j, lanes) for what rows of a functor hold from columns.begin to columns.end: up to `Most`
// lanes, or a register. 16 codes of 4 bits take 21 instructions of AVX2, with their scales and what stores them.
template <class T, int Most = 16, class S, class Step>
KGEN_FN void for_each_computed(const S& source, Range rows, Range columns, const Step& step) {
  constexpr int together = std::max(1, Most / lanes_of<float>);
  const S own = source;  // no store changes where it leads to: what finds a row is done once
  if constexpr (ReadsCodes<S>) {
    if (lies_in_rows(own, columns.begin)) {
      for (std::int64_t k = rows.begin; k < rows.end; ++k) {
        const S row = row_from(own, Index<2>{k, columns.begin});
        const auto load = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
          step(k, columns.begin + j, convert<T>(row.template load<W>(Index<2>{0, j})));
        };
        for_each_lane<together>(0, columns.end - columns.begin, load);
      }
      return;
    }
  }
  for (std::int64_t k = rows.begin; k < rows.end; ++k) {
    const auto load = [&]<int W>(std::int64_t j) KGEN_LAMBDA {
      step(k, j, convert<T>(own.template load<W>(Index<2>{k, j})));
    };
    for_each_lane<ReadsCodes<S> ? 1 : together>(columns.begin, columns.end, load);
  }
}

// ---- few rows

// Rows of a right operand that is computed, as lines `stride` apart. Codes of 4 bits with a scale for 128 of the depth,
// 4096x4096 on a core of an Emerald Rapids: 4 rows 8.0 ms to 4.9, 16 rows 13.9 to 11.2, and 10.3 packed.
template <class T, class S>
[[gnu::noinline]] void compute_lines(T* lines, std::int64_t stride, const S& right, Range depth, Range columns) {
  T* const first = lines - depth.begin * stride - columns.begin;
  const auto store = [&]<int W>(std::int64_t k, std::int64_t j, const Vec<T, W>& lanes) KGEN_LAMBDA {
    store_lanes(first + k * stride + j, lanes);
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
