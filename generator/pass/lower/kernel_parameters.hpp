// The compile-time parameters of a kernel's call.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"

namespace kgen {

// As C++ has them, in the kernel's order: what rules of tuning give the first root, and how operands of all `roots` lie
// in memory; up to the last one that is not the default.
std::vector<std::string> kernel_parameters(const FuseFacts& facts, const Group& group, std::span<const NodeId> roots);

}  // namespace kgen
