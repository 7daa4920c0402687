// Computes values again where that is cheaper than memory: a step of `fuse`, once groups are known.
//
// Rule: a value that elementwise nodes of one group make from memory, and that several stubs need, is computed by each
// of them, so that it is neither written nor read:
//
//   s = mul(x, 2) [stub_s]; y = matmul(s, v) [stub_y]; z = matmul(s, w) [stub_z]
//   ->  s = mul(x, 2); y = matmul(s, v) [stub_y];  s_2 = mul(x, 2); z = matmul(s_2, w) [stub_z]
//
// All readers must be able to: a loop over the same elements, rows that it is an element of, a kernel's operand that is
// a source, or nodes in a kernel's prologue or epilogue. And it must pay for all sizes (recompute_price.hpp). The nodes
// that make the value are taken as a whole, back to what memory holds. Groups change by these nodes alone.
#pragma once

#include <optional>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"

namespace kgen {

struct Recomputed {
  std::vector<Recomputation> recomputations;  // of each value that came into question
  std::optional<FusedGraph> fused;            // graph, groups and group_of, where they changed:
  std::vector<NodeId> new_id;                 // by the number that a node had
};

// Of `fused` the groups are read, not the graph, which is that of `facts`.
Recomputed recompute(const FuseFacts& facts, const FusedGraph& fused);

}  // namespace kgen
