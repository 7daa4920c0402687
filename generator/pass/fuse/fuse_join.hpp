// The rules of what may be computed together: pure questions over groups as they stand.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/fuse/fuse_groups.hpp"

namespace kgen {

// What a group would become, or why it cannot. Where both are given, it can, but that does not pay.
struct Joint {
  std::optional<GrowingGroup> group;  // kind, root, ports, loop, row_axes and at_load are set
  std::string refusal;
};

// The group of `node` alone.
GrowingGroup alone(const FuseFacts& facts, NodeId node);
// `node` (elementwise or reduction) with all of the groups `ids`.
Joint with_producers(const FuseFacts& facts, const FuseGroups& groups, NodeId node,
                     const std::vector<std::uint32_t>& ids);
// `node` with a group that makes none of its operands.
Joint with_sibling(const FuseFacts& facts, const FuseGroups& groups, NodeId node, std::uint32_t id);
// The structured `roots`, which one call computes, with the elementwise group that makes operand number `operand` of
// each.
Joint with_prologue(const FuseFacts& facts, const FuseGroups& groups, const std::vector<NodeId>& roots,
                    std::size_t operand);

}  // namespace kgen
