// Decides which nodes are computed by one stub, and says why.
//
// Nodes are visited in topological order; each joins the group of one of its producers, or of a sibling that reads the
// same memory, or starts a group. What may join what:
//   elementwise + elementwise   the loops have the same shape
//   elementwise + reduction     the reduction reads every element of the loop; the group becomes a row program
//   rows + elementwise          the node works on whole rows, or on one element per row
//   rows + reduction            the same axes of the same rows
//   structured + elementwise    the kernel's result is a sink: the node rides in the epilogue
//   elementwise + structured    the operand is a source and its only reader: the group becomes a prologue
//   structured + structured     they are siblings, of whose kernel one call computes both
//   rows + structured           the kernel makes numbers of rows for its epilogues: see fuse_row_state.hpp
//   structured + rows           the kernel makes numbers of the rows that it stores: see fuse_statistics.hpp
// With a kernel also through reshapes, where each axis that the kernel walks is a run of axes of the loop, or the other
// way round, and all memory can be read and written along its lines. A kernel is known by its signature alone. A value
// that would be computed once for each element of a larger loop stays in memory. No group may come to depend on itself:
// depths (longest chains of groups) are kept exact, and a group that others already read is never moved behind a later
// one. At last, what several groups need is computed by each of them where that is cheaper: see recompute.hpp.
#pragma once

#include "generator/model/graph.hpp"
#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fusion_rules.hpp"

namespace kgen {

struct FuseOptions {
  bool enabled = true;  // false: every node is a stub of its own, the reference that check mode compares with
  std::vector<FusionRule> without = {};  // these join nothing, whatever the graph forces
};

// Whether `force` and `expect_fused` came true, report_unmet says.
FusedGraph fuse(Graph graph, const FuseOptions& options);

}  // namespace kgen
