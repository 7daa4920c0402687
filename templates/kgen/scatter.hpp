// Elements written where indices say.
#pragma once

#include "kgen/elementwise.hpp"
#include "kgen/fields.hpp"
#include "kgen/introspect.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/view.hpp"

namespace kgen {

// What becomes of an element and its update: the update, their sum, their product, or the one of them.
enum class ScatterReduction { none, add, mul, max, min };

// The elements of one line after another, so that what meets at an element comes in one order.
template <int R, class T, class I, class U>
struct ScatterLines {
  View<const I, R> indices;
  U updates;
  Index<R> extents;  // of the updates, some of which may repeat
  Anywhere<View<T, R>> out;
  int axis;
  std::int64_t length;  // along the axis
  ScatterReduction reduction;

  template <int W>
  KGEN_FN void operator()(Index<R> at) const {
    for (int lane = 0; lane < W; ++lane, ++at[R - 1]) {
      for (std::int64_t s = 0; s < length; ++s) write(placed(at, s));
    }
  }

  // Without addressing the index, which would put it into a GPU's memory.
  KGEN_FN Index<R> placed(Index<R> index, std::int64_t value) const {
    KGEN_UNROLL
    for (int i = 0; i < R; ++i) index[i] = i == axis ? value : index[i];
    return index;
  }

  KGEN_FN void write(const Index<R>& from) const {
    const auto index = static_cast<std::int64_t>(indices.template load<1>(from).data);
    std::int64_t offset = 0;
    bool inside = true;
    KGEN_UNROLL
    for (int i = 0; i < R; ++i) {
      const std::int64_t extent = out.view.extent(i), wrapped = index + (index < 0 ? extent : 0);
      const std::int64_t place = i != axis ? from[i] : wrapped;
      inside &= place >= 0;
      inside &= place < extent;
      offset += place * out.view.stride(i);
    }
    if (!inside) return;
    Index<R> place = from;
    KGEN_UNROLL
    for (int i = 0; i < R; ++i) place[i] = extents[i] == 1 ? 0 : from[i];
    const pointer_to<T> to = out.view.data() + offset;
    const pointer_to<const T> old = to;
    store_elements(to, combined(load_elements<1>(old), updates.template load<1>(place)));
  }

  template <class L>
  KGEN_FN Vec<L, 1> combined(const Vec<L, 1>& old, const Vec<L, 1>& update) const {
    if constexpr (std::is_same_v<L, bool>) {
      if (reduction == ScatterReduction::add || reduction == ScatterReduction::max) return {old.data || update.data};
      if (reduction == ScatterReduction::mul || reduction == ScatterReduction::min) return {old.data && update.data};
    } else {
      if (reduction == ScatterReduction::add) return Add::apply(old, update);
      if (reduction == ScatterReduction::mul) return Mul::apply(old, update);
      if (reduction == ScatterReduction::max) return Maximum::apply(old, update);
      if (reduction == ScatterReduction::min) return Minimum::apply(old, update);
    }
    return update;
  }
};

// x, in which along one axis the elements that the indices name become the updates (none), or their sum, product,
// maximum or minimum with these (of bool add and max are `or`, mul and min `and`): of axis 1 of two, out[i, indices[i,
// j]] = updates[i, j]. Updates that meet come one after another. Negative indices count from the end, and an index
// beyond the axis writes nothing. indices, updates: as many axes as x; they broadcast with each other.
template <AnySource X, OneOf<std::int32_t, std::int64_t> I, int R, AnySource U, Element T>
KGEN_KERNEL(scatter)
void scatter(const X& x, const View<const I, R>& indices, const U& updates, std::int64_t axis,
             ScatterReduction reduction, const View<T, R>& out,
             Stream stream = {}) requires Element<source_lane_t<X, source_rank<X>>> {
  const auto counted = static_cast<int>(axis < 0 ? axis + R : axis);
  assert(counted >= 0 && counted < R);
  copy(out.shape(), x, out, stream);
  Index<R> shape = indices.shape();
  const Index<R> extents = updates.shape();
  for (int i = 0; i < R; ++i) {
    if (shape[i] == 1) shape[i] = extents[i];
    assert(extents[i] == 1 || extents[i] == shape[i]);
  }
  Index<R> lines = shape;
  lines[counted] = shape[counted] > 0 ? 1 : 0;
  const ScatterLines<R, T, I, U> body{
      indices.broadcast_to(shape), updates, extents, {out}, counted, shape[counted], reduction};
  elementwise(lines, body, stream);
}

}  // namespace kgen
