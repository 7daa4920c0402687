// Selection along an axis on the CPU: a thread orders a line's keys in its own memory.
#pragma once

#include <algorithm>

#include "kgen/cpu/parallel.hpp"
#include "kgen/cpu/scratch.hpp"
#include "kgen/selection.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// `items` become the line's elements, of which the first k are in order.
template <class X, int R, class Item>
void select_line(const X& x, const Selection<R>& selection, std::int64_t line, Item* items) {
  Index<R> at = selection.position(line, 0);
  for (std::int64_t i = 0; i < selection.length; ++i) {
    at[selection.axis] = i;
    items[i] = selection.item(x.template load<1>(at).data, i);
  }
  Item* const end = items + selection.length;
  Item* const chosen = items + selection.k;
  if (chosen != end) std::nth_element(items, chosen, end);
  std::sort(items, chosen);
}

template <class X, class Values, class Indices, int R>
void top_k(const ChosenResults<X, Values, Indices, R>& results, Stream stream) {
  using Item = sort_item_t<source_lane_t<X, R>>;
  constexpr std::int64_t work = 16;  // for an element, in steps of a cheap loop
  const Selection<R>& selection = results.selection;
  const std::int64_t wanted = threads_for(stream, work * selection.count * selection.length);
  parallel(static_cast<int>(std::min(wanted, selection.count)), [&](Team team) {
    Item* items = scratch<Item>(0, selection.length);
    const Range part = team.part(selection.count);
    for (std::int64_t line = part.begin; line < part.end; ++line) {
      select_line(results.x, selection, line, items);
      for (std::int64_t i = 0; i < selection.k; ++i) results.give(line, i, items[i]);
    }
  });
}

}  // namespace kgen::cpu
