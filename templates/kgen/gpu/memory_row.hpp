// A row that does not fit into registers. Its program goes over it once for each reduction, keep and store; operands
// are read again each time, through the caches, and kept values are computed anew, but for those of large expressions:
// these are in shared memory or in a workspace. A thread reads back only what it wrote, since all passes give it the same
// pieces, so that none waits for another.
//
// Several blocks may share a row ("parts"). Then the program runs once for each of its reductions, and once more to
// store ("stages"): reductions before the stage's have been written by all parts, that of the stage is being computed,
// and those behind it give what they give of nothing. No value is kept, as a stage goes over the row but once. Results
// depend on the number of parts, but on no order of events.
#pragma once

#include "kgen/gpu/row_common.hpp"

namespace kgen::gpu {

// How blocks share rows.
struct RowSharing {
  int parts = 1;
  int stage = 0;
  int reductions = 0;                  // of the program: the last stage, which stores
  PartialSlot* partials = nullptr;     // room for [rows][reductions][parts] results of any type
  std::int64_t scratch_bytes = 0;      // for a group of rows, in shared memory where workspace is null
  unsigned char* workspace = nullptr;  // a room of so many bytes for each block
};

// Room for values of a row, [pieces][lanes], where `lanes` threads side by side compute one row each.
struct RowScratch {
  unsigned char* memory;  // null: there is none, and what is kept is computed anew
  int lane, lanes;
  std::int64_t taken = 0;

  template <class T>
  KGEN_FN T* take(std::int64_t pieces) {
    T* first = reinterpret_cast<T*>(memory + taken) + lane;
    taken += shared_bytes<T>(pieces * lanes);
    return first;
  }
};

template <class T, int V, int K>
struct MemoryLoad {
  static constexpr int size = 1;
  View<const T, K> view;

  template <int W>
  KGEN_FN auto value(const Piece<K>& piece) const {
    static_assert(W == V);
    return view.template elements<V>(piece.at).lanes();
  }
};
template <class T, int V, class A>
struct MemoryKeep {
  static constexpr int size = 1;
  A row;
  const Vec<T, V>* values;  // null: computed anew
  int step;

  template <int W, int K>
  KGEN_FN auto value(const Piece<K>& piece) const {
    static_assert(W == V);
    return values != nullptr ? values[piece.number * step] : spread<T, V>(row_value<V>(row, piece));
  }
};

// `AtOnce`: how many pieces a thread loads before it accumulates the first.
template <int R, int K, int V, int AtOnce, class Team>
class MemoryRow {
 public:
  // Part `part` of the row number `number`, at `outer`.
  KGEN_FN MemoryRow(const Index<R>& shape, const Index<R - K>& outer, std::int64_t number, int part, Team& team,
                    const RowScratch& scratch, const RowSharing& sharing, bool storing)
      : extents_(last_axes<K>(shape)),
        outer_(outer),
        number_(number),
        part_(part),
        team_(team),
        scratch_(scratch),
        sharing_(sharing),
        storing_(storing && sharing.stage == sharing.reductions),
        pieces_(element_count(extents_) / V) {}

  template <class T>
  KGEN_FN auto load(const View<T, R>& view) const {
    // In the caches as whatever is written: kernels that read more than they write are slower otherwise.
    const Access access{view.access().vectors};
    return MemoryLoad<std::remove_const_t<T>, V, K>{View<const T, K>(row_of<K>(view, outer_)).with_access(access)};
  }
  template <class T>
  KGEN_FN auto load_scalar(const View<T, R>& view) const {
    return view.template load<1>(join(outer_, Index<K>{}))[0];
  }

  template <class T, int Axis>
  KGEN_FN auto load(const Lines<T, R, Axis>& lines) const {
    return RowLines<T, R, K, Axis>{lines, outer_};
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
    using T = row_lane_t<A, V, Piece<K>>;
    using Partial = partial_t<Reduction, T, 1>;
    const int index = reduction_++;
    Partial mine = Reduction::template identity<T, 1>();
    if (index < sharing_.stage) {
      const Partial* results = partials<Partial>(index);
      KGEN_UNROLL_LOADS(8)
      for (int part = team_.rank(); part < sharing_.parts; part += team_.size()) {
        mine = Reduction::combine(mine, results[part]);
      }
    } else if (index == sharing_.stage || sharing_.parts == 1) {
      mine = accumulated<Reduction, T>(row);
    }
    const Partial total = team_.template combine<Reduction>(mine);
    if (sharing_.parts > 1 && index == sharing_.stage && team_.rank() == 0) partials<Partial>(index)[part_] = total;
    return Reduction::finish(total, element_count(extents_));
  }

  template <class A>
  KGEN_FN auto keep(const A& row) {
    if constexpr (row_size<A> <= row_size_limit) {  // to compute it anew costs less than to write and to read it
      return row;
    } else {
      using T = row_lane_t<A, V, Piece<K>>;
      if (sharing_.parts > 1 || scratch_.memory == nullptr) return MemoryKeep<T, V, A>{row, nullptr, 0};
      auto* values = scratch_.template take<Vec<T, V>>(pieces_);
      for_each_computed<T>(row, [&](std::int64_t number, const Vec<T, V>& lanes)
                                    KGEN_LAMBDA { values[number * scratch_.lanes] = lanes; });
      return MemoryKeep<T, V, A>{row, values, scratch_.lanes};
    }
  }

  template <class T, class A>
  KGEN_FN void store(const View<T, R>& view, const A& row) const {
    using Lane = row_lane_t<A, V, Piece<K>>;
    if (!storing_) return;
    const View<T, K> to = row_of<K>(view, outer_);
    for_each_computed<Lane>(row, [&](std::int64_t number, const Vec<Lane, V>& lanes)
                                     KGEN_LAMBDA { to.store(piece_of<V>(number, extents_).at, lanes); });
  }
  template <class T, Scalar S>
  KGEN_FN void store_scalar(const View<T, R>& view, S scalar) const {
    if (storing_ && part_ == 0 && team_.rank() == 0) view.store(join(outer_, Index<K>{}), Vec<S, 1>(scalar));
  }

 private:
  static constexpr int few = 4;

  template <class Partial>
  KGEN_FN Partial* partials(int index) const {
    return &sharing_.partials[(number_ * sharing_.reductions + index) * sharing_.parts].template as<Partial>();
  }

  // body.template operator()<Count>(number) for each of this thread's pieces, Count at a time: the first, and the others
  // team_.size() apart, without a branch between their loads. The team takes a stretch of memory at a time, `Most` pieces
  // of each thread; all parts share what is left of the row behind the last whole stretch.
  template <int Most, class Body>
  KGEN_FN void for_each_several(const Body& body) const {
    std::int64_t taken = take_stretches<Most>(0, body);
    if constexpr (Most > few) taken = take_stretches<few>(taken, body);
    KGEN_NO_UNROLL
    for (std::int64_t i = taken + part_ * team_.size() + team_.rank(); i < pieces_; i += sharing_.parts * team_.size()) {
      body.template operator()<1>(i);
    }
  }
  // Returns where the whole stretches behind `begin` end. How often threads go round is the same for all of them.
  template <int Count, class Body>
  KGEN_FN std::int64_t take_stretches(std::int64_t begin, const Body& body) const {
    static_assert((Count & (Count - 1)) == 0 && (Team::most_threads & (Team::most_threads - 1)) == 0);
    const std::int64_t stretch = Count * team_.size(), end = pieces_ & -stretch;  // powers of two
    KGEN_NO_UNROLL
    for (begin += part_ * stretch; begin < end; begin += sharing_.parts * stretch) {
      body.template operator()<Count>(begin + team_.rank());
    }
    return end;
  }

  template <class T, class A>
  KGEN_FN Vec<T, V> lanes_of(const A& row, std::int64_t number) const {
    return spread<T, V>(row_value<V>(row, piece_of<V>(number, extents_)));
  }
  // several(number, pieces) with as many of this thread's pieces at a time as can be in registers: arrays of lanes.
  template <class T, class A, class Several>
  KGEN_FN void for_each_few(const A& row, const Several& several) const {
    for_each_several<few>([&]<int Count>(std::int64_t number) KGEN_LAMBDA {
      Vec<T, V> pieces[Count];
      KGEN_UNROLL
      for (int c = 0; c < Count; ++c) pieces[c] = lanes_of<T>(row, number + c * team_.size());
      several(number, pieces);
    });
  }
  // body(number, lanes) for each of this thread's pieces. Loads do not wait for what the body stores.
  template <class T, class A, class Body>
  KGEN_FN void for_each_computed(const A& row, const Body& body) const {
    for_each_few<T>(row, [&]<int Count>(std::int64_t number, const Vec<T, V>(&pieces)[Count]) KGEN_LAMBDA {
      KGEN_UNROLL
      for (int c = 0; c < Count; ++c) body(number + c * team_.size(), pieces[c]);
    });
  }

  // The partial result of this thread's elements.
  template <class Reduction, class T, class A>
  KGEN_FN auto accumulated(const A& row) const {
    auto total = Reduction::template identity<T, 1>();
    if constexpr (TwoPhase<Reduction>) {
      for_each_few<T>(row, [&](std::int64_t, const auto& pieces)
                               KGEN_LAMBDA { total = Reduction::combine(total, reduced_twice<Reduction>(pieces)); });
      return total;
    } else {
      auto partial = Reduction::template identity<T, V>();
      // A partial result that is larger than a piece, such as an element and its number, leaves registers for fewer.
      constexpr int at_once = sizeof(partial) > sizeof(Vec<T, V>) && AtOnce > few ? AtOnce / 2 : AtOnce;
      int accumulated = 0;
      for_each_several<at_once>([&]<int Count>(std::int64_t number) KGEN_LAMBDA {
        KGEN_UNROLL
        for (int c = 0; c < Count; ++c) {
          const std::int64_t piece = number + c * team_.size();
          accumulate<Reduction>(partial, lanes_of<T>(row, piece), piece * V);
        }
        accumulated += Count;
        if (accumulated < 1024) return;
        // Additions in sequence lose accuracy: so many pieces make one partial result.
        total = Reduction::combine(total, collapse<Reduction, V>(partial));
        partial = Reduction::template identity<T, V>();
        accumulated = 0;
      });
      return Reduction::combine(total, collapse<Reduction, V>(partial));
    }
  }
  // What pieces that are in registers, gone over twice, make together.
  template <class Reduction, class T, int Count>
  KGEN_FN static auto reduced_twice(const Vec<T, V> (&pieces)[Count]) {
    using First = typename Reduction::First;
    auto first = First::template identity<T, V>();
    KGEN_UNROLL
    for (const Vec<T, V>& piece : pieces) accumulate<First>(first, piece, 0);
    auto partial = Reduction::template prepared<T, V>(collapse<First, V>(first).data);
    KGEN_UNROLL
    for (const Vec<T, V>& piece : pieces) accumulate<Reduction>(partial, piece, 0);
    return collapse<Reduction, V>(partial);
  }

  Index<K> extents_;
  Index<R - K> outer_;
  std::int64_t number_;
  int part_;
  Team& team_;
  RowScratch scratch_;
  const RowSharing& sharing_;
  bool storing_;
  std::int64_t pieces_;
  int reduction_ = 0;
};

}  // namespace kgen::gpu
