// Row programs on the CPU. A thread computes whole rows; where rows are few and long, all threads compute each row
// together, and meet at its reductions.
#pragma once

#include <cstddef>
#include <vector>

#include "kgen/cpu/caches.hpp"
#include "kgen/cpu/elementwise.hpp"
#include "kgen/cpu/known_line.hpp"
#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/cpu/streaming.hpp"
#include "kgen/index.hpp"
#include "kgen/row_expression.hpp"
#include "kgen/vec.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// ---- lazy rows: positions are those of the row's axes ---------------------------------------------------------------

template <class T, int K>
struct RowLoad {
  static constexpr int size = 1;
  View<T, K> view;

  template <int W>
  KGEN_FN auto value(const Index<K>& at) const {
    return view.template load<W>(at);
  }
};

template <class A, int K>
using lane_t = row_lane_t<A, 1, Index<K>>;

// ---- reductions -----------------------------------------------------------------------------------------------------

// What one pass has accumulated: four registers, so that one addition does not wait for the one before, and the tail.
template <class Reduction, class T>
struct Accumulators {
  static constexpr int width = lanes_of<float>;
  using Wide = partial_t<Reduction, T, width>;
  using Single = partial_t<Reduction, T, 1>;
  Wide wide[4];
  Single tail;

  KGEN_FN Accumulators()
      : Accumulators(Reduction::template identity<T, width>(), Reduction::template identity<T, 1>()) {}
  KGEN_FN Accumulators(const Wide& wide_start, const Single& tail_start)
      : wide{wide_start, wide_start, wide_start, wide_start}, tail(tail_start) {}

  // Lanes `begin` to `end` of the last axis of `row`, the first of which is element `first` of the row.
  template <class A, int K>
  KGEN_FN void add(const A& row, Index<K> at, std::int64_t first, std::int64_t begin, std::int64_t end) {
    std::int64_t& i = at[K - 1] = begin;
    first -= begin;
    for (; i + 4 * width <= end;) {
      for (int u = 0; u < 4; ++u, i += width) {
        accumulate<Reduction>(wide[u], spread<T, width>(row_value<width>(row, at)), first + i);
      }
    }
    for (; i + width <= end; i += width) {
      accumulate<Reduction>(wide[0], spread<T, width>(row_value<width>(row, at)), first + i);
    }
    for (; i < end; ++i) accumulate<Reduction>(tail, spread<T, 1>(row_value<1>(row, at)), first + i);
  }
  KGEN_FN Single total() const {
    const Wide all = Reduction::combine(Reduction::combine(wide[0], wide[1]), Reduction::combine(wide[2], wide[3]));
    return Reduction::combine(collapse<Reduction, width>(all), tail);
  }
};

// What a thread is to find near when it comes to it, asked for while it computes a row from what it has read, as memory
// stood still then: the operands' lines of the row that comes next (8x1024x1024 of softmax with scale and mask, on one
// thread of a Zen 5 3840 to 3150 us, on two 1965 to 1670; all lines at once, as a row is begun, made it 4420 and 2380),
// and the line of this row's result.
class ComingLines {
 public:
  // Of so many bytes: shorter ones come by themselves, longer ones would drive out what is computed from.
  static bool pays(std::int64_t bytes) { return bytes >= 512 && bytes <= caches().second / 8; }

  template <class T>
  KGEN_FN void add(const T* row) {
    if (count_ == most) return;
    rows_[count_] = reinterpret_cast<const char*>(row);
    sizes_[count_++] = sizeof(T);
  }
  template <class T>
  KGEN_FN void add_result(T* row) {
    result_ = reinterpret_cast<const char*>(row);
    result_size_ = sizeof(T);
  }
  KGEN_FN void fetch(std::int64_t element) const {
    if (result_ != nullptr) __builtin_prefetch(result_ + element * result_size_, 1, 3);
    if (count_ > 0) __builtin_prefetch(rows_[0] + element * sizes_[0], 0, 2);
    if (count_ > 1) __builtin_prefetch(rows_[1] + element * sizes_[1], 0, 2);
  }

 private:
  static constexpr int most = 2;
  const char* rows_[most]{};
  std::int64_t sizes_[most]{};  // of elements
  int count_ = 0;
  const char* result_ = nullptr;
  std::int64_t result_size_ = 0;
};

// Where the threads that share a row leave their partial results. Two banks take turns, so that one barrier a reduction
// is enough: nobody writes to a bank again before everybody has left the reduction that read it.
class Meeting {
 public:
  static constexpr std::size_t line = 64;

  // `bytes`: of the largest partial result.
  explicit Meeting(int threads, std::size_t bytes = line)
      : lines_((bytes + line - 1) / line), slots_(2 * lines_ * static_cast<std::size_t>(threads)), threads_(threads) {}

  template <class Partial>
  std::byte* place(int bank, int rank) {
    assert(sizeof(Partial) <= lines_ * line);
    return slots_[static_cast<std::size_t>(bank * threads_ + rank) * lines_].bytes;
  }

 private:
  struct alignas(line) Line {
    std::byte bytes[line];
  };
  std::size_t lines_;
  std::vector<Line> slots_;
  int threads_;
};

// ---- the row --------------------------------------------------------------------------------------------------------

// `Length`, where it is not 0, is that of the row: a line of which all Views lie dense.
template <int R, int K, std::int64_t Length = 0>
class Row {
 public:
  static constexpr int rank = R;
  // The lanes of a row.
  template <class A>
  using lane_type = lane_t<A, K>;

  // The row at `outer`, of which this thread computes the box from `begin` to `end`. `meeting` is null where one thread
  // computes the whole row. `streams`: what is stored goes past the caches.
  Row(const Index<R>& shape, const Index<R - K>& outer, const Index<K>& begin, const Index<K>& end, Team team,
      Meeting* meeting, bool streams)
      : shape_(shape), outer_(outer), begin_(begin), end_(end), team_(team), meeting_(meeting), streams_(streams) {}

  // The row at `outer`, of a known length, computed by one thread. The first `kept_in_lines` that are kept are in
  // `lines`, of kept_bytes each.
  Row(const Index<R>& shape, const Index<R - K>& outer, std::byte* lines) requires(Length > 0)
      : Row(shape, outer, Index<K>{}, last_axes<K>(shape), Team{}, nullptr, false) {
    lines_ = lines;
  }
  // Memory for these, of this thread.
  static std::byte* lines() { return scratch<std::byte>(line_slot, kept_in_lines * kept_bytes); }

  // Of the loop: the row's axes are the last.
  KGEN_FN const Index<R>& shape() const { return shape_; }

  // Says where a result will be written: of several, the last one is asked for.
  template <class T>
  KGEN_FN void expect(const View<T, R>& result) {
    const bool pays = ComingLines::pays(shape_[R - 1] * static_cast<std::int64_t>(sizeof(T)));
    const bool is_line = result.stride(R - 1) == 1 && result.extent(R - 1) == shape_[R - 1];
    if (pays && is_line && !streams_) coming_.add_result(row_of<T>(result).data());
  }

  template <class T>
  KGEN_FN auto load(const View<T, R>& view) {
    assert(view.shape() == shape_);
    if constexpr (Length > 0) {
      return DenseLoad<const T>{row_of<const T>(view).data()};
    } else {
      if constexpr (K == 1 && R > K && !is_packed<T>) {
        const bool pays = ComingLines::pays(shape_[R - 1] * static_cast<std::int64_t>(sizeof(T)));
        if (pays && meeting_ == nullptr && view.stride(R - 1) == 1)
          coming_.add(row_of<const T>(view, next_outer()).data());
      }
      return RowLoad<const T, K>{row_of<const T>(view)};
    }
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
    if constexpr (Length > 0) {
      return Reduction::finish(reduce_line<Reduction, Length>(row), Length);
    } else {
      return reduce_parts<Reduction>(row);
    }
  }

  template <class A>
  KGEN_FN auto keep(const A& row) {
    if constexpr (Scalar<A>) {
      return row;
    } else if constexpr (Length > 0) {
      using T = lane_t<A, K>;
      std::byte* const line =
          kept_ < kept_in_lines ? lines_ + kept_ * kept_bytes : scratch<std::byte>(slot(), kept_bytes);
      ++kept_;
      T* const kept = reinterpret_cast<T*>(line);
      write_line<Length>(row, KeepLine<T>{kept});
      return KeptLine<T>{kept};
    } else {
      using T = lane_t<A, K>;
      const Index<K> extents = last_axes<K>(shape_);
      const View<T, K> kept(scratch<T>(slot(), element_count(extents)), extents);
      ++kept_;
      write(kept, row, false, has_read_);
      has_read_ = true;
      return RowLoad<const T, K>{kept};
    }
  }

  template <class T, class A>
  KGEN_FN void store(const View<T, R>& view, const A& row) {
    assert(view.shape() == shape_);
    const View<T, K> to = row_of<T>(view);
    if constexpr (Length > 0) {
      write_line<Length>(row, DenseStore<T>{to.data()});
    } else {
      write(to, row, streams_ && view.stride(R - 1) == 1);
    }
  }
  template <class T, Scalar S>
  KGEN_FN void store_scalar(const View<T, R>& view, S scalar) {
    if (team_.rank == 0) view.store(join(outer_, Index<K>{}), Vec<S, 1>(scalar));
  }

 private:
  template <class Reduction, class A>
  KGEN_FN auto reduce_parts(const A& row) {
    using T = lane_t<A, K>;
    // Additions in sequence lose accuracy, and what is read twice should still be in the first-level cache: this many
    // elements make one partial sum.
    constexpr std::int64_t most = TwoPhase<Reduction> ? 4096 : 16384;
    auto total = Reduction::template identity<T, 1>();
    Accumulators<Reduction, T> accumulators;
    std::int64_t pending = 0;
    const Index<K> extents = last_axes<K>(shape_);
    for_each_run([&](const Index<K>& at) KGEN_LAMBDA {
      const std::int64_t line = flatten(at, extents) - at[K - 1];
      for (std::int64_t i = begin_[K - 1]; i < end_[K - 1]; i += most) {
        const std::int64_t stop = std::min(i + most, end_[K - 1]);
        if (TwoPhase<Reduction> || pending >= most) {
          total = Reduction::combine(total, accumulators.total());
          accumulators = started<Reduction, T>(row, at, line + i, i, stop);
          pending = 0;
        }
        accumulators.add(row, at, line + i, i, stop);
        pending += stop - i;
      }
    });
    total = Reduction::combine(total, accumulators.total());
    has_read_ = true;
    return Reduction::finish(over_team<Reduction>(total), element_count(extents));
  }

  template <class T, class U>
  KGEN_FN View<T, K> row_of(const View<U, R>& view) const {
    return row_of<T>(view, outer_);
  }
  template <class T, class U>
  KGEN_FN View<T, K> row_of(const View<U, R>& view, const Index<R - K>& outer) const {
    std::int64_t offset = 0;
    for (int axis = 0; axis < R - K; ++axis) offset += outer[axis] * view.stride(axis);
    const Index<K> strides = Length > 0 ? last_stride_of_one() : last_axes<K>(view.strides());
    return View<T, K>(view.data() + offset, last_axes<K>(shape_), strides);
  }

  // Behind the last row, the first.
  KGEN_FN Index<R - K> next_outer() const {
    Index<R - K> next = outer_;
    advance(next, R - K, Index<R - K>{}, first_axes<R - K>(shape_));
    return next;
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

  template <class T, class A>
  KGEN_FN void write(const View<T, K>& to, const A& row, bool streams = false, bool fetches = false) const {
    using Lane = lane_t<A, K>;
    constexpr bool may_stream = !is_packed<T>;
    for_each_run([&](const Index<K>& run) KGEN_LAMBDA {
      const std::int64_t all = end_[K - 1];
      for (std::int64_t begin = begin_[K - 1], end; begin < all; begin = end) {
        View<T, K> target = to;
        T* buffer = nullptr;
        end = all;
        if constexpr (may_stream) {
          if (streams) {
            end = std::min(begin + stretch, all);
            buffer = scratch<T>(stream_slot, stretch);
            target = View<T, K>(buffer - begin, Index<K>{}, last_stride_of_one());
          }
        }
        const auto step = [&]<int W>(std::int64_t i) KGEN_LAMBDA {
          Index<K> at = run;
          at[K - 1] = i;
          target.store(at, spread<Lane, W>(row_value<W>(row, at)));
          if (W > 1 && fetches) coming_.fetch(i);
        };
        for_each_lane(begin, end, step);
        if constexpr (may_stream) {
          if (streams) {
            Index<K> at = run;
            at[K - 1] = begin;
            stream_bytes(to.data() + element_offset(to.strides(), at), buffer, sizeof(T) * (end - begin));
          }
        }
      }
    });
  }
  static constexpr Index<K> last_stride_of_one() {
    Index<K> strides{};
    strides[K - 1] = 1;
    return strides;
  }

  // Accumulators for lanes `begin` to `end` of a run.
  template <class Reduction, class T, class A>
  KGEN_FN Accumulators<Reduction, T> started(const A& row, const Index<K>& at, std::int64_t first, std::int64_t begin,
                                             std::int64_t end) const {
    if constexpr (TwoPhase<Reduction>) {
      Accumulators<typename Reduction::First, T> before;
      before.add(row, at, first, begin, end);
      const T found = before.total().data;
      return {Reduction::template prepared<T, Accumulators<Reduction, T>::width>(found),
              Reduction::template prepared<T, 1>(found)};
    } else {
      return {};
    }
  }

  // The partial results of all threads that share the row, combined by each of them in the same order.
  template <class Reduction, class Partial>
  KGEN_FN Partial over_team(const Partial& mine) {
    if (meeting_ == nullptr) return mine;
    const int bank = static_cast<int>(meetings_++ % 2);
    std::memcpy(meeting_->place<Partial>(bank, team_.rank), &mine, sizeof(mine));
    team_.barrier();
    Partial total, other;
    std::memcpy(&total, meeting_->place<Partial>(bank, 0), sizeof(total));
    for (int rank = 1; rank < team_.size; ++rank) {
      std::memcpy(&other, meeting_->place<Partial>(bank, rank), sizeof(other));
      total = Reduction::combine(total, other);
    }
    return total;
  }

  // Slots of scratch: of what goes past the caches, or of all lines; and behind it one for each row that is kept.
  static constexpr std::size_t stream_slot = 0, line_slot = 0;
  static constexpr std::size_t kept_in_lines = 32;
  static constexpr std::size_t kept_bytes = KnownLine<Length>::kept_bytes;
  KGEN_FN std::size_t slot() const { return 1 + kept_; }

  Index<R> shape_;
  Index<R - K> outer_;
  Index<K> begin_, end_;
  Team team_;
  Meeting* meeting_;
  bool streams_;
  bool has_read_ = false;  // what it computes from was read before
  ComingLines coming_;
  std::size_t kept_ = 0;
  std::byte* lines_ = nullptr;
  unsigned meetings_ = 0;
};

// ---- the loop over rows ---------------------------------------------------------------------------------------------

// Each row is shared by all threads of the team.
template <int K, int R, class Program>
void shared_rows(const Index<R>& shape, const Program& program, int threads, bool streams) {
  const Index<R - K> outer_shape = first_axes<R - K>(shape);
  const Index<K> row_shape = last_axes<K>(shape);
  int longest = 0;
  for (int axis = 1; axis < K; ++axis) longest = row_shape[axis] > row_shape[longest] ? axis : longest;
  Meeting meeting(threads);
  parallel(threads, [&](Team team) {
    const Range part = team.part(row_shape[longest], longest == K - 1 ? 64 : 1);
    Index<K> begin{}, end = row_shape;
    begin[longest] = part.begin;
    end[longest] = part.end;
    for (std::int64_t i = 0; i < element_count(outer_shape); ++i) {
      Row<R, K> row(shape, unflatten(i, outer_shape), begin, end, team, &meeting, streams);
      program(row);
      team.barrier();  // the next row's first meeting uses the first bank again
    }
    if (streams) finish_streaming();
  });
}

// Lines up to so many elements are computed by code that knows their length, and that they lie dense: to find a line
// and the way through its loops takes longer than to compute it. rms_norm of 7707 lines of 16 bf16 took 427 instructions
// a line with AVX2, most of them for other strides (CPU.md, "Short lines").
inline constexpr std::int64_t longest_known = 256;

// Whether every View of the program lies dense along the last axis.
template <int R, class Program>
bool has_dense_lines(const Program& program) {
  bool dense = true;
  for_each_own_view(program, [&](const auto& view) {
    using V = std::remove_cvref_t<decltype(view)>;
    if constexpr (V::rank != R || is_packed<std::remove_const_t<typename V::element_type>>) {
      dense = false;
    } else {
      dense = dense && view.stride(R - 1) == 1;
    }
  });
  return dense;
}

// Rows that one thread computes.
template <int K, int R, class Program>
void own_rows(const Index<R>& shape, const Program& program, const Range& part, bool streams) {
  const Index<R - K> outer_shape = first_axes<R - K>(shape);
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    Row<R, K> row(shape, unflatten(i, outer_shape), Index<K>{}, last_axes<K>(shape), Team{}, nullptr, streams);
    if constexpr (K == 1) {
      for_each_own_view(program, [&]<class T, int R2>(const View<T, R2>& view) {
        if constexpr (R2 == R && !std::is_const_v<T> && !is_packed<T>) row.expect(view);
      });
    }
    program(row);
  }
}

// Bytes from a line of a View to the next.
template <class T, int R>
std::int64_t line_pitch(const View<T, R>& view) {
  return R < 2 ? 0 : view.stride(R < 2 ? 0 : R - 2) * static_cast<std::int64_t>(sizeof(T));
}

// Whether lines are better computed from the last to the first. A load that agrees with an earlier store in the last 12
// bits of its address, and in what little the processor makes of the others, waits until that store is done. Where a
// result begins a line behind an operand, modulo 4096 bytes, each line's loads may so wait for the stores of the line
// before, and no line is computed while another is: 35 ns a line. Backwards, what is stored has the bits of what was
// loaded long ago. memmove chooses its direction for the same reason. CPU.md, "Loads that meet stores", has figures.
template <class Program>
bool goes_backwards(const Program& program) {
  constexpr std::uintptr_t compared = 4096;
  std::uintptr_t up = compared, down = compared;  // bytes from an operand to the nearest result, either way
  for_each_own_view(program, [&]<class T, int R>(const View<T, R>& result) {
    if constexpr (!std::is_const_v<T> && !is_packed<T>) {
      for_each_own_view(program, [&]<class U, int R2>(const View<U, R2>& operand) {
        if constexpr (std::is_const_v<U> && !is_packed<std::remove_const_t<U>>) {
          const auto to = reinterpret_cast<std::uintptr_t>(result.data());
          const auto distance = (to - reinterpret_cast<std::uintptr_t>(operand.data())) % compared;
          // Of lines that are not as far apart the distance changes from one to the next.
          if (distance == 0 || line_pitch(operand) != line_pitch(result)) return;
          up = std::min(up, distance);
          down = std::min(down, compared - distance);
        }
      });
    }
  });
  return up < down;
}

// Rows that one thread computes, of lines of `Length` elements of which all Views lie dense.
template <std::int64_t Length, int R, class Program>
void own_lines(Index<R> shape, const Program& program, const Range& part) {
  using Line = Row<R, 1, Length>;
  shape[R - 1] = Length;
  const Index<R - 1> outer_shape = first_axes<R - 1>(shape);
  std::byte* const lines = Line::lines();
  const bool backwards = goes_backwards(program);
  const std::int64_t step = backwards ? -1 : 1;
  std::int64_t i = backwards ? part.end - 1 : part.begin;
  for (std::int64_t left = part.end - part.begin; left > 0; --left, i += step) {
    Line line(shape, unflatten(i, outer_shape), lines);
    program(line);
  }
}

// `Length`, where it is not 0, is that of every row.
template <int K, std::int64_t Length = 0, int R, class Program>
void rows(const Index<R>& shape, const Program& program, Stream stream) {
  const Index<R - K> outer_shape = first_axes<R - K>(shape);
  const Index<K> row_shape = last_axes<K>(shape);
  const std::int64_t outer = element_count(outer_shape);
  const std::int64_t length = element_count(row_shape);
  if (outer == 0) return;
  const int threads = threads_for(stream, outer * std::max<std::int64_t>(length, 1));
  const bool streams = row_shape[K - 1] >= least_streamed && streams_results(program);
  const bool uneven = outer < 4 * threads && outer % threads != 0;
  if (threads > 1 && uneven && length >= work_worth_a_thread) return shared_rows<K>(shape, program, threads, streams);
  constexpr std::int64_t known = K == 1 && Length <= longest_known ? Length : 0;
  const bool knows = known > 0 && !streams && has_dense_lines<R>(program);
  parallel(static_cast<int>(std::min<std::int64_t>(threads, outer)), [&](Team team) {
    const Range part = team.part(outer);
    if constexpr (known > 0) {
      if (knows) return own_lines<known>(shape, program, part);
    }
    own_rows<K>(shape, program, part, streams);
    if (streams) finish_streaming();
  });
}

}  // namespace kgen::cpu
