// Row states: what a row program makes of each row of memory, where nothing but the epilogues of one kernel's call read
// it, and the kernel's declaration says that it makes such numbers (KGEN_ROWS). So the sum of squares behind a
// normalisation needs no stub of its own once the normalisation's factor has moved behind the product.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/fuse/fuse_groups.hpp"

namespace kgen {

// What becomes of a group of rows that a kernel's epilogues read.
struct RowStateJoin {
  std::uint32_t host = no_id;  // the kernel's group; no_id: no kernel's epilogue reads it
  RowState state;
  std::vector<std::pair<NodeId, NodeId>> reads;  // a node of an epilogue, and which node of the rows it reads
  std::string refusal;                           // why it stays a stub; empty: it need not
  bool pays = true;                              // false: it could join, and that takes longer
};
RowStateJoin with_row_state(const FuseFacts& facts, const FuseGroups& groups, std::uint32_t rows);

}  // namespace kgen
