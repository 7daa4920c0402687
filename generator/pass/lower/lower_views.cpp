#include "generator/pass/lower/lower_views.hpp"

#include <algorithm>

#include "generator/base/ensure.hpp"
#include "generator/pass/graph/regroup.hpp"

namespace kgen {
namespace {

bool is_row_axis(const LoopSpace& space, int axis) {
  return std::binary_search(space.row_axes.begin(), space.row_axes.end(), axis);
}

// Outer axes first, row axes last, both in order; empty where that changes nothing.
std::vector<int> rows_last(const LoopSpace& space) {
  std::vector<int> order;
  for (int axis = 0; axis < static_cast<int>(space.shape.size()); ++axis) {
    if (!is_row_axis(space, axis)) order.push_back(axis);
  }
  order.insert(order.end(), space.row_axes.begin(), space.row_axes.end());
  return std::is_sorted(order.begin(), order.end()) ? std::vector<int>{} : order;
}

// A use's extents and strides along the axes of the loop, after insertion, broadcast and permutation.
struct Walk {
  Shape shape;
  Strides strides;
};

Walk walk_of(const FuseFacts& facts, const LoopSpace& space, const LoopUse& use) {
  Shape shape = facts.graph().type(use.value).shape;
  Strides strides = facts.strides(use.value);
  if (use.form == RowForm::dropped) {
    for (const int axis : dropped_axes(shape.size(), space)) {
      shape.insert(shape.begin() + axis, Dim(1));
      strides.insert(strides.begin() + axis, Dim(0));
    }
  }
  Walk walk{space.shape, Strides(space.shape.size(), Dim(0))};
  const std::size_t lead = space.shape.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == space.shape[lead + i]) walk.strides[lead + i] = strides[i];
  }
  const std::vector<int> order = rows_last(space);
  if (order.empty()) return walk;
  Walk permuted;
  for (const int axis : order) {
    permuted.shape.push_back(walk.shape[static_cast<std::size_t>(axis)]);
    permuted.strides.push_back(walk.strides[static_cast<std::size_t>(axis)]);
  }
  return permuted;
}

int merged_rank(std::size_t rank, const std::vector<std::pair<int, int>>& merges) {
  int left = static_cast<int>(rank);
  for (const auto& [first, last] : merges) left -= last - first;
  return left;
}

}  // namespace

std::vector<int> dropped_axes(std::size_t rank, const LoopSpace& space) {
  if (rank == 0) return {};
  const auto full = static_cast<int>(space.shape.size());
  int first = full;  // the axis of the loop that the shape's first one is aligned with
  for (std::size_t left = rank; left > 0;) left -= is_row_axis(space, --first) ? 0 : 1;
  if (rank + space.row_axes.size() == space.shape.size()) first = 0;
  std::vector<int> inserted;
  for (const int axis : space.row_axes) {
    if (axis >= first) inserted.push_back(axis - first);
  }
  return inserted;
}

std::vector<std::pair<int, int>> common_merges(const FuseFacts& facts, const LoopSpace& space,
                                               const std::vector<LoopUse>& uses) {
  const int rank = static_cast<int>(space.shape.size());
  if (std::any_of(uses.begin(), uses.end(), [](const LoopUse& use) { return use.line_axis >= 0; })) return {};
  std::vector<Walk> walks;
  for (const LoopUse& use : uses) walks.push_back(walk_of(facts, space, use));
  const int outer = rank - static_cast<int>(space.row_axes.size());
  std::vector<std::pair<int, int>> merges;
  int last = rank - 1;
  for (int first = last; first >= 0; --first) {
    const bool extends = first > 0 && (space.row_axes.empty() || first != outer) &&
                         std::all_of(walks.begin(), walks.end(), [&](const Walk& walk) {
                           return axes_merge(walk.shape, walk.strides, static_cast<std::size_t>(first - 1),
                                             static_cast<std::size_t>(last));
                         });
    if (extends) continue;
    if (first < last) merges.emplace_back(first, last);
    last = first - 1;
  }
  return merges;
}

bool lies_across(const FuseFacts& facts, const LoopSpace& space, const LoopUse& use) {
  const Walk walk = walk_of(facts, space, use);
  std::size_t axis = walk.shape.size();
  while (axis > 1 && walk.shape[axis - 1] == Dim(1)) --axis;  // axes of extent 1 have no say
  return axis > 1 && walk.strides[axis - 1] != Dim(0) && walk.strides[axis - 1] != Dim(1);
}

PortView port_view(const FuseFacts& facts, const LoopSpace& space, const Shape& loop, ValueId value,
                   const Strides& strides) {
  const auto regrouping = regroup(space.shape, space.kernel_rank, loop);
  ensure(regrouping.has_value(), "fuse lets only loops over the kernel's axes into a port");
  const Shape& own = facts.graph().type(value).shape;
  const auto along = strides_along(*regrouping, own, strides, loop);
  ensure(along.has_value(), "fuse lets only what can be shown in a loop into a port");
  RunWalk walk = walk_runs(*regrouping, *along);
  PortView port;
  port.view.broadcast = own != loop;
  port.view.rank = merged_rank(regrouping->split.size(), walk.merges);
  port.view.merges = std::move(walk.merges);
  port.view.runs = std::move(walk.runs);
  if (regrouping->split != loop) port.split = regrouping->split;
  return port;
}

MemberView view_in(const FuseFacts& facts, const LoopSpace& space, const LoopUse& use, std::size_t parameter,
                   const std::vector<std::pair<int, int>>& merges) {
  MemberView view;
  view.parameter = parameter;
  Shape shape = facts.graph().type(use.value).shape;
  if (use.form == RowForm::dropped) {
    view.unsqueeze = dropped_axes(shape.size(), space);
    for (const int axis : view.unsqueeze) shape.insert(shape.begin() + axis, Dim(1));
  }
  const bool one_per_row = use.form != RowForm::full && shape == keep_axes(space.shape, space.row_axes);
  view.broadcast = shape != space.shape && !one_per_row;
  view.permutation = rows_last(space);
  view.merges = merges;
  view.rank = merged_rank(space.shape.size(), merges);
  return view;
}

LinesView lines_in(const FuseFacts& facts, const LoopSpace& space, const LoopUse& use, std::size_t parameter) {
  LinesView lines{{.parameter = parameter}, use.line_axis};
  MemberView& view = lines.view;
  const std::size_t rank = facts.graph().type(use.value).shape.size();
  if (use.form == RowForm::dropped) view.unsqueeze = dropped_axes(rank, space);
  view.unsqueeze.resize(space.shape.size() - rank, 0);  // the axes in front
  for (const int axis : view.unsqueeze) lines.axis += axis <= lines.axis ? 1 : 0;
  view.permutation = rows_last(space);
  if (!view.permutation.empty()) {
    const auto place = std::find(view.permutation.begin(), view.permutation.end(), lines.axis);
    lines.axis = static_cast<int>(place - view.permutation.begin());
  }
  view.rank = static_cast<int>(space.shape.size());
  return lines;
}

MemberView operand_view(const Shape& shape, int kernel_rank, std::size_t parameter) {
  MemberView view;
  view.parameter = parameter;
  const int rank = static_cast<int>(shape.size());
  view.rank = kernel_rank < 0 ? rank : kernel_rank;
  for (int missing = rank; missing < kernel_rank; ++missing) view.unsqueeze.push_back(0);
  if (kernel_rank >= 0 && rank > kernel_rank) view.merges.emplace_back(0, rank - kernel_rank);
  return view;
}

}  // namespace kgen
