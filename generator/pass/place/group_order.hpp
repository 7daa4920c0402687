// Which groups of a graph must be done before which: who reads what another writes, and who overwrites what another
// reads.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

// Vertices are groups, then one for each node (used for destinations: "all its parts are written"), then one for each
// destination and each state ("the old version of this buffer is read for the last time"). Those that are not groups
// take no time; they keep the number of edges linear where many write what many read.
struct GroupOrder {
  using Vertex = std::uint32_t;
  std::uint32_t groups = 0;
  std::vector<std::vector<Vertex>> successors;  // by vertex; may hold one twice

  std::vector<std::uint32_t> predecessor_counts() const;  // by vertex
};

GroupOrder order_groups(const FusedGraph& fused);

}  // namespace kgen
