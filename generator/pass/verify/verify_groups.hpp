// What must hold of the groups of a graph, from fuse on:
//   - each node that is no view is in one group, and each group has the nodes that its kind allows;
//   - each node of a kernel's group, but the kernel, rides in one port, and what a prologue makes ends in its operand;
//   - a group lists as its inputs just what its nodes read from memory; what it lists is there: it comes from outside
//   the
//     graph, or a group before it stores it, or all its parts;
//   - outputs and next values are stored; groups that run at load read constants, and what is made at load;
//   - decisions say what became of their nodes.
#pragma once

#include <string>
#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

// What does not hold, in words; empty where all does, and never more than a few. The graph must be right. Linear in its
// size.
std::vector<std::string> group_problems(const FusedGraph& fused);

}  // namespace kgen
