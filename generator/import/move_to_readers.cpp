#include "generator/import/move_to_readers.hpp"

#include <algorithm>

namespace kgen {
namespace {

class ReaderOrder {
 public:
  ReaderOrder(const Graph& graph, const std::vector<bool>& is_output, const std::vector<NodeId>& order)
      : graph_(graph), moves_(graph.nodes.size(), false) {
    std::vector<bool> is_constant(graph.nodes.size(), false);
    std::vector<std::uint32_t> readers(graph.nodes.size(), 0);
    for (const NodeId id : order) {
      const std::vector<ValueId>& inputs = graph.nodes[id].inputs;
      is_constant[id] = !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&](ValueId each) {
        if (each == no_id || graph.value(each).kind == ValueKind::constant) return true;
        const NodeId maker = graph.value(each).producer;
        return maker != no_id && is_constant[maker];
      });
      for (const NodeId maker : makers_of(id)) ++readers[maker];
    }
    for (const NodeId id : order) {
      const std::vector<ValueId>& made = graph.nodes[id].outputs;
      moves_[id] = is_constant[id] && readers[id] == 1 &&
                   std::none_of(made.begin(), made.end(), [&](ValueId each) { return is_output[each]; });
    }
    for (const NodeId id : order) {
      if (!moves_[id]) place(id);
    }
  }

  std::vector<NodeId> take() { return std::move(placed_); }

 private:
  // Nodes, each once.
  std::vector<NodeId> makers_of(NodeId id) const {
    std::vector<NodeId> makers;
    for (const ValueId each : graph_.nodes[id].inputs) {
      const NodeId maker = each == no_id ? no_id : graph_.value(each).producer;
      if (maker != no_id && std::find(makers.begin(), makers.end(), maker) == makers.end()) makers.push_back(maker);
    }
    return makers;
  }

  void place(NodeId id) {
    for (const NodeId maker : makers_of(id)) {
      if (moves_[maker]) place(maker);
    }
    placed_.push_back(id);
  }

  const Graph& graph_;
  std::vector<bool> moves_;
  std::vector<NodeId> placed_;
};

}  // namespace

void move_to_readers(const Graph& graph, const std::vector<bool>& is_output, std::vector<NodeId>& order) {
  order = ReaderOrder(graph, is_output, order).take();
}

}  // namespace kgen
