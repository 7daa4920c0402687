// Row programs where rows lie across memory, and what is next to each other belongs to different rows: sums of columns,
// pools over the pixels of images whose channels are last. Lanes are those of neighbouring rows, so that what was one
// for a whole row, such as its sum, is a vector here: one for each.
//
// Why: a row that is read by itself takes an element of each line of memory that it touches, and comes back for the
// next row when the line has left the caches. The sum of the columns of 4096 x 4096 took 14 times as long so.
#pragma once

#include <array>
#include <tuple>

#include "kgen/cpu/rows.hpp"
#include "kgen/cpu/tiles.hpp"

namespace kgen::cpu {

// ---- reductions: a partial result for each of W rows ----------------------------------------------------------------

// The partial results of single lanes.
template <int W, class Partial, class Single>
KGEN_FN void split_lanes(const Partial& partial, Single* to) {
  if constexpr (W == 1) {
    *to = partial;
  } else {
    split_lanes<W / 2>(low_half(partial), to);
    split_lanes<W / 2>(high_half(partial), to + W / 2);
  }
}

// One result of each lane, as vectors: of a struct, a tuple of one for each of its fields.
template <class Result, int W>
KGEN_FN auto gathered(const std::array<Result, W>& results) {
  if constexpr (Scalar<Result>) {
    return load_elements<W>(results.data());
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) KGEN_LAMBDA {
      const auto field = [&]<std::size_t Place>(std::integral_constant<std::size_t, Place>) KGEN_LAMBDA {
        std::array<std::remove_cvref_t<decltype(std::get<Place>(fields_of(results[0])))>, W> each;
        for (int i = 0; i < W; ++i) each[i] = std::get<Place>(fields_of(results[i]));
        return gathered<typename decltype(each)::value_type, W>(each);
      };
      return std::make_tuple(field(std::integral_constant<std::size_t, I>{})...);
    }
    (std::make_index_sequence<field_count<Result>()>{});
  }
}

// The partial results of W rows: together in vectors, or, of a reduction that numbers its elements along the lanes, one
// by one.
template <class Reduction, class T, int W>
struct PartialResults {
  static constexpr bool apart = Numbering<Reduction, T, W>;
  using Single = partial_t<Reduction, T, 1>;
  using Lanes = std::conditional_t<apart, std::array<Single, W>, partial_t<Reduction, T, W>>;
  Lanes lanes;

  // Of nothing.
  static KGEN_FN PartialResults none() {
    PartialResults results;
    if constexpr (apart) {
      results.lanes.fill(Reduction::template identity<T, 1>());
    } else {
      results.lanes = Reduction::template identity<T, W>();
    }
    return results;
  }
  // Element `number` of each row.
  KGEN_FN void add(const Vec<T, W>& elements, std::int64_t number) {
    if constexpr (apart) {
      T each[W];
      store_lanes(each, elements);
      for (int i = 0; i < W; ++i) accumulate<Reduction>(lanes[i], Vec<T, 1>(each[i]), number);
    } else {
      accumulate<Reduction>(lanes, elements, number);
    }
  }
  KGEN_FN void add(const PartialResults& other) {
    if constexpr (apart) {
      for (int i = 0; i < W; ++i) lanes[i] = Reduction::combine(lanes[i], other.lanes[i]);
    } else {
      lanes = Reduction::combine(lanes, other.lanes);
    }
  }
  KGEN_FN auto finish(std::int64_t count) const {
    std::array<Single, W> singles;
    if constexpr (apart) {
      singles = lanes;
    } else {
      split_lanes<W>(lanes, singles.data());
    }
    std::array<decltype(Reduction::finish(singles[0], count)), W> results;
    for (int i = 0; i < W; ++i) results[i] = Reduction::finish(singles[i], count);
    return gathered<typename decltype(results)::value_type, W>(results);
  }
};

// ---- the rows -------------------------------------------------------------------------------------------------------

// W rows at `outer` and behind it along axis `across`, as one Row (kgen/rows.hpp). Positions are those of the row's
// axes, and a lane.
template <int R, int K, int W>
class LaneRow {
 public:
  static constexpr int rank = R;
  template <class A>
  using lane_type = row_lane_t<A, W, Index<K + 1>>;

  // This thread computes the box from `begin` to `end`; `meeting` is null where that is all.
  LaneRow(const Index<R>& shape, const Index<R - K>& outer, int across, const Index<K>& begin, const Index<K>& end,
          Team team, Meeting* meeting)
      : shape_(shape), outer_(outer), across_(across), begin_(begin), end_(end), team_(team), meeting_(meeting) {}

  KGEN_FN const Index<R>& shape() const { return shape_; }

  template <class T>
  KGEN_FN auto load(const View<T, R>& view) const {
    assert(view.shape() == shape_);
    return RowLoad<const T, K + 1>{lanes_of_view<const T>(view)};
  }
  template <class T>
  KGEN_FN auto load_scalar(const View<T, R>& view) const {
    return lanes_of_view<const T>(view).template load<W>(Index<K + 1>{});
  }

  template <class Functor, class... A>
  KGEN_FN auto map(const Functor& functor, const A&... operands) {
    return map_row(*this, functor, operands...);
  }

  template <class Reduction, class A>
  KGEN_FN auto reduce(const Reduction&, const A& row) {
    using T = lane_type<A>;
    // As many elements make one partial result that additions in sequence do not lose accuracy, and that what is read
    // twice is still in the first-level cache.
    constexpr std::int64_t most = TwoPhase<Reduction> ? 64 : 256;
    using Results = PartialResults<Reduction, T, W>;
    Results total = Results::none();
    const Index<K> extents = last_axes<K>(shape_);
    for_each_run([&](const Index<K>& run) KGEN_LAMBDA {
      const std::int64_t line = flatten(run, extents) - run[K - 1];
      for (std::int64_t i = begin_[K - 1]; i < end_[K - 1]; i += most) {
        const std::int64_t stop = std::min(i + most, end_[K - 1]);
        Results piece = started<Reduction, Results>(row, run, i, stop);
        for_each_element(row, run, i, stop, [&](const auto& elements, std::int64_t place) KGEN_LAMBDA {
          piece.add(spread<T, W>(elements), line + place);
        });
        total.add(piece);
      }
    });
    meet(total);
    return total.finish(element_count(extents));
  }

  template <class A>
  KGEN_FN auto keep(const A& row) {
    if constexpr (PerRow<A>) {
      return row;
    } else {
      using T = lane_type<A>;
      const Index<K + 1> extents = join(last_axes<K>(shape_), Index<1>{W});
      const View<T, K + 1> kept(scratch<T>(kept_++, element_count(extents)), extents);
      write(kept, row);
      return RowLoad<const T, K + 1>{kept};
    }
  }

  template <class T, class A>
  KGEN_FN void store(const View<T, R>& view, const A& row) {
    assert(view.shape() == shape_);
    write(lanes_of_view<T>(view), row);
  }
  template <class T, PerRow S>
  KGEN_FN void store_scalar(const View<T, R>& view, const S& one) {
    if (team_.rank == 0) lanes_of_view<T>(view).store(Index<K + 1>{}, spread<common_lane_t<S>, W>(one));
  }

 private:
  template <class T, class U>
  KGEN_FN View<T, K + 1> lanes_of_view(const View<U, R>& view) const {
    std::int64_t offset = 0;
    for (int axis = 0; axis < R - K; ++axis) offset += outer_[axis] * view.stride(axis);
    return {view.data() + offset, join(last_axes<K>(view.shape()), Index<1>{W}),
            join(last_axes<K>(view.strides()), Index<1>{view.stride(across_)})};
  }

  // body(at) for each position of all but the last axis of the row.
  template <class Body>
  KGEN_FN void for_each_run(const Body& body) const {
    for (int axis = 0; axis < K; ++axis) {
      if (begin_[axis] >= end_[axis]) return;
    }
    Index<K> at = begin_;
    do body(at);
    while (advance(at, K - 1, begin_, end_));
  }
  // body(lanes, i) for elements i of the last axis of the row, from `begin` to `end`.
  template <class A, class Body>
  KGEN_FN void for_each_element(const A& row, const Index<K>& run, std::int64_t begin, std::int64_t end,
                                const Body& body) const {
    Index<K + 1> at = join(run, Index<1>{0});
    for (std::int64_t& i = at[K - 1] = begin; i < end; ++i) body(row_value<W>(row, at), i);
  }

  template <class T, class A>
  KGEN_FN void write(const View<T, K + 1>& to, const A& row) const {
    using Lane = lane_type<A>;
    for_each_run([&](const Index<K>& run) KGEN_LAMBDA {
      Index<K + 1> at = join(run, Index<1>{0});
      for_each_element(row, run, begin_[K - 1], end_[K - 1], [&](const auto& lanes, std::int64_t i) KGEN_LAMBDA {
        at[K - 1] = i;
        to.store(at, spread<Lane, W>(lanes));
      });
    });
  }

  // What begins with what the First reduction finds, where there is one.
  template <class Reduction, class Results, class A>
  KGEN_FN Results started(const A& row, const Index<K>& run, std::int64_t begin, std::int64_t end) const {
    Results results = Results::none();
    if constexpr (TwoPhase<Reduction>) {
      using T = lane_type<A>;
      auto first = PartialResults<typename Reduction::First, T, W>::none();
      for_each_element(row, run, begin, end,
                       [&](const auto& elements, std::int64_t i) KGEN_LAMBDA { first.add(spread<T, W>(elements), i); });
      results.lanes = Reduction::template prepared<T, W>(first.lanes);
    }
    return results;
  }

  // Combined with what the other threads have of these rows, by each of them in the same order.
  template <class Results>
  KGEN_FN void meet(Results& mine) {
    if (meeting_ == nullptr) return;
    const int bank = static_cast<int>(meetings_++ % 2);
    std::memcpy(meeting_->place<Results>(bank, team_.rank), &mine, sizeof(mine));
    team_.barrier();
    std::memcpy(&mine, meeting_->place<Results>(bank, 0), sizeof(mine));
    for (int rank = 1; rank < team_.size; ++rank) {
      Results other;
      std::memcpy(&other, meeting_->place<Results>(bank, rank), sizeof(other));
      mine.add(other);
    }
  }

  Index<R> shape_;
  Index<R - K> outer_;
  int across_;
  Index<K> begin_, end_;
  Team team_;
  Meeting* meeting_;
  int kept_ = 0;
  unsigned meetings_ = 0;
};

// ---- the loop over rows ---------------------------------------------------------------------------------------------

// The rows of a shape, as many next to each other along `across` as there are lanes.
template <int K, int R, class Program>
class RowsAcross {
 public:
  // 256 bytes of a line of memory at a time, where that is no more than eight registers: what lies behind each other in
  // a column is pages apart, so that the processor looks ahead within these bytes alone. Of 128 bytes global averages
  // of 8x7x7x2048 took 1.7 times as long on a Zen 3, sums of 4096x4096 1.35 times, variances of 8192x1024 1.45 times.
  static constexpr int lanes = lanes_of<float>, most_lanes = std::min(8 * lanes, 64);
  // Bytes that threads leave each other of a reduction: two vectors of the widest lanes, and a number.
  static constexpr std::size_t meeting_bytes = 2 * most_lanes * sizeof(std::int64_t) + 64;

  RowsAcross(const Index<R>& shape, const Program& program, int across)
      : shape_(shape), program_(program), across_(across), counts_(first_axes<R - K>(shape)) {
    counts_[across] = (shape[across] + lanes - 1) / lanes;
  }

  void operator()(Stream stream) const {
    const Index<K> row = last_axes<K>(shape_);
    const std::int64_t length = element_count(row), count = element_count(counts_);
    const int threads = threads_for(stream, count * lanes * std::max<std::int64_t>(length, 1));
    const bool shared = threads > 1 && count < 4 * threads && length * lanes >= 2 * work_worth_a_thread;
    Meeting meeting(shared ? threads : 0, meeting_bytes);
    parallel(threads, [&](Team team) {
      if (!shared) return compute(team.part(count, most_lanes / 2 / lanes), Index<K>{}, row, Team{}, nullptr);
      int longest = 0;
      for (int axis = 1; axis < K; ++axis) longest = row[axis] > row[longest] ? axis : longest;
      const Range part = team.part(row[longest]);
      Index<K> begin{}, end = row;
      begin[longest] = part.begin;
      end[longest] = part.end;
      compute({0, count}, begin, end, team, &meeting);
    });
  }

 private:
  // The groups of neighbouring rows in `part`.
  void compute(Range part, const Index<K>& begin, const Index<K>& end, Team team, Meeting* meeting) const {
    for (std::int64_t i = part.begin; i < part.end;) {
      Index<R - K> outer = unflatten(i, counts_);
      outer[across_] *= lanes;
      const std::int64_t left = across_ == R - K - 1 ? part.end - i : 1, rows = shape_[across_] - outer[across_];
      const auto one = [&](auto row) {
        program_(row);
        if (meeting != nullptr) team.barrier();  // the next row's first meeting uses the first bank again
      };
      const auto together = [&]<int W>() {
        if (rows < W || left < W / lanes) return false;
        one(LaneRow<R, K, W>(shape_, outer, across_, begin, end, team, meeting));
        i += W / lanes;
        return true;
      };
      if (together.template operator()<most_lanes>() || together.template operator()<most_lanes / 2>() ||
          together.template operator()<lanes>()) {
        continue;
      }
      for (; outer[across_] < shape_[across_]; ++outer[across_]) {
        one(Row<R, K>(shape_, outer, begin, end, team, meeting, false));
      }
      ++i;
    }
  }

  Index<R> shape_;
  const Program& program_;
  int across_;
  Index<R - K> counts_;
};

// Whether a program reads lines, which only a row by itself has.
template <class Program>
consteval bool reads_lines() {
  bool found = false;
  if constexpr (field_count<Program>() > 0) {
    using Fields = decltype(fields_of(std::declval<Program&>()));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      found = (is_lines<std::remove_cvref_t<std::tuple_element_t<I, Fields>>> || ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Fields>>{});
  }
  return found;
}

// The axis other than the last that some View lies along; -1 where there is none.
template <int R, class Functor>
int crossing_axis(const Functor& functor) {
  int found = -1;
  for_each_own_view(functor, [&](const auto& view) {
    if (found < 0) found = lying_axis<R>(view);
  });
  return found;
}

// The axis of neighbouring rows that the Views lie along; -1 where there is none, or some of them lie along the rows.
template <int K, int R, class Program>
int axis_of_neighbours(const Index<R>& shape, const Program& program) {
  const int across = crossing_axis<R>(program);
  if (across < 0 || across >= R - K || shape[across] < lanes_of<float>) return -1;
  bool along = false;
  for_each_own_view(program, [&](const auto& view) {
    if constexpr (std::remove_cvref_t<decltype(view)>::rank == R) {
      along = along || (view.stride(R - 1) == 1 && view.extent(R - 1) > 1 && view.stride(across) != 0);
    }
  });
  return along ? -1 : across;
}

// rows() where Views may lie across: computes all, and returns true; or false where rows lie along memory, or have few
// neighbours.
template <int K, int R, class Program>
bool rows_in_columns(const Index<R>& shape, const Program& program, Stream stream) {
  if constexpr (R == K || reads_lines<Program>()) {
    return false;
  } else {
    const int across = axis_of_neighbours<K>(shape, program);
    if (across < 0) return false;
    if (element_count(first_axes<R - K>(shape)) == 0) return true;
    RowsAcross<K, R, Program>(shape, program, across)(stream);
    return true;
  }
}

}  // namespace kgen::cpu
