// View<T, R>: a tensor of R axes in memory that it does not own: where it begins, its extents, and the distance between
// neighbours along each axis. Everything that only moves indices is a new View of the same memory.
#pragma once

#include <cassert>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kgen/convert.hpp"
#include "kgen/index.hpp"
#include "kgen/vec.hpp"

#if defined(KGEN_GPU)
#include "kgen/gpu/access.hpp"
#endif

namespace kgen {

// The strides, in elements, of dense row-major memory.
template <int R>
KGEN_FN constexpr Index<R> dense_strides(const Index<R>& extents) {
  Index<R> strides{};
  std::int64_t stride = 1;
  for (int axis = R - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= extents[axis];
  }
  return strides;
}

template <class T, int R>
class View {
 public:
  using element_type = T;
  using lane_type = compute_t<T>;
  static constexpr int rank = R;

  View() = default;
  KGEN_FN constexpr View(pointer_to<T> data, Index<R> extents, Index<R> strides)
      : data_(data), extents_(extents), strides_(strides) {}
  // Dense, row-major.
  KGEN_FN constexpr View(pointer_to<T> data, Index<R> extents) : View(data, extents, dense_strides(extents)) {}
  // View<T, R> is a View<const T, R> too.
  template <class U>
  requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>) KGEN_FN constexpr View(const View<U, R>& other)
      : View(other.data(), other.shape(), other.strides()) {
#if defined(KGEN_GPU)
    access_.lasting = other.access().lasting;
#endif
  }

  KGEN_FN constexpr pointer_to<T> data() const { return data_; }
  KGEN_FN constexpr Index<R> shape() const { return extents_; }
  KGEN_FN constexpr Index<R> strides() const { return strides_; }
  KGEN_FN constexpr std::int64_t extent(int axis) const { return extents_[axis]; }
  KGEN_FN constexpr std::int64_t stride(int axis) const { return strides_[axis]; }
  // True where the elements lie in row-major order without gaps.
  KGEN_FN constexpr bool is_dense() const {
    const Index<R> dense = dense_strides(extents_);
    for (int axis = 0; axis < R; ++axis) {
      if (extents_[axis] != 1 && strides_[axis] != dense[axis]) return element_count(extents_) == 0;
    }
    return true;
  }

  // ---- elements: W of them along the last axis, from position `at`

#if defined(KGEN_GPU)
  template <int W>
  KGEN_FN Vec<lane_type, W> load(Index<R> at) const {
    return elements<W>(at).lanes();
  }
  // The same as they are stored.
  template <int W>
  KGEN_FN gpu::Elements<std::remove_const_t<T>, W> elements(Index<R> at) const {
    std::int64_t step = 0;
    if constexpr (R > 0) step = strides_[R - 1];
    if constexpr (W == 8 && sizeof(T) == 2) {
      if (access_.turned) return gpu::load_turned<std::remove_const_t<T>>(address(at), step);
    }
    return gpu::load_run<W, std::remove_const_t<T>>(address(at), step, access_);
  }
  template <class U, int W>
  requires(!std::is_const_v<T>) KGEN_FN void store(Index<R> at, const Vec<U, W>& lanes) const {
    static_assert(W == 1 || R > 0, "a scalar holds one lane");
    std::int64_t step = 0;
    if constexpr (R > 0) step = strides_[R - 1];
    gpu::store_run(address(at), step, access_, lanes);
  }

  KGEN_FN constexpr gpu::Access access() const { return access_; }
  KGEN_FN constexpr View with_access(gpu::Access access) const {
    View result = *this;
    result.access_ = access;
    return result;
  }
#else
  template <int W>
  KGEN_FN Vec<lane_type, W> load(Index<R> at) const {
    const pointer_to<const T> from = address(at);
    if constexpr (W == 1) {
      return load_elements<1>(from);
    } else if constexpr (R == 0) {
      return Vec<lane_type, W>(load_elements<1>(from).data);
    } else {
      const std::int64_t step = strides_[R - 1];
      if (step == 1) return load_elements<W>(from);
      if (step == 0) return Vec<lane_type, W>(load_elements<1>(from).data);
      return load_apart<W>(from, step);
    }
  }

  // Converts to T: rounds to nearest even, saturates to finite (f8), truncates (to integers), compares with 0 (to
  // bool).
  template <class U, int W>
  requires(!std::is_const_v<T>) KGEN_FN void store(Index<R> at, const Vec<U, W>& lanes) const {
    const pointer_to<T> to = address(at);
    if constexpr (W == 1 || R == 0) {
      static_assert(W == 1, "a scalar holds one lane");
      store_elements(to, lanes);
    } else {
      const std::int64_t step = strides_[R - 1];
      if (step == 1) return store_elements(to, lanes);
      if constexpr (is_packed<T>) {
        for (int i = 0; i < W; ++i) store_elements(to + i * step, Vec<U, 1>(lanes[i]));
      } else {
        T elements[W];
        store_elements(elements, lanes);
        for (int i = 0; i < W; ++i) to[i * step] = elements[i];
      }
    }
  }
#endif
  // The same value W times.
  template <int W, Scalar S>
  requires(!std::is_const_v<T>) KGEN_FN void store(Index<R> at, S scalar) const { store(at, Vec<S, W>(scalar)); }

  // The same, `lasting` where nothing writes that memory from the load of a model on: a kernel may read it, and all
  // views of it, before what is ahead of the kernel on its stream is done.
  KGEN_FN constexpr View with_lasting([[maybe_unused]] bool lasting) const {
    View result = *this;
#if defined(KGEN_GPU)
    result.access_.lasting = lasting;
#endif
    return result;
  }

  // ---- views of the same memory

  // Position `index` of an axis, which disappears.
  template <int Axis>
  KGEN_FN constexpr View<T, R - 1> select(std::int64_t index) const {
    static_assert(Axis >= 0 && Axis < R);
    assert(index >= 0 && index < extents_[Axis]);
    return seen_as(data_ + index * strides_[Axis], without<Axis>(extents_), without<Axis>(strides_));
  }
  // Positions begin, begin + step, ... of an axis: `length` of them.
  template <int Axis>
  KGEN_FN constexpr View slice(std::int64_t begin, std::int64_t length, std::int64_t step = 1) const {
    static_assert(Axis >= 0 && Axis < R);
    assert(step >= 1 && length >= 0 && begin >= 0 && begin <= extents_[Axis]);
    assert(length == 0 || begin + (length - 1) * step < extents_[Axis]);
    View result = *this;
    result.data_ += length == 0 ? 0 : begin * strides_[Axis];
    result.extents_[Axis] = length;
    result.strides_[Axis] *= step;
    return result;
  }
  // Axis i of the result is axis Axes[i] of this.
  template <int... Axes>
  KGEN_FN constexpr View<T, R> permute() const {
    static_assert(sizeof...(Axes) == R && ((1u << Axes) + ... + 0u) == (1u << R) - 1, "every axis once");
    return seen_as(data_, Index<R>{extents_[Axes]...}, Index<R>{strides_[Axes]...});
  }
  // Axes are aligned at the last; those of extent 1, and those that are missing, repeat.
  template <int R2>
  KGEN_FN constexpr View<T, R2> broadcast_to(Index<R2> shape) const {
    static_assert(R2 >= R);
    Index<R2> strides{};
    for (int axis = 0; axis < R; ++axis) {
      const int target = R2 - R + axis;
      assert(extents_[axis] == shape[target] || extents_[axis] == 1);
      strides[target] = extents_[axis] == shape[target] ? strides_[axis] : 0;
    }
    return seen_as(data_, shape, strides);
  }
  // The same elements in row-major order under other extents. Each new axis must lie within axes whose strides fit
  // together, as those of dense memory all do.
  template <int R2>
  KGEN_FN constexpr View<T, R2> reshape(Index<R2> shape) const {
    assert(element_count(shape) == element_count(extents_));
    if (is_dense()) return seen_as(data_, shape, dense_strides(shape));
    Index<R2> strides = dense_strides(shape);
    int target = R2 - 1;
    for (int axis = R - 1; axis >= 0;) {
      std::int64_t run = extents_[axis];  // elements of the axes from `axis` on that can be walked as one
      std::int64_t stride = strides_[axis];
      for (--axis; axis >= 0 && (run == 1 || extents_[axis] == 1 || strides_[axis] == stride * run); --axis) {
        if (run == 1) stride = strides_[axis];
        run *= extents_[axis];
      }
      std::int64_t covered = 1;
      for (; covered < run; covered *= shape[target--]) {
        assert(target >= 0);
        strides[target] = stride * covered;
      }
      assert(covered == run);
    }
    return seen_as(data_, shape, strides);
  }
  // Axes First to Last as one. Their strides must fit together.
  template <int First, int Last>
  KGEN_FN constexpr View<T, R - (Last - First)> merge() const {
    static_assert(First >= 0 && First <= Last && Last < R);
    Index<R - (Last - First)> extents{}, strides{};
    for (int axis = 0; axis < First; ++axis) extents[axis] = extents_[axis], strides[axis] = strides_[axis];
    for (int axis = Last + 1; axis < R; ++axis) {
      extents[axis - (Last - First)] = extents_[axis];
      strides[axis - (Last - First)] = strides_[axis];
    }
    std::int64_t extent = 1, stride = 0;
    for (int axis = Last; axis >= First; --axis) {
      if (extents_[axis] != 1) {
        assert(extent == 0 || extents_[axis] == 0 || extent == 1 || strides_[axis] == stride * extent);
        if (extent == 1) stride = strides_[axis];
      }
      extent *= extents_[axis];
    }
    extents[First] = extent;
    strides[First] = stride;
    return seen_as(data_, extents, strides);
  }
  // A new axis of extent 1 before axis `Axis`.
  template <int Axis>
  KGEN_FN constexpr View<T, R + 1> unsqueeze() const {
    static_assert(Axis >= 0 && Axis <= R);
    Index<R + 1> extents{}, strides{};
    for (int axis = 0; axis <= R; ++axis) {
      extents[axis] = axis == Axis ? 1 : extents_[axis - (axis > Axis ? 1 : 0)];
      strides[axis] = axis == Axis ? 0 : strides_[axis - (axis > Axis ? 1 : 0)];
    }
    return seen_as(data_, extents, strides);
  }
  // Drops an axis of extent 1.
  template <int Axis>
  KGEN_FN constexpr View<T, R - 1> squeeze() const {
    assert(extents_[Axis] == 1);
    return seen_as(data_, without<Axis>(extents_), without<Axis>(strides_));
  }
  // An axis in reverse.
  template <int Axis>
  KGEN_FN constexpr View flip() const {
    View result = *this;
    if (extents_[Axis] > 0) result.data_ += (extents_[Axis] - 1) * strides_[Axis];
    result.strides_[Axis] = -strides_[Axis];
    return result;
  }

 private:
  // Another View of this one's memory.
  template <int R2>
  KGEN_FN constexpr View<T, R2> seen_as(pointer_to<T> data, const Index<R2>& extents, const Index<R2>& strides) const {
    const View<T, R2> view(data, extents, strides);
#if defined(KGEN_GPU)
    return view.with_access({.lasting = access_.lasting});
#else
    return view;
#endif
  }
#if !defined(KGEN_GPU)
  template <int W>
  KGEN_FN static Vec<lane_type, W> load_apart(const pointer_to<const T>& from, std::int64_t step) {
    if constexpr (is_packed<T>) {
      lane_type lanes[W];
      for (int i = 0; i < W; ++i) lanes[i] = load_elements<1>(from + i * step).data;
      return load_lanes<W>(lanes);
    } else {
      std::remove_const_t<T> elements[W];
      for (int i = 0; i < W; ++i) elements[i] = from[i * step];
      return load_elements<W>(elements);
    }
  }
#endif
  KGEN_FN constexpr pointer_to<T> address(const Index<R>& at) const {
    std::int64_t offset = 0;
    KGEN_UNROLL
    for (int axis = 0; axis < R; ++axis) offset += at[axis] * strides_[axis];
    return data_ + offset;
  }
  template <int Axis>
  KGEN_FN static constexpr Index<R - 1> without(const Index<R>& index) {
    Index<R - 1> result{};
    for (int axis = 0; axis < R - 1; ++axis) result[axis] = index[axis < Axis ? axis : axis + 1];
    return result;
  }

  pointer_to<T> data_ = nullptr;
  Index<R> extents_{};
  Index<R> strides_{};
#if defined(KGEN_GPU)
  gpu::Access access_{};
#endif
};

// Anything that can be read as a tensor of R axes: a View, or the prologue that stands before one.
template <class S, int R>
concept Source = requires(const S& source, Index<R> at) {
  source.template load<1>(at);
  { source.shape() } -> std::convertible_to<Index<R>>;
};

// Anything that takes the results of a kernel, W lanes along the last axis at a time: a View that can be written, or an
// epilogue, called as epilogue(at, lanes).
template <class S, class T, int R>
concept Sink = requires(const S& sink, Index<R> at, Vec<T, 1> lanes) {
  sink(at, lanes);
}
|| requires(const S& sink, Index<R> at, Vec<T, 1> lanes) { sink.store(at, lanes); };

template <class S, int R, class T, int W>
KGEN_FN void store_to(const S& sink, const Index<R>& at, const Vec<T, W>& lanes) {
  if constexpr (requires { sink.store(at, lanes); }) {
    sink.store(at, lanes);
  } else {
    sink(at, lanes);
  }
}

namespace detail {
template <class T, std::size_t>
using one_lane = Vec<T, 1>;
template <class S, class T, int R, std::size_t... I>
constexpr bool takes_jointly(std::index_sequence<I...>) {
  return requires(const S& sink, Index<R> at, one_lane<T, I>... lanes) { sink(at, lanes...); };
}
}  // namespace detail

// Anything that takes `Count` results of a kernel at one position, in the order of the operator's results: an epilogue
// that needs several of them, called as epilogue(at, lanes of the first, lanes of the second, ...), or an Each.
template <class S, class T, int Count, int R>
concept JointSink = detail::takes_jointly<S, T, R>(std::make_index_sequence<Count>{});

template <class S, int R, class T, int W, class... Others>
requires(sizeof...(Others) > 0)
KGEN_FN void store_to(const S& sink, const Index<R>& at, const Vec<T, W>& lanes, const Others&... others) {
  sink(at, lanes, others...);
}

// A JointSink of one Sink for each result.
template <class First, class... Rest>
struct Each {
  First first;
  Each<Rest...> rest;

  template <int R, class Lanes, class... Others>
  KGEN_FN void operator()(const Index<R>& at, const Lanes& lanes, const Others&... others) const {
    store_to(first, at, lanes);
    rest(at, others...);
  }
};
template <class Last>
struct Each<Last> {
  Last last;

  template <int R, class Lanes>
  KGEN_FN void operator()(const Index<R>& at, const Lanes& lanes) const {
    store_to(last, at, lanes);
  }
};

template <class Last>
Each<Last> each(const Last& last) {
  return {last};
}
template <class First, class Second, class... Rest>
Each<First, Second, Rest...> each(const First& first, const Second& second, const Rest&... rest) {
  return {first, each(second, rest...)};
}

// W lanes from any position along the last axis, and W lanes to it. A GPU's vectors begin at multiples of W.
template <int W, int R, class S>
KGEN_FN auto load_anywhere(const S& source, const Index<R>& at) {
#if defined(KGEN_GPU)
  if (W > 1 && at[R - 1] % W != 0) {
    typename decltype(source.template load<1>(at))::lane_type lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) {
      Index<R> each = at;
      each[R - 1] += i;
      lanes[i] = source.template load<1>(each).data;
    }
    return load_lanes<W>(lanes);
  }
#endif
  return source.template load<W>(at);
}
template <int R, class S, class T, int W>
KGEN_FN void store_anywhere(const S& sink, const Index<R>& at, const Vec<T, W>& lanes) {
#if defined(KGEN_GPU)
  if constexpr (W > 1) {
    if (at[R - 1] % W != 0) {
      KGEN_UNROLL
      for (int i = 0; i < W; ++i) {
        Index<R> each = at;
        each[R - 1] += i;
        store_to(sink, each, Vec<T, 1>(lanes[i]));
      }
      return;
    }
  }
#endif
  store_to(sink, at, lanes);
}

// The type of the lanes that a source loads.
template <class S, int R>
using source_lane_t = typename decltype(std::declval<const S&>().template load<1>(Index<R>{}))::lane_type;

namespace detail {
template <int R>
consteval int rank_of_shape(Index<R> (*)()) {
  return R;
}
}  // namespace detail

// How many axes a source has.
template <class S>
inline constexpr int source_rank =
    detail::rank_of_shape(static_cast<decltype(std::declval<const S&>().shape()) (*)()>(nullptr));

// A source, and a sink for its lanes, of any number of axes.
template <class S>
concept AnySource = Source<S, source_rank<S>>;
template <class S, class X>
concept SinkLike = Sink<S, source_lane_t<X, source_rank<X>>, source_rank<X>>;

template <class S>
inline constexpr bool is_view = false;
template <class T, int R>
inline constexpr bool is_view<View<T, R>> = true;

// A View of R axes: an operand that must lie in memory.
template <class S, int R>
concept Memory = is_view<S> && S::rank == R;

// A View of R axes or fewer: those that are missing repeat, as broadcast_to() has it.
template <class S, int R>
concept BroadcastsTo = is_view<S> && S::rank <= R;

// The type of a View's elements.
template <class S>
using view_element_t = std::remove_const_t<typename S::element_type>;

}  // namespace kgen
