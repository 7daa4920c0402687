// A row whose every element is in the registers of its team: C pieces of V neighbours in each thread. Memory is read
// once.
#pragma once

#include "kgen/gpu/row_common.hpp"

namespace kgen::gpu {

// Which of a thread's pieces; known to the compiler where loops over them are unrolled.
struct Slot {
  int number;
};

template <class T, int V, int C>
struct RegisterLoad {  // as it is stored: narrow types take less room than their lanes
  static constexpr int size = 1;
  Elements<T, V> pieces[C];

  template <int W>
  KGEN_FN auto value(Slot slot) const {
    static_assert(W == V);
    return pieces[slot.number].lanes();
  }
};
template <class T, int V, int C>
struct RegisterKeep {
  static constexpr int size = 1;
  Vec<T, V> pieces[C];

  template <int W>
  KGEN_FN auto value(Slot slot) const {
    static_assert(W == V);
    return pieces[slot.number];
  }
};

template <class T, int V, int C>
struct RegisterLines {
  static constexpr int size = 1;
  Line<T, V> pieces[C];

  template <int W>
  KGEN_FN auto value(Slot slot) const {
    static_assert(W == V);
    return pieces[slot.number];
  }
};

// `Length`: the elements of the row; 0 where the launch says how many.
template <int R, int K, int V, int C, class Team, std::int64_t Length>
class RegisterRow {
 public:
  KGEN_FN RegisterRow(const Index<R>& shape, const Index<R - K>& outer, Team& team)
      : extents_(last_axes<K>(shape)),
        outer_(outer),
        team_(team),
        length_(Length == 0 ? element_count(extents_) : Length),
        pieces_(static_cast<int>(length_ / V)) {}

  template <class T>
  KGEN_FN auto load(const View<T, R>& view) const {
    const auto row = row_of<K>(view, outer_);
    RegisterLoad<std::remove_const_t<T>, V, C> result;
    KGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      if (holds(c)) result.pieces[c] = row.template elements<V>(position(c));
    }
    return result;
  }
  template <class T>
  KGEN_FN auto load_scalar(const View<T, R>& view) const {
    return view.template load<1>(join(outer_, Index<K>{}))[0];
  }

  template <class T, int Axis>
  KGEN_FN auto load(const Lines<T, R, Axis>& lines) const {
    RegisterLines<std::remove_const_t<T>, V, C> result;
    KGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      if (holds(c)) result.pieces[c] = lines.template load<V>(join(outer_, position(c)));
    }
    return result;
  }
  template <class T, int Axis>
  KGEN_FN auto load_scalar(const Lines<T, R, Axis>& lines) const {
    return lines.template load<0>(join(outer_, Index<K>{}));
  }

  template <class Functor, class... A>
  KGEN_FN auto map(const Functor& functor, const A&... operands) {
    return map_row(*this, functor, operands...);
  }

  template <class Reduction, class A>
  KGEN_FN auto reduce(const Reduction&, const A& row) {
    using T = row_lane_t<A, V, Slot>;
    const auto mine = collapse<Reduction, V>(accumulated<Reduction, T>(row));
    return Reduction::finish(team_.template combine<Reduction>(mine), length_);
  }

  template <class A>
  KGEN_FN auto keep(const A& row) const {
    if constexpr (Scalar<A>) {
      return row;
    } else {
      using T = row_lane_t<A, V, Slot>;
      RegisterKeep<T, V, C> kept;
      KGEN_UNROLL
      for (int c = 0; c < C; ++c) {
        if (holds(c)) kept.pieces[c] = spread<T, V>(row_value<V>(row, Slot{c}));
      }
      return kept;
    }
  }

  template <class T, class A>
  KGEN_FN void store(const View<T, R>& view, const A& row) const {
    using Lane = row_lane_t<A, V, Slot>;
    const View<T, K> to = row_of<K>(view, outer_);
    KGEN_UNROLL
    for (int c = 0; c < C; ++c) {
      if (holds(c)) to.store(position(c), spread<Lane, V>(row_value<V>(row, Slot{c})));
    }
  }
  template <class T, Scalar S>
  KGEN_FN void store_scalar(const View<T, R>& view, S scalar) const {
    if (team_.rank() == 0) view.store(join(outer_, Index<K>{}), Vec<S, 1>(scalar));
  }

 private:
  KGEN_FN int number(int c) const { return c * team_.size() + team_.rank(); }
  // Whether this thread has a piece c, and whether every thread has, in a team of whatever size.
  KGEN_FN bool holds(int c) const { return holds_always(c) || number(c) < pieces_; }
  KGEN_FN static constexpr bool holds_always(int c) { return Length > 0 && (c + 1) * Team::least_size * V <= Length; }
  KGEN_FN Index<K> position(int c) const { return piece_of<V>(number(c), extents_).at; }

  // The partial result of this thread's elements.
  template <class Reduction, class T, class A>
  KGEN_FN auto accumulated(const A& row) const {
    auto partial = Reduction::template identity<T, V>();
    if constexpr (TwoPhase<Reduction>) {
      // Of the whole row, so that no two partial results have to be brought to the same terms.
      using First = typename Reduction::First;
      const auto first = collapse<First, V>(accumulated<First, T>(row));
      partial = Reduction::template prepared<T, V>(team_.template combine<First>(first).data);
    }
    constexpr bool begins_with_piece = Converting<Reduction, T, V> && holds_always(0);  // not with the identity
    if constexpr (begins_with_piece) partial = partial_of<Reduction>(spread<T, V>(row_value<V>(row, Slot{0})));
    KGEN_UNROLL
    for (int c = begins_with_piece ? 1 : 0; c < C; ++c) {
      if (holds(c)) {
        accumulate<Reduction>(partial, spread<T, V>(row_value<V>(row, Slot{c})), std::int64_t{V} * number(c));
      }
    }
    return partial;
  }

  Index<K> extents_;
  Index<R - K> outer_;
  Team& team_;
  std::int64_t length_;
  int pieces_;
};

}  // namespace kgen::gpu
