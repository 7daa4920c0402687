// What it costs to compute a value again for each of its readers, and what that saves.
#pragma once

#include <string>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"

namespace kgen {

// One of the loops that would compute the value for themselves.
struct RecomputingReader {
  std::vector<ValueId> new_reads;  // memory that it would read for that, and does not read anyway
  bool prologue = false;           // of a kernel, which may evaluate it several times
};

struct RecomputedValue {
  ValueId value = no_id;
  std::vector<NodeId> nodes;      // that make it, the last of them itself
  std::vector<NodeId> originals;  // of the graph as it was: these nodes, or what they are copies of
  std::vector<ValueId> reads;     // the memory that they read
  std::vector<RecomputingReader> readers;
  bool stays = false;           // its own group goes on computing it, for nodes of its own
  std::vector<ValueId> spared;  // memory that its own group would read no more
};

struct RecomputingPrice {
  bool pays = false;   // moves less memory for all sizes, by more than the repeated work takes
  std::string reason;  // "they read 8*M bytes of 'x' for it, instead of 20*M to make, write and read it"
  Dim saved;           // bytes
};

RecomputingPrice price_of(const FuseFacts& facts, const DimRanges& ranges, const RecomputedValue& again);

// Of one element, in eighths of a byte of memory traffic, by the operator's definition. Of an operator that has none,
// as much as of the most expensive functions.
std::int64_t work_of(const Node& node);

}  // namespace kgen
