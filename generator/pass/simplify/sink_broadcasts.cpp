#include "generator/pass/simplify/sink_broadcasts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/pass/graph/graph_edit.hpp"

namespace kgen {
namespace {

// A call of the function at hand.
struct CallSite {
  Graph* graph = nullptr;
  NodeId node = no_id;
};

std::vector<CallSite> find_calls(Module& module, std::uint32_t function) {
  std::vector<CallSite> calls;
  const auto search = [&](Graph& graph) {
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const auto* call = std::get_if<Call>(&graph.nodes[id].kind);
      if (call && call->function == function) calls.push_back({&graph, id});
    }
  };
  for (Graph& graph : module.functions) search(graph);
  search(module.main);
  return calls;
}

// The broadcast that makes the call's operand number `operand`; null where something else does, or where results of the
// call become it.
const Node* broadcast_to_call(const CallSite& site, std::size_t operand) {
  const Graph& graph = *site.graph;
  const Node& node = graph.nodes[site.node];
  if (std::get<Call>(node.kind).repeat > 1 && operand < node.outputs.size()) return nullptr;
  const Value& value = graph.value(node.inputs[operand]);
  if (value.kind != ValueKind::result) return nullptr;
  const Node& producer = graph.nodes[value.producer];
  const auto* view = std::get_if<IndexMap>(&producer.kind);
  return view && view->form == ViewRule::Form::broadcast ? &producer : nullptr;
}

// The broadcast that all calls are given as that operand, of values of one type; null where there is none.
const Node* common_broadcast(const std::vector<CallSite>& calls, std::size_t operand) {
  const Node* first = nullptr;
  for (const CallSite& site : calls) {
    const Node* node = broadcast_to_call(site, operand);
    if (!node) return nullptr;
    if (!first) first = node;
    if (site.graph->type(node->inputs[0]) != calls[0].graph->type(first->inputs[0])) return nullptr;
  }
  return first;
}

// The function takes a value of type `type` as its input number `operand`, and broadcasts it first of all.
void broadcast_inside(Graph& function, std::size_t operand, Node broadcast, TensorType type) {
  const ValueId input = function.inputs[operand].value;
  UniqueNames names(function);
  const ValueId whole = add_result(function, names.take(function.value(input).name + "_broadcast"),
                                   function.type(input), function.value(input).where);
  const auto replace = [&](ValueId& value) {
    if (value == input) value = whole;
  };
  for (Node& node : function.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), replace);
  std::for_each(function.outputs.begin(), function.outputs.end(), replace);
  for (StateData& state : function.states) replace(state.next);
  function.value(input).type = std::move(type);
  broadcast.inputs = {input};
  broadcast.outputs = {whole};
  function.nodes.insert(function.nodes.begin(), std::move(broadcast));
  number_producers(function);
}

void sink_into(Module& module, std::uint32_t function) {
  const std::vector<CallSite> calls = find_calls(module, function);
  for (std::size_t operand = 0; operand < module.functions[function].inputs.size(); ++operand) {
    const Node* broadcast = common_broadcast(calls, operand);
    if (!broadcast) continue;
    broadcast_inside(module.functions[function], operand, *broadcast, calls[0].graph->type(broadcast->inputs[0]));
    for (const CallSite& site : calls) {
      site.graph->nodes[site.node].inputs[operand] = broadcast_to_call(site, operand)->inputs[0];
    }
  }
}

}  // namespace

Module sink_broadcasts(Module module) {
  // Callers stand after what they call: what sinks into one may sink further.
  for (auto function = static_cast<std::uint32_t>(module.functions.size()); function-- > 0;)
    sink_into(module, function);
  return module;
}

}  // namespace kgen
