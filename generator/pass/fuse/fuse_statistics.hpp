// Row statistics: what a row program makes of each row of memory that a kernel has just stored, where it makes nothing
// but numbers of rows, and the kernel's declaration says that it takes such programs (KGEN_STATISTICS). The kernel has
// the lanes at hand, so that no stub reads the rows for that alone. A stub that stores rows of its own, such as one
// that quantises by the absolute maximum, reads them once in any case: there nothing is to save, and it stays as it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/pass/fuse/fuse_facts.hpp"
#include "generator/pass/fuse/fuse_groups.hpp"

namespace kgen {

// What becomes of a group of rows that reads what a kernel stores.
struct StatisticsJoin {
  std::uint32_t host = no_id;  // the kernel's group; no_id: it reads none's result, others beside, or never is on offer
  RowStatistics statistics;
  std::vector<NodeId> readers;  // those of its nodes that read the result
  std::string refusal;          // why it stays a stub; empty: it need not
};
StatisticsJoin with_statistics(const FuseFacts& facts, const FuseGroups& groups, std::uint32_t rows);

}  // namespace kgen
