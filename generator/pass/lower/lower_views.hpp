// How memory is shown to a loop: axes inserted, broadcast, permuted and merged.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"

namespace kgen {

// The space that a functor's index runs over.
struct LoopSpace {
  Shape shape;                 // as in the graph
  std::vector<int> row_axes;   // rows: the reduced axes; else empty
  int kernel_rank = -1;        // structured: the rank the kernel walks; else -1
};

// One use of a value in that space, before merging.
struct LoopUse {
  ValueId value = no_id;
  RowForm form = RowForm::full;  // that of the node's result that it is read for, or its own where it is written
  int line_axis = -1;          // of the value, along which it is read in lines
  std::size_t loop = 0;        // structured: which of the functor's loops

  bool operator==(const LoopUse&) const = default;
};

// Axes to insert into a shape of `rank` axes, which is aligned with the loop's without the reduced ones, so that it is
// aligned with all of them.
std::vector<int> dropped_axes(std::size_t rank, const LoopSpace& space);

// The axis ranges that can be walked as one by every use, descending; none where one is read in lines. Not of a
// kernel's prologue or epilogue.
std::vector<std::pair<int, int>> common_merges(const FuseFacts& facts, const LoopSpace& space,
                                               const std::vector<LoopUse>& uses);

// True where the memory of a use may lie along another axis than the last, because neighbours there are not known to be
// neighbours in memory, nor the same. So it is with those that are a constant step apart, too.
bool lies_across(const FuseFacts& facts, const LoopSpace& space, const LoopUse& use);

// The same in the loop of a kernel's prologue or epilogue, which may have other axes than the kernel walks. `strides`:
// of the memory, by the value's axes. `split`: the shape that view.reshape stands for, where that is set.
struct PortView {
  MemberView view;
  Shape split;
};
PortView port_view(const FuseFacts& facts, const LoopSpace& space, const Shape& loop, ValueId value,
                   const Strides& strides);

// `merges` empty: none.
MemberView view_in(const FuseFacts& facts, const LoopSpace& space, const LoopUse& use, std::size_t parameter,
                   const std::vector<std::pair<int, int>>& merges);

// How memory that is read in lines is shown, and the axis of that view along which they lie. Nothing is broadcast:
// lines repeat along axes of extent 1.
struct LinesView {
  MemberView view;
  int axis = 0;
};
LinesView lines_in(const FuseFacts& facts, const LoopSpace& space, const LoopUse& use, std::size_t parameter);

// How a kernel of `kernel_rank` (or -1: any) sees an operand of its own.
MemberView operand_view(const Shape& shape, int kernel_rank, std::size_t parameter);

}  // namespace kgen
