// What a selection along an axis chooses, and by which order, on every target.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kgen/index.hpp"
#include "kgen/types.hpp"
#include "kgen/vec.hpp"

namespace kgen {

// An element and its place along the axis, in the order of selection: of equal keys the lower index comes first. Keys
// of elements of 32 bits or fewer have 32 bits, and so has the index.
template <class Bits>
struct SortItem {
  Bits key, index;

  KGEN_FN friend bool operator<(const SortItem& a, const SortItem& b) {
    if constexpr (sizeof(Bits) == 4) {
      return (std::uint64_t{a.key} << 32 | a.index) < (std::uint64_t{b.key} << 32 | b.index);
    } else {
      return a.key < b.key || (a.key == b.key && a.index < b.index);
    }
  }
  // Behind every element.
  KGEN_FN static SortItem last() { return {~Bits(0), ~Bits(0)}; }
};

template <class T>
using sort_bits_t = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
template <class T>
using sort_item_t = SortItem<sort_bits_t<T>>;

// Whole numbers in the order of the elements: both zeros are equal, and NaN is greater than every number.
template <class T>
KGEN_FN sort_bits_t<T> sort_key(T value) {
  using Bits = sort_bits_t<T>;
  constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (value != value) return ~Bits(0);
    const Bits bits = std::bit_cast<Bits>(value == T(0) ? T(0) : value);
    return (bits & sign) != 0 ? ~bits : bits | sign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Bits>(static_cast<std::make_signed_t<Bits>>(value)) ^ sign;
  } else {
    return static_cast<Bits>(value);
  }
}

// -1, 0 or 1 where row a is before, equal to or behind row b.
template <class X>
KGEN_FN int compare_rows(const X& x, std::int64_t a, std::int64_t b, std::int64_t width) {
  for (std::int64_t k = 0; k < width; ++k) {
    const auto left = sort_key(x.template load<1>(Index<2>{a, k}).data);
    const auto right = sort_key(x.template load<1>(Index<2>{b, k}).data);
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

// The lines of a tensor along an axis, of each of which the first k elements are wanted: of ascending order, or of
// descending order where the largest are.
template <int R>
struct Selection {
  int axis;
  std::int64_t k;
  bool largest;
  Index<R> lines;              // the shape, with 1 for the axis
  std::int64_t count, length;  // of the lines, and of each

  KGEN_FN Index<R> position(std::int64_t line, std::int64_t i) const {
    Index<R> at = unflatten(line, lines);
    KGEN_UNROLL
    for (int other = 0; other < R; ++other) at[other] = other == axis ? i : at[other];  // addressing would take memory
    return at;
  }
  template <class T>
  KGEN_FN sort_item_t<T> item(T value, std::int64_t i) const {
    using Bits = sort_bits_t<T>;
    const Bits key = sort_key(value);
    return {largest ? static_cast<Bits>(~key) : key, static_cast<Bits>(i)};
  }
};

template <int R>
Selection<R> selection_of(const Index<R>& shape, int axis, std::int64_t k, bool largest) {
  Selection<R> selection{axis, k, largest, shape, 0, shape[axis]};
  selection.lines[axis] = 1;
  selection.count = element_count(selection.lines);
  return selection;
}

// A sink of results that nobody wants.
struct Unwanted {
  template <int R, class T, int W>
  KGEN_FN void operator()(const Index<R>&, const Vec<T, W>&) const {}
};

// What is chosen, given to its sinks: the element itself, read once more, and its index.
template <class X, class Values, class Indices, int R>
struct ChosenResults {
  X x;
  Values values;
  Indices indices;
  Selection<R> selection;

  template <class Bits>
  KGEN_FN void give(std::int64_t line, std::int64_t i, const SortItem<Bits>& item) const {
    const auto index = static_cast<std::int64_t>(item.index);
    const Index<R> to = selection.position(line, i);
    if constexpr (!std::is_same_v<Values, Unwanted>) {
      store_to(values, to, x.template load<1>(selection.position(line, index)));
    }
    store_to(indices, to, Vec<std::int64_t, 1>(index));
  }
};

}  // namespace kgen
