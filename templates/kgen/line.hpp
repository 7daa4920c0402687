// Lines: memory that a functor reads where it likes along one axis, such as the table that an index is looked up in.
// Along the other axes it is read at the functor's own position.
//
//   struct Embed {
//     Lines<const bf16, 2, 0> weight;        // [V, D], along axis 0
//     View<const std::int64_t, 2> tokens;    // [N, D], broadcast
//     View<bf16, 2> y;                       // [N, D]
//     template <int W>
//     KGEN_FN void operator()(Index<2> at) const {
//       y.store(at, Gather::apply(weight.load<W>(at), tokens.load<W>(at)));
//     }
//   };
#pragma once

#include "kgen/view.hpp"

namespace kgen {

// The lines through W positions that are neighbours along the last axis; W = 0: one line, which every lane shares.
template <class T, int W>
class Line {
 public:
  using element_type = T;
  using lane_type = compute_t<T>;
  static constexpr int width = W;

  Line() = default;
  // Line i begins at data + i * lane_step; its elements are `step` apart.
  KGEN_FN constexpr Line(pointer_to<const T> data, std::int64_t extent, std::int64_t step, std::int64_t lane_step)
      : data_(data), extent_(extent), step_(step), lane_step_(lane_step) {}

  // How many elements each line has.
  KGEN_FN constexpr std::int64_t extent() const { return extent_; }
  // How many elements of memory a line's own lie among.
  KGEN_FN constexpr std::int64_t reach() const { return extent_ * (step_ < 0 ? -step_ : step_); }
  // Where element `index` of all lines lies, one behind the other; null: there is none, or they do not lie so.
  KGEN_FN constexpr pointer_to<const T> address(std::int64_t index) const {
    return lane_step_ == 1 && has(index) ? data_ + index * step_ : nullptr;
  }

  // Element `index` of each line; where the index is a vector, of line i that of lane i. Where there is none, it is
  // `otherwise`: nothing outside is ever read. A scalar where the index is one and all lanes share the line.
  template <class I>
  KGEN_FN auto at(const I& index, lane_type otherwise) const {
    constexpr int width = common_width<I>, lanes = width > W ? width : W;
    if constexpr (lanes == 0) {
      return has(index) ? element(data_ + index * step_) : otherwise;
    } else if constexpr (width == 0) {
      if (lane_step_ == 1) return run<lanes>(index, otherwise);
      return each(Vec<I, lanes>(index), otherwise);
    } else if constexpr (lanes == W && W > lanes_of<lane_type>) {
      return concatenate(half(0).at(low_half(index), otherwise), half(W / 2).at(high_half(index), otherwise));
    } else {
      return each(index, otherwise);
    }
  }

 private:
  // Half of the lines, from line `first` on.
  KGEN_FN constexpr Line<T, W / 2> half(int first) const {
    return {data_ + first * lane_step_, extent_, step_, lane_step_};
  }
  KGEN_FN constexpr bool has(std::int64_t index) const { return index >= 0 && index < extent_; }

  KGEN_FN static lane_type element(const pointer_to<const T>& from) {
#if defined(KGEN_GPU)
    return gpu::load_run<1>(from, 0, gpu::Access{}).lanes().data;
#else
    return load_elements<1>(from).data;
#endif
  }

  // The same element of neighbouring lines that are neighbours in memory.
  template <int N>
  KGEN_FN Vec<lane_type, N> run(std::int64_t index, lane_type otherwise) const {
    if (!has(index)) return Vec<lane_type, N>(otherwise);
    const pointer_to<const T> from = data_ + index * step_;
#if defined(KGEN_GPU)
    const gpu::Access access{gpu::is_aligned<N>(from)};
    return gpu::load_run<N>(from, 1, access).lanes();
#else
    return load_elements<N>(from);
#endif
  }

  template <class I, int N>
  KGEN_FN Vec<lane_type, N> each(const Vec<I, N>& index, lane_type otherwise) const {
    lane_type lanes[N];
    KGEN_UNROLL
    for (int i = 0; i < N; ++i) {
      lanes[i] = has(index[i]) ? element(data_ + i * lane_step_ + index[i] * step_) : otherwise;
    }
    return load_lanes<N>(lanes);
  }

  pointer_to<const T> data_;
  std::int64_t extent_, step_, lane_step_;
};

// The lines along an axis of a View. An axis of extent 1 repeats, whatever the functor's position along it.
template <class T, int R, int Axis>
class Lines {
  static_assert(Axis >= 0 && Axis < R);

 public:
  using element_type = std::remove_const_t<T>;

  Lines() = default;
  KGEN_FN constexpr Lines(const View<T, R>& view) : data_(view.data()), extent_(view.extent(Axis)) {
    for (int axis = 0; axis < R; ++axis) {
      strides_[axis] = axis != Axis && view.extent(axis) == 1 ? 0 : view.stride(axis);
    }
  }

  // Whether neighbours along the last axis are neighbours in memory; and the same Lines, of which the compiler knows
  // it.
  KGEN_FN constexpr bool lie_side_by_side() const { return strides_[R - 1] == 1; }
  KGEN_FN constexpr Lines side_by_side() const {
    Lines known = *this;
    known.strides_[R - 1] = 1;
    return known;
  }

  // The lines through W positions along the last axis, from `at` on; 0: the line through `at`, for all lanes.
  template <int W>
  KGEN_FN constexpr Line<element_type, W> load(const Index<R>& at) const {
    std::int64_t offset = 0;
    KGEN_UNROLL
    for (int axis = 0; axis < R; ++axis) offset += axis == Axis ? 0 : at[axis] * strides_[axis];
    return {data_ + offset, extent_, strides_[Axis], Axis == R - 1 || W == 0 ? 0 : strides_[R - 1]};
  }

 private:
  pointer_to<T> data_ = nullptr;
  std::int64_t extent_ = 0;
  Index<R> strides_{};
};

template <class S>
inline constexpr bool is_lines = false;
template <class T, int R, int Axis>
inline constexpr bool is_lines<Lines<T, R, Axis>> = true;

// What Lines give along a row, at positions as its target counts them: position_of(at) is one within the row.
template <class T, int R, int K, int Axis>
struct RowLines {
  static constexpr int size = 1;
  Lines<T, R, Axis> lines;
  Index<R - K> outer;

  template <int W, class At>
  KGEN_FN auto value(const At& at) const {
    return lines.template load<W>(join(outer, position_of(at)));
  }
};
template <int K>
KGEN_FN constexpr Index<K> position_of(const Index<K>& at) {
  return at;
}

}  // namespace kgen
