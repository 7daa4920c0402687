// What row programs have in common on every target: rows as expressions, and what reductions are made of.
//
// A row is lazy: row.value<W>(at) gives W lanes of it, where `at` is a position as the target counts them. `size` counts
// the nodes of the expression.
#pragma once

#include <cstddef>
#include <utility>

#include "kgen/line.hpp"
#include "kgen/vec.hpp"

namespace kgen {

template <class A>
inline constexpr bool is_shared_line = false;
template <class T>
inline constexpr bool is_shared_line<Line<T, 0>> = true;

template <class A>
inline constexpr bool is_lanes = false;
template <class T, int W>
inline constexpr bool is_lanes<Vec<T, W>> = true;

// Lanes that fill a register of so many bytes.
template <int Bytes, class A>
inline constexpr bool is_register = false;
template <int Bytes, class T, int W>
inline constexpr bool is_register<Bytes, Vec<T, W>> = (sizeof(Vec<T, W>) == Bytes) && register_bytes >= Bytes;

// One for the whole row: a scalar stands for a row of equal elements. A vector is one of each of several rows.
template <class A>
concept PerRow = Scalar<A> || is_lanes<A> || is_shared_line<A>;

template <class A>
inline constexpr int row_size = A::size;
template <PerRow A>
inline constexpr int row_size<A> = 0;

// An expression that uses another one twice computes it twice. Larger ones than this are computed once and kept.
inline constexpr int row_size_limit = 64;

template <int W, class A, class At>
KGEN_FN auto row_value(const A& row, [[maybe_unused]] const At& at) {
  if constexpr (PerRow<A>) {
    return row;
  } else {
    return row.template value<W>(at);
  }
}

// What an expression is of. Members: gcc copies the bases that a std::tuple is made of as bytes, in memory, and reads
// back in one piece what was stored in two, which waits until every store before it is done; then no line is computed
// while another one is.
template <class First, class... Rest>
struct RowOperands {
  First first;
  RowOperands<Rest...> rest;

  template <int I>
  KGEN_FN const auto& get() const {
    if constexpr (I == 0) {
      return first;
    } else {
      return rest.template get<I - 1>();
    }
  }
};
template <class Last>
struct RowOperands<Last> {
  Last last;

  template <int I>
  KGEN_FN const Last& get() const {
    static_assert(I == 0);
    return last;
  }
};
template <class Last>
KGEN_FN RowOperands<Last> row_operands(const Last& last) {
  return {last};
}
template <class First, class Second, class... Rest>
KGEN_FN RowOperands<First, Second, Rest...> row_operands(const First& first, const Second& second,
                                                         const Rest&... rest) {
  return {first, row_operands(second, rest...)};
}

template <class Functor, class... A>
struct RowMap {
  static constexpr int size = 1 + (row_size<A> + ...);
  // Without bytes of padding, which gcc copies expressions through memory for.
  [[no_unique_address]] Functor functor;
  RowOperands<A...> operands;

  template <int W, class At>
  KGEN_FN auto value(const At& at) const {
    return value<W>(at, std::make_integer_sequence<int, sizeof...(A)>{});
  }

 private:
  template <int W, class At, int... I>
  KGEN_FN auto value(const At& at, std::integer_sequence<int, I...>) const {
    return functor.apply(row_value<W>(operands.template get<I>(), at)...);
  }
};

// functor(operands...) as a row of Row's; of what is one per row alone, as a scalar.
template <class Row, class Functor, class... A>
KGEN_FN auto map_row(Row& row, const Functor& functor, const A&... operands) {
  if constexpr ((PerRow<A> && ...)) {
    return functor.apply(operands...);
  } else {
    const RowMap<Functor, A...> result{functor, row_operands(operands...)};
    if constexpr (RowMap<Functor, A...>::size > row_size_limit) {
      return row.keep(result);
    } else {
      return result;
    }
  }
}

// The type of a row's lanes, as W of them at an At have it.
template <class A, int W, class At>
using row_lane_t = common_lane_t<decltype(row_value<W>(std::declval<const A&>(), std::declval<const At&>()))>;

// ---- reductions -----------------------------------------------------------------------------------------------------

template <class Reduction, class T, int W>
using partial_t = decltype(Reduction::template identity<T, W>());

// A reduction that asks for the numbers of its elements: those of a row, in row-major order.
template <class Reduction, class T, int W>
concept Numbering = requires(partial_t<Reduction, T, W>& partial, const Vec<T, W>& x) {
  Reduction::accumulate(partial, x, std::int64_t{});
};

// A reduction of which the elements themselves, converted, are partial results.
template <class Reduction, class T, int W>
concept Converting = !Numbering<Reduction, T, W> && !requires(partial_t<Reduction, T, W>& partial, const Vec<T, W>& x) {
  Reduction::accumulate(partial, x);
};

// What one vector of elements makes by itself.
template <class Reduction, class T, int W>
requires(Converting<Reduction, T, W>) KGEN_FN partial_t<Reduction, T, W> partial_of(const Vec<T, W>& x) {
  return convert<typename partial_t<Reduction, T, W>::lane_type>(x);
}
// `number`: that of the first of these lanes.
template <class Reduction, class T, int W>
KGEN_FN void accumulate(partial_t<Reduction, T, W>& partial, const Vec<T, W>& x,
                        [[maybe_unused]] std::int64_t number) {
  if constexpr (Numbering<Reduction, T, W>) {
    Reduction::accumulate(partial, x, number);
  } else if constexpr (Converting<Reduction, T, W>) {
    partial = Reduction::combine(partial, partial_of<Reduction>(x));
  } else {
    Reduction::accumulate(partial, x);
  }
}

#if !defined(KGEN_GPU)
// Combines lanes with those `By` behind, to By = 1: lane 0 is that of all.
template <class Reduction, int By, class T, int W>
KGEN_FN Vec<T, 1> collapse_by(const Vec<T, W>& partial) {
  const Vec<T, W> combined = Reduction::combine(partial, turned<By>(partial));
  if constexpr (By == 1) {
    return Vec<T, 1>(combined[0]);
  } else {
    return collapse_by<Reduction, By / 2>(combined);
  }
}
#endif

// The partial result of all lanes.
template <class Reduction, int W, class Partial>
KGEN_FN auto collapse(const Partial& partial) {
  if constexpr (W == 1) {
    return partial;
#if !defined(KGEN_GPU)
  } else if constexpr (is_register<16, Partial>) {
    // Not in halves, which are less than any register: to the same bits.
    return collapse_by<Reduction, W / 2>(partial);
#endif
  } else {
    return collapse<Reduction, W / 2>(Reduction::combine(low_half(partial), high_half(partial)));
  }
}

// A reduction for which combine(a, b) has the bits of combine(b, a).
template <class Reduction>
concept Symmetric = Reduction::symmetric;

// A reduction that goes over its elements twice, the second time knowing what its First reduction makes of them.
template <class Reduction>
concept TwoPhase = requires {
  typename Reduction::First;
};

}  // namespace kgen
