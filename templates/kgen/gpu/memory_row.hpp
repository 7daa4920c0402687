// A row that does not fit into registers. Its program goes over it once for each reduction, keep and store; operands are
// read again each time, from shared memory where the launch has found room for them, else through the caches. Kept
// values are in shared memory or in a workspace. A thread reads back only what it wrote, so no pass waits for another.
//
// Several blocks may share a row ("parts"). Then the program runs once for each of its reductions, and once more to
// store ("stages"): reductions before the stage's have been written by all parts, that of the stage is being computed,
// and those behind it give what they give of nothing. Results depend on the number of parts, but on no order of events.
#pragma once

#include "kgen/gpu/row_common.hpp"

namespace kgen::gpu {

// How blocks share rows.
struct RowSharing {
  int parts = 1;
  int stage = 0;
  int reductions = 0;                 // of the program: the last stage, which stores
  PartialSlot* partials = nullptr;    // [rows][reductions][parts]
  bool cache_loads = false;           // there is room for operands that differ by row
  std::int64_t scratch_bytes = 0;     // for each group of rows, in shared memory where workspace is null
  unsigned char* workspace = nullptr;
};

// Room for values of a row, [pieces][lanes], where `lanes` threads side by side compute one row each.
struct RowScratch {
  unsigned char* memory;
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
  const Elements<T, V>* cached;  // null: read from the view
  int step;                      // between neighbouring pieces

  template <int W>
  KGEN_FN auto value(const Piece<K>& piece) const {
    static_assert(W == V);
    return (cached == nullptr ? view.template elements<V>(piece.at) : cached[piece.number * step]).lanes();
  }
};
template <class T, int V>
struct MemoryKeep {
  static constexpr int size = 1;
  const Vec<T, V>* values;
  int step;

  template <int W, int K>
  KGEN_FN auto value(const Piece<K>& piece) const {
    static_assert(W == V);
    return values[piece.number * step];
  }
};

// `AtOnce`: how many pieces a thread loads before it looks at the first.
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
  KGEN_FN auto load(const View<T, R>& view) {
    using Stored = std::remove_const_t<T>;
    MemoryLoad<Stored, V, K> load{View<const T, K>(row_of<K>(view, outer_)).with_access(view.access()), nullptr,
                                  scratch_.lanes};
    if (sharing_.cache_loads && differs_by_row<K>(view)) {
      auto* cache = scratch_.template take<Elements<Stored, V>>(pieces_);
      for_each_piece(pieces_, [&](const Piece<K>& piece) KGEN_LAMBDA {
        cache[piece.number * scratch_.lanes] = load.view.template elements<V>(piece.at);
      });
      load.cached = cache;
    }
    return load;
  }
  template <class T>
  KGEN_FN auto load_scalar(const View<T, R>& view) const {
    return view.template load<1>(join(outer_, Index<K>{})).data;
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
      const PartialSlot* slots = partials(index);
      for (int part = team_.rank(); part < sharing_.parts; part += team_.size()) {
        mine = Reduction::combine(mine, slots[part].template get<Partial>());
      }
    } else if (index == sharing_.stage || sharing_.parts == 1) {
      mine = accumulated<Reduction, T>(row);
    }
    const Partial total = team_.template combine<Reduction>(mine);
    if (sharing_.parts > 1 && index == sharing_.stage && team_.rank() == 0) partials(index)[part_].put(total);
    return Reduction::finish(total, element_count(extents_));
  }

  template <class A>
  KGEN_FN auto keep(const A& row) {
    if constexpr (Scalar<A>) {
      return row;
    } else {
      using T = row_lane_t<A, V, Piece<K>>;
      auto* values = scratch_.template take<Vec<T, V>>(pieces_);
      for_each_piece(pieces_, [&](const Piece<K>& piece) KGEN_LAMBDA {
        values[piece.number * scratch_.lanes] = spread<T, V>(row_value<V>(row, piece));
      });
      return MemoryKeep<T, V>{values, scratch_.lanes};
    }
  }

  template <class T, class A>
  KGEN_FN void store(const View<T, R>& view, const A& row) const {
    using Lane = row_lane_t<A, V, Piece<K>>;
    if (!storing_) return;
    const View<T, K> to = row_of<K>(view, outer_);
    for_each_piece(pieces_, [&](const Piece<K>& piece) KGEN_LAMBDA {
      to.store(piece.at, spread<Lane, V>(row_value<V>(row, piece)));
    });
  }
  template <class T, Scalar S>
  KGEN_FN void store_scalar(const View<T, R>& view, S scalar) const {
    if (storing_ && part_ == 0 && team_.rank() == 0) view.store(join(outer_, Index<K>{}), Vec<S, 1>(scalar));
  }

 private:
  KGEN_FN PartialSlot* partials(int index) const {
    return sharing_.partials + (number_ * sharing_.reductions + index) * sharing_.parts;
  }

  // body(piece) for this thread's pieces before `end`. Its team takes a stretch of memory of several pieces for each
  // thread, without a branch between their loads. `begin` is a multiple of what all parts take at a time.
  template <class Body>
  KGEN_FN void for_each_piece(std::int64_t end, const Body& body, std::int64_t begin = 0) const {
    const std::int64_t size = team_.size(), stretch = AtOnce * size;
    for (std::int64_t i = begin + part_ * stretch + team_.rank(); i < end; i += sharing_.parts * stretch) {
      if (i + stretch - size < end) {
        KGEN_UNROLL
        for (int c = 0; c < AtOnce; ++c) body(piece_of<V>(i + c * size, extents_));
      } else {
        for (std::int64_t j = i; j < end; j += size) body(piece_of<V>(j, extents_));
      }
    }
  }

  // The partial result of this thread's elements. Additions in sequence lose accuracy, and what goes over its elements
  // twice should find them in a cache the second time: so many pieces of each thread make one partial result.
  template <class Reduction, class T, class A>
  KGEN_FN auto accumulated(const A& row) const {
    constexpr int pieces = TwoPhase<Reduction> ? 16 : 1024;  // of each thread
    static_assert(pieces % AtOnce == 0);
    const std::int64_t run = std::int64_t{pieces} * sharing_.parts * team_.size();
    auto total = Reduction::template identity<T, 1>();
    for (std::int64_t begin = 0; begin < pieces_; begin += run) {
      const std::int64_t end = begin + run < pieces_ ? begin + run : pieces_;
      auto partial = Reduction::template identity<T, V>();
      if constexpr (TwoPhase<Reduction>) {
        using First = typename Reduction::First;
        const auto first = collapse<First, V>(accumulated_run<First, T>(
            row, First::template identity<T, V>(), begin, end));
        partial = Reduction::template prepared<T, V>(first.data);
      }
      partial = accumulated_run<Reduction, T>(row, partial, begin, end);
      total = Reduction::combine(total, collapse<Reduction, V>(partial));
    }
    return total;
  }
  template <class Reduction, class T, class A, class Partial>
  KGEN_FN Partial accumulated_run(const A& row, Partial partial, std::int64_t begin, std::int64_t end) const {
    for_each_piece(
        end,
        [&](const Piece<K>& piece)
            KGEN_LAMBDA { accumulate<Reduction>(partial, spread<T, V>(row_value<V>(row, piece)), piece.number * V); },
        begin);
    return partial;
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
