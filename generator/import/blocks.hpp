// Nodes that stand in a model several times, alike but for their weights and state, as one function that is called for
// each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/import/graph_builder.hpp"

namespace kgen {

struct Block {
  using Row = std::vector<ValueId>;  // a value of each instance

  std::string wish;                 // what it may be called; empty: nothing says
  std::size_t size = 0;             // nodes of an instance
  std::vector<std::size_t> starts;  // where the instances begin among the nodes, ascending
  std::vector<Row> inputs, outputs;
  std::vector<Row> weights;    // stored, of the instances' own
  // What each instance keeps between calls for itself, and the values, made by it, that replace it.
  std::vector<Row> states, following;
  std::vector<ValueId> fixed;  // small constants that all of them have, the first of those that are equal
  // By place: the same in all instances, so that the first one's stands in front of the calls, and serves all.
  std::vector<bool> hoisted;
  // One call, repeated: inputs[i] of an instance is outputs[i] of the one before it, for as many outputs as there are.
  bool repeats = false;
};

// By constant that stands in the graph's file: the first of the same type and elements.
std::map<ValueId, ValueId> first_equal_constants(const GraphBuilder& builder);

// The blocks among `order`, the nodes that are written, topologically sorted: sorted otherwise where there are blocks
// (see move_to_readers.hpp and move_shared_ahead.hpp). They do not overlap, and are sorted by where they begin.
// `outputs`: what the graph gives its callers.
//
// Rule: kgen fuses nothing across a call, so what is called holds operators that others are fused into (matrix
// products, convolutions), and layers begin where the fewest values are handed on, and these are read most. Functions
// of the model that it calls several times come first, then runs of nodes that repeat, each of which reads what the one
// before it made.
std::vector<Block> find_blocks(const GraphBuilder& builder, std::vector<NodeId>& order,
                               const std::vector<ValueId>& outputs);

}  // namespace kgen
