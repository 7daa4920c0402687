// What it costs to compute a value for each of its readers, as often as they ask for it, and what that saves.
#pragma once

#include <string>
#include <vector>

#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fuse_facts.hpp"

namespace kgen {

// One of the loops that would compute the value for themselves.
struct RecomputingReader {
  std::vector<ValueId> new_reads;  // memory that it would read for that, and does not read anyway
  std::int64_t evaluations = 1;    // of each element: a kernel may ask for an element several times
};

struct RecomputedValue {
  ValueId value = no_id;
  std::vector<NodeId> nodes;      // that make it, the last of them itself
  std::vector<NodeId> originals;  // of the graph as it was: these nodes, or what they are copies of
  std::vector<ValueId> reads;     // the memory that they read
  std::vector<RecomputingReader> readers;
  bool stays = false;           // its own group goes on computing it, for nodes of its own
  std::vector<ValueId> spared;  // memory that its own group would read no more
  bool spares_stub = false;     // its own group would have nothing left to do
};

struct RecomputingPrice {
  bool pays = false;   // moves less memory for all sizes, by more than the repeated work takes beyond a spared launch
  std::string reason;  // "they read 8*M bytes of 'x' for it, instead of 20*M to make, write and read it"
  Dim saved;           // bytes
};

RecomputingPrice price_of(const FuseFacts& facts, const RecomputedValue& again);

}  // namespace kgen
