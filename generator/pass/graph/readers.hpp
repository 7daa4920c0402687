// Which nodes read a value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

class Readers {
 public:
  explicit Readers(const Graph& graph);

  // How many values the graph had.
  std::size_t size() const { return first_.size() - 1; }
  // The nodes that read it, each once, in their order.
  std::span<const NodeId> operator[](ValueId value) const {
    return {nodes_.data() + first_[value], nodes_.data() + first_[value + 1]};
  }

 private:
  std::vector<std::uint32_t> first_;  // into nodes_, by value
  std::vector<NodeId> nodes_;
};

}  // namespace kgen
