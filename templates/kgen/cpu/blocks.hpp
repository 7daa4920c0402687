// Boxes of a loop's positions that are near each other in the memory of every View, however its axes lie: each View
// goes on in memory through the whole of a box, in runs that are as long as those of the others.
//
// Why: of a permutation of axes a tile of two of them may hold 64 bytes of each line of the result, and what is beside
// those in memory is far away in the operand. Neither side's lines are fetched ahead then, and their pages are looked
// up anew for each.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kgen/fields.hpp"
#include "kgen/index.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// The axes along which a View goes on in memory, from that on whose neighbours are nearest.
template <int R>
struct MemoryOrder {
  int axes[R];
  int count = 0;
};
template <class T, int R>
MemoryOrder<R> memory_order(const View<T, R>& view) {
  const auto distance = [&](int axis) { return view.stride(axis) < 0 ? -view.stride(axis) : view.stride(axis); };
  MemoryOrder<R> order;
  for (int axis = R - 1; axis >= 0; --axis) {
    if (view.extent(axis) == 1 || view.stride(axis) == 0) continue;
    int place = order.count++;
    for (; place > 0 && distance(order.axes[place - 1]) > distance(axis); --place) {
      order.axes[place] = order.axes[place - 1];
    }
    order.axes[place] = axis;
  }
  return order;
}

// How far a View goes on in memory through a box, in elements, and the axis along which the box cuts it off: -1 where
// it has all of the View.
struct MemoryRun {
  std::int64_t elements;
  int cut;
};
template <int R>
MemoryRun run_in(const Index<R>& box, const Index<R>& shape, const MemoryOrder<R>& order) {
  MemoryRun run{1, -1};
  for (int i = 0; i < order.count && run.cut < 0; ++i) {
    const int axis = order.axes[i];
    run.elements *= box[axis];
    if (box[axis] < shape[axis]) run.cut = axis;
  }
  return run;
}

// The orders of the Views that a functor of a loop of R axes goes through.
template <int R>
struct MemoryOrders {
  MemoryOrder<R> of[most_fields];
  int count = 0;

  void add(const MemoryOrder<R>& order) { of[count++] = order; }
};

// Doubles a box along the axis that cuts off the shortest run, again and again while it has at most so many positions.
template <int R>
void grow(Index<R>& box, const Index<R>& shape, const MemoryOrders<R>& orders, std::int64_t most) {
  for (;;) {
    MemoryRun shortest{0, -1};
    for (int i = 0; i < orders.count; ++i) {
      const MemoryRun run = run_in(box, shape, orders.of[i]);
      if (run.cut >= 0 && (shortest.cut < 0 || run.elements < shortest.elements)) shortest = run;
    }
    if (shortest.cut < 0) return;
    std::int64_t& extent = box[shortest.cut];
    const std::int64_t grown = std::min(2 * extent, shape[shortest.cut]);
    if (element_count(box) / extent * grown > most) return;
    extent = grown;
  }
}

// A box of a loop: its first position, and how many it has along each axis.
template <int R>
struct Block {
  Index<R> origin, extents;
};

// A box cut into boxes of at most `extents`, which follow each other as memory goes on in some order.
template <int R>
class Cut {
 public:
  Cut(const Index<R>& extents, const MemoryOrder<R>& order) : extents_(extents) {
    bool taken[R]{};
    for (int i = 0; i < order.count; ++i) taken[axes_[R - 1 - i] = order.axes[i]] = true;
    for (int axis = 0, place = 0; axis < R; ++axis) {
      if (!taken[axis]) axes_[place++] = axis;
    }
  }

  std::int64_t count(const Index<R>& whole) const { return element_count(counts(whole)); }
  // The block of a number below the count.
  Block<R> block(const Block<R>& whole, std::int64_t number) const {
    const Index<R> place = unflatten(number, counts(whole.extents));
    Block<R> block;
    for (int k = 0; k < R; ++k) {
      const int axis = axes_[k];
      const std::int64_t first = place[k] * extents_[axis];
      block.origin[axis] = whole.origin[axis] + first;
      block.extents[axis] = std::min(extents_[axis], whole.extents[axis] - first);
    }
    return block;
  }

 private:
  Index<R> counts(const Index<R>& whole) const {
    Index<R> counts;
    for (int k = 0; k < R; ++k) counts[k] = (whole[axes_[k]] + extents_[axes_[k]] - 1) / extents_[axes_[k]];
    return counts;
  }

  Index<R> extents_;
  int axes_[R];  // from the outermost
};

// body(origin) for each plane of a block along an axis and the last one.
template <int R, class Body>
void for_each_plane(const Block<R>& block, int axis, const Body& body) {
  Index<R> counts = block.extents, at{};
  counts[axis] = counts[R - 1] = 1;
  do {
    Index<R> origin = block.origin;
    for (int i = 0; i < R; ++i) origin[i] += at[i];
    body(origin);
  } while (advance(at, R, Index<R>{}, counts));
}

}  // namespace kgen::cpu
