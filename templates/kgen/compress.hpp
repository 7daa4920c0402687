// Results whose size depends on the data: of the greatest size that can occur, with a count of what of them is valid.
#pragma once

#include <cassert>

#include "kgen/cumsum.hpp"
#include "kgen/elementwise.hpp"
#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

// A source of 1 for each element that is true, in row-major order; 0 for others.
template <int R, class X>
struct Truths {
  X x;
  Index<R> extents;

  KGEN_FN Index<1> shape() const { return Index<1>{element_count(extents)}; }
  KGEN_FN bool holds(std::int64_t i) const { return x.template load<1>(unflatten(i, extents)).data; }
  template <int W>
  KGEN_FN Vec<std::int64_t, W> load(Index<1> at) const {
    std::int64_t lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i) lanes[i] = holds(at[0] + i) ? 1 : 0;
    return load_lanes<W>(lanes);
  }
};

// Takes the number of true elements up to each position, itself included: writes where those stand that are true.
template <int R, class X>
struct TruePlaces {
  Truths<R, X> truths;
  View<std::int64_t, 2> indices;
  View<std::int64_t, 0> count;

  template <int W>
  KGEN_FN void operator()(const Index<1>& at, const Vec<std::int64_t, W>& up_to) const {
    KGEN_UNROLL
    for (int lane = 0; lane < W; ++lane) {
      const std::int64_t i = at[0] + lane;
      const Vec<std::int64_t, 1> total(up_to[lane]);
      if (i + 1 == truths.shape()[0]) count.store(Index<0>{}, total);
      if (!truths.holds(i)) continue;
      const Index<R> place = unflatten(i, truths.extents);
      KGEN_UNROLL
      for (int axis = 0; axis < R; ++axis) {
        indices.store(Index<2>{axis, total.data - 1}, Vec<std::int64_t, 1>(place[axis]));
      }
    }
  }
};

// Zeros behind the places that count.
struct ZerosBehind {
  View<const std::int64_t, 0> count;
  View<std::int64_t, 2> indices;

  template <int W>
  KGEN_FN void operator()(const Index<2>& at) const {
    const std::int64_t valid = count.load<1>(Index<0>{}).data;
    KGEN_UNROLL
    for (int lane = 0; lane < W; ++lane) {
      if (at[1] + lane >= valid) indices.store(Index<2>{at[0], at[1] + lane}, Vec<std::int64_t, 1>(0));
    }
  }
};

struct Zero {
  View<std::int64_t, 0> to;

  template <int W>
  KGEN_FN void operator()(const Index<1>&) const {
    to.store(Index<0>{}, Vec<std::int64_t, 1>(0));
  }
};

// Where x is true: indices[:, i] is the position of the i-th such element in row-major order, for each i below the count,
// and 0 behind. indices: [rank of x, elements of x]. A prologue is evaluated three times for each element.
template <AnySource X>
KGEN_KERNEL(true_indices)
KGEN_EVALUATED(x, "3")
void true_indices(const X& x, const View<std::int64_t, 2>& indices, const View<std::int64_t, 0>& count,
                  Stream stream = {}) requires Boolean<source_lane_t<X, source_rank<X>>> {
  constexpr int R = source_rank<X>;
  const Truths<R, X> truths{x, x.shape()};
  assert(indices.extent(0) == R && indices.extent(1) == truths.shape()[0]);
  if (truths.shape()[0] == 0) return elementwise(Index<1>{1}, Zero{count}, stream);
  target::scan<Sums>(truths, TruePlaces<R, X>{truths, indices, count}, ScanOrder{0, false, false}, stream);
  elementwise(indices.shape(), ZerosBehind{count, indices}, stream);
}

// A source of the lines of another one at places, and of zeros behind those that count.
template <int R, class X>
struct CountedLines {
  using Lane = source_lane_t<X, R>;
  X x;
  View<const std::int64_t, 1> places;
  View<const std::int64_t, 0> count;
  int axis;

  KGEN_FN Vec<Lane, 1> element(Index<R> at) const {
    std::int64_t line = 0;
    KGEN_UNROLL
    for (int i = 0; i < R; ++i) line = i == axis ? at[i] : line;
    if (line >= count.load<1>(Index<0>{}).data) return Vec<Lane, 1>(Lane(0));
    const std::int64_t from = places.load<1>(Index<1>{line}).data;
    KGEN_UNROLL
    for (int i = 0; i < R; ++i) at[i] = i == axis ? from : at[i];  // addressing the index would take memory
    return x.template load<1>(at);
  }
  template <int W>
  KGEN_FN Vec<Lane, W> load(Index<R> at) const {
    Lane lanes[W];
    KGEN_UNROLL
    for (int i = 0; i < W; ++i, ++at[R - 1]) lanes[i] = element(at).data;
    return load_lanes<W>(lanes);
  }
};

// Along an axis, which counts from the last where it is negative, the lines of x at the first `count` places; behind
// them 0. out: the shape of x, with as many along the axis as there are places.
template <AnySource X, SinkLike<X> Out>
KGEN_KERNEL(counted_lines)
void counted_lines(const X& x, const View<const std::int64_t, 1>& places, const View<const std::int64_t, 0>& count,
                   std::int64_t axis, const Out& out, Stream stream = {})
requires(source_rank<X> >= 1)
{
  constexpr int R = source_rank<X>;
  const auto counted = static_cast<int>(axis < 0 ? axis + R : axis);
  assert(counted >= 0 && counted < R);
  Index<R> shape = x.shape();
  shape[counted] = places.extent(0);
  copy(shape, CountedLines<R, X>{x, places, count, counted}, out, stream);
}

}  // namespace kgen
