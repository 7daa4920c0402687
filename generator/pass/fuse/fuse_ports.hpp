// What may ride in a prologue or an epilogue of a kernel: loops over the elements that the kernel walks, whatever axes
// they give them, and memory that can be shown along the kernel's axes.
#pragma once

#include <string>
#include <vector>

#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/fuse/fuse_groups.hpp"

namespace kgen {

// An operand or a result of a kernel, as the kernel walks it.
struct Port {
  std::string name;  // "the epilogue of kgen::matmul", for people
  const KernelSignature* kernel = nullptr;
  Shape shape;
  int rank = -1;  // of the kernel; -1: any
};
Port epilogue_port(const Node& root, const Shape& shape, std::size_t result);
Port prologue_port(const Node& root, const Shape& shape, std::size_t operand);

// Each of these says why not, and nothing where it can be done.

// `nodes`, whose loop is `loop`, at the positions that the kernel walks.
std::string why_no_loop(const FuseFacts& facts, const Port& port, const Shape& loop, const std::vector<NodeId>& nodes);
// Reading `value`, broadcast to such a loop, from memory.
std::string why_not_read(const FuseFacts& facts, const Port& port, const Shape& loop, ValueId value);
// Writing what `node` makes where that lies.
std::string why_not_written(const FuseFacts& facts, const Port& port, NodeId node);

// All sizes that a kernel's stub with these ports needs, where its loops are not all of one shape, are extents of what
// it surely reads or writes. `last`: the node that joined last.
std::string why_no_sizes(const FuseFacts& facts, const GrowingGroup& group, const std::vector<ValueId>& reads,
                         NodeId last);

}  // namespace kgen
