// What is known when the model is loaded, before any call.
#pragma once

#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

// The constants of a graph, and what nodes compute of nothing else. Results of calls, structs, and tensors of symbolic
// size are not among them: no buffer is kept from load for those. Neither is what unpacks a weight, and what follows
// from that, where kernels take it as a prologue and ask for each element once: such a weight has few bits so that
// there is less to keep and to read.
class LoadValues {
 public:
  // The graph is topologically ordered, its values have types, and it outlives this. Linear in its size.
  explicit LoadValues(const Graph& graph);

  bool contains(ValueId value) const {
    return graph_.value(value).kind == ValueKind::constant || (value < computed_.size() && computed_[value]);
  }
  // A node that was inserted into the graph, whose operands have been added.
  void add(const Node& node);

 private:
  const Graph& graph_;
  std::vector<bool> unpacked_;  // by ValueId: is unpacked at each call
  std::vector<bool> computed_;  // by ValueId, as far as nodes have been added
};

}  // namespace kgen
