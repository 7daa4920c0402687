// Lines of a length that is known when their code is compiled: as many whole registers as fit, and one more piece for
// what is left at the end, of as few lanes as hold it. That one begins so early that it ends with the line: its first
// lanes are those of elements that the registers before it have, too.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "kgen/index.hpp"
#include "kgen/line.hpp"
#include "kgen/row_expression.hpp"
#include "kgen/vec.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

template <std::int64_t Length>
struct KnownLine {
  static constexpr int width = Length < lanes_of<float> ? std::bit_floor(1ul * Length) : lanes_of<float>;
  static constexpr int whole = static_cast<int>(Length / width);
  static constexpr int rest = static_cast<int>(Length % width);
  // Lanes of the last piece, 0 where there is none, and at least four, since fewer take no less time; and how many of
  // them are of elements that other pieces have.
  static constexpr int last = rest == 0 ? 0 : std::max<int>(std::min(width, 4), std::bit_ceil(1u * rest));
  static constexpr int repeated = last - rest;
  // Of memory in which the last piece stands behind the others, not within them: what was stored in one piece is read
  // in one, or the processor would wait for the stores.
  static constexpr int kept = whole * width + last;
  // Of the widest lanes; whole cache lines.
  static constexpr std::size_t kept_bytes = (sizeof(double) * kept + 63) / 64 * 64;
};

// The position of the last piece.
template <std::int64_t Length>
struct LastPiece {};
template <std::int64_t Length>
KGEN_FN constexpr Index<1> position_of(const LastPiece<Length>&) {
  return {Length - KnownLine<Length>::last};
}

// A line that lies dense: no more than where it begins. A View of it, which expressions hold by value, gcc copies
// through memory in pieces of one width that it reads back in another, which waits for the stores.
template <class T>
struct DenseLoad {
  static constexpr int size = 1;
  pointer_to<T> data;

  template <int W, class At>
  KGEN_FN auto value(const At& at) const {
    return View<T, 1>(data, Index<1>{}, Index<1>{1}).template load<W>(position_of(at));
  }
};

template <class T>
struct DenseStore {
  pointer_to<T> data;

  template <class At, class U, int W>
  KGEN_FN void operator()(const At& at, const Vec<U, W>& lanes) const {
    View<T, 1>(data, Index<1>{}, Index<1>{1}).store(position_of(at), lanes);
  }
};

// A line that is kept for the passes to come.
template <class T>
struct KeepLine {
  T* data;

  template <int W>
  KGEN_FN void operator()(const Index<1>& at, const Vec<T, W>& lanes) const {
    store_lanes(data + at[0], lanes);
  }
  template <std::int64_t Length, int W>
  KGEN_FN void operator()(const LastPiece<Length>&, const Vec<T, W>& lanes) const {
    store_lanes(data + KnownLine<Length>::kept - W, lanes);
  }
};
template <class T>
struct KeptLine {
  static constexpr int size = 1;
  const T* data;

  template <int W>
  KGEN_FN auto value(const Index<1>& at) const {
    return load_lanes<W>(data + at[0]);
  }
  template <int W, std::int64_t Length>
  KGEN_FN auto value(const LastPiece<Length>&) const {
    return load_lanes<W>(data + KnownLine<Length>::kept - W);
  }
};

// ---- passes over a line ---------------------------------------------------------------------------------------------

// Neither these nor what they call hold rows by reference, in closures or in members: gcc would keep the rows, which
// are expressions, in memory.

template <std::int64_t Length, class A, class Store>
KGEN_FN void write_whole(const A& row, const Store& store) {
  using Lane = row_lane_t<A, 1, Index<1>>;
  constexpr int width = KnownLine<Length>::width;
  for (std::int64_t i = 0; i < KnownLine<Length>::whole * width; i += width) {
    const Index<1> at{i};
    store(at, spread<Lane, width>(row_value<width>(row, at)));
  }
}
// Writes a row to where `store` has it, a DenseStore or a KeepLine. The last piece is computed before anything is
// stored, which may be what it is computed from.
template <std::int64_t Length, class A, class Store>
KGEN_FN void write_line(const A& row, const Store& store) {
  constexpr int last = KnownLine<Length>::last;
  if constexpr (last > 0) {
    using Lane = row_lane_t<A, 1, Index<1>>;
    const LastPiece<Length> at;
    const auto lanes = spread<Lane, last>(row_value<last>(row, at));
    write_whole<Length>(row, store);
    store(at, lanes);
  } else {
    write_whole<Length>(row, store);
  }
}

// Lanes `Begin` to Begin + N - 1, of which Begin is a multiple of N.
template <int Begin, int N, class T, int W>
KGEN_FN Vec<T, N> lanes_from(const Vec<T, W>& v) {
  if constexpr (N == W) {
    return v;
  } else if constexpr (Begin < W / 2) {
    return lanes_from<Begin, N>(low_half(v));
  } else {
    return lanes_from<Begin - W / 2, N>(high_half(v));
  }
}

// True from lane `Begin` on. Constants, or gcc would write them to memory for each line.
template <int Begin, int W, int... I>
KGEN_FN Vec<bool, W> from_lane(std::integer_sequence<int, I...>) {
  Vec<bool, W> result;
  if constexpr (Vec<bool, W>::form == detail::Form::halves) {
    const auto half = std::make_integer_sequence<int, W / 2>{};
    result.data = {from_lane<Begin, W / 2>(half), from_lane<Begin - W / 2, W / 2>(half)};
  } else {
    result.data = decltype(result.data){(I >= Begin ? -1 : 0)...};
  }
  return result;
}
template <int Begin, int W>
KGEN_FN Vec<bool, W> from_lane() {
  return from_lane<Begin, W>(std::make_integer_sequence<int, W>{});
}

// Partial results of W lanes that have taken in nothing yet.
template <class Reduction, class T>
struct FromIdentity {
  template <int W>
  KGEN_FN auto start() const {
    return Reduction::template identity<T, W>();
  }
};
template <class Reduction, class T>
struct FromFirst {
  T found;

  template <int W>
  KGEN_FN auto start() const {
    return Reduction::template prepared<T, W>(found);
  }
};

// What a reduction makes of a line of Ts, from such a Start on.
template <class Reduction, std::int64_t Length, class T, class Start>
class LineReduction {
  using Line = KnownLine<Length>;
  static constexpr int width = Line::width, last = Line::last;
  // So many partial results, so that one addition does not wait for the one before.
  static constexpr int ways = Line::whole < 4 ? Line::whole : 4;
  // Whether lanes of a partial result can be chosen.
  static constexpr bool selects = is_lanes<partial_t<Reduction, T, 1>>;
  static constexpr bool converts = Converting<Reduction, T, width>;

 public:
  template <class A>
  KGEN_FN static auto total(const A& row, const Start& start) {
    partial_t<Reduction, T, width> partial[ways];
    for (int u = 0; u < ways; ++u) partial[u] = begun<width>(values(row, u), u * width, start);
    for (int i = ways; i < Line::whole; i += ways) {
      for (int u = 0; u < ways && i + u < Line::whole; ++u) {
        accumulate<Reduction>(partial[u], values(row, i + u), (i + u) * width);
      }
    }
    if constexpr (ways > 2) partial[0] = Reduction::combine(partial[0], partial[2]);
    if constexpr (ways > 3) partial[1] = Reduction::combine(partial[1], partial[3]);
    if constexpr (ways > 1) partial[0] = Reduction::combine(partial[0], partial[1]);
    if constexpr (converts) partial[0] = Reduction::combine(start.template start<width>(), partial[0]);
    if constexpr (last == 0) {
      return collapse<Reduction, width>(partial[0]);
    } else {
      return with_last<width>(partial[0], spread<T, last>(row_value<last>(row, LastPiece<Length>{})), start);
    }
  }

 private:
  template <class A>
  KGEN_FN static auto values(const A& row, int piece) {
    return spread<T, width>(row_value<width>(row, Index<1>{std::int64_t{piece} * width}));
  }
  template <int W>
  KGEN_FN static auto begun(const Vec<T, W>& values, std::int64_t number, const Start& start) {
    if constexpr (converts) {
      return partial_of<Reduction>(values);
    } else {
      auto partial = start.template start<W>();
      accumulate<Reduction>(partial, values, number);
      return partial;
    }
  }

  // All lanes of `partial`, and of the last piece those that no other has: they join where as many lanes are left.
  template <int W, class Partial, class Values>
  KGEN_FN static auto with_last(const Partial& partial, const Values& values, const Start& start) {
    if constexpr (selects && W == last) {
      const auto found = select(from_lane<Line::repeated, W>(), begun<W>(values, 0, start), start.template start<W>());
      return collapse<Reduction, W>(Reduction::combine(partial, found));
    } else if constexpr (!selects && (Line::rest & W) != 0) {
      constexpr int begin = last - (Line::rest & ~(W - 1));
      const auto found = begun<W>(lanes_from<begin, W>(values), Line::whole * width - Line::repeated + begin, start);
      return narrowed<W>(Reduction::combine(partial, found), values, start);
    } else {
      return narrowed<W>(partial, values, start);
    }
  }
  template <int W, class Partial, class Values>
  KGEN_FN static auto narrowed(const Partial& partial, const Values& values, const Start& start) {
    if constexpr (W == 1) {
      return partial;
    } else {
      return with_last<W / 2>(Reduction::combine(low_half(partial), high_half(partial)), values, start);
    }
  }
};

// The partial result of a whole line.
template <class Reduction, std::int64_t Length, class A>
KGEN_FN auto reduce_line(const A& row) {
  using T = row_lane_t<A, 1, Index<1>>;
  if constexpr (TwoPhase<Reduction>) {
    using Start = FromFirst<Reduction, T>;
    const Start start{reduce_line<typename Reduction::First, Length>(row).data};
    return LineReduction<Reduction, Length, T, Start>::total(row, start);
  } else {
    using Start = FromIdentity<Reduction, T>;
    return LineReduction<Reduction, Length, T, Start>::total(row, Start{});
  }
}

}  // namespace kgen::cpu
