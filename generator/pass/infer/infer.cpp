#include "generator/pass/infer/infer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "generator/base/ensure.hpp"
#include "generator/pass/graph/topological_order.hpp"
#include "generator/pass/infer/infer_context.hpp"
#include "generator/pass/infer/infer_node.hpp"
#include "generator/spec/infer_number.hpp"

namespace kgen {
namespace {

// Every element must be a number that its dtype holds.
void validate_constant(const Graph& graph, const ConstantData& constant, Diagnostics& diagnostics) {
  const Value& value = graph.value(constant.value);
  if (!value.type) return;  // a number among operands: infer_node checks it
  for (const Number& number : constant.values) {
    if (const auto problem = number_problem(number, value.type->dtype)) {
      diagnostics.error(value.where, *problem);
      return;
    }
  }
}

void validate_states(const Graph& graph, Diagnostics& diagnostics) {
  for (const StateData& state : graph.states) {
    if (state.next == no_id || !graph.value(state.next).type) continue;
    if (graph.type(state.value) == graph.type(state.next)) continue;
    diagnostics.error(state.where, fmt::format("state {} cannot become {}", describe(graph, state.value),
                                               describe(graph, state.next)))
        .note("the next value of a state has the type of the state");
  }
}

// Only kernels know what a struct holds: its values stay between them.
void validate_outputs(const Graph& graph, Diagnostics& diagnostics) {
  for (const ValueId output : graph.outputs) {
    const Value& value = graph.value(output);
    if (!value.type || !value.type->structure) continue;
    diagnostics.error(value.where, fmt::format("{} cannot be an output", describe(graph, output)))
        .note(value.type->structure->where, "only kernels know what this struct holds")
        .advise("let an operator turn it into numbers, and return those");
  }
}

// ---- calls ----------------------------------------------------------------------------------------------------------

// Result i of one call is operand i of the next.
bool validate_repeat(const Graph& function, const Node& node, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    const ValueId output = function.outputs[i];
    const ValueId input = function.inputs[i].value;
    if (function.type(output) == function.type(input)) continue;
    diagnostics.error(node.where, fmt::format("function '{}' cannot repeat: its output {} is to feed its input {}",
                                              function.name, describe(function, output), describe(function, input)))
        .note("with repeat, result i of one call is operand i of the next");
    return false;
  }
  return true;
}

void infer_call(const std::vector<Graph>& functions, Graph& graph, const Node& node, Diagnostics& diagnostics) {
  const Call& call = std::get<Call>(node.kind);
  const Graph& function = functions[call.function];
  ensure(node.inputs.size() == function.inputs.size() && node.outputs.size() == function.outputs.size(),
         "load refuses a call with more or fewer operands or results than its function");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId parameter = function.inputs[i].value;
    if (graph.type(node.inputs[i]) == function.type(parameter)) continue;
    diagnostics.error(node.where, fmt::format("function '{}' takes {}, not {}", function.name,
                                              describe(function, parameter), describe(graph, node.inputs[i])));
    return;
  }
  const bool results_typed = std::all_of(function.outputs.begin(), function.outputs.end(),
                                         [&](ValueId id) { return function.value(id).type.has_value(); });
  if (!results_typed || (call.repeat > 1 && !validate_repeat(function, node, diagnostics))) return;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    graph.value(node.outputs[i]).type = function.type(function.outputs[i]);
  }
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

// False where an operand has no type because the node that makes it was already reported.
bool operands_are_typed(const Graph& graph, const Node& node) {
  return std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    return id != no_id && graph.value(id).kind == ValueKind::result && !graph.value(id).type;
  });
}

// The run checks each condition once, with the meaning it has first.
void drop_repeated_requirements(Graph& graph) {
  std::unordered_set<std::string> seen;
  std::erase_if(graph.requirements, [&](const DimRequirement& requirement) {
    return !seen.insert(requirement.left.text() + " <= " + requirement.right.text()).second;
  });
}

void infer_graph(const std::vector<Graph>& functions, Graph& graph, const DimRanges& ranges, Diagnostics& diagnostics) {
  for (const ConstantData& constant : graph.constants) validate_constant(graph, constant, diagnostics);
  if (!sort_nodes(graph, diagnostics)) return;
  for (Node& node : graph.nodes) {
    if (!operands_are_typed(graph, node)) continue;
    if (node.op) {
      infer_node(graph, node, ranges, diagnostics);
    } else {
      infer_call(functions, graph, node, diagnostics);
    }
  }
  validate_states(graph, diagnostics);
  validate_outputs(graph, diagnostics);
  drop_repeated_requirements(graph);
}

}  // namespace

Module infer(Module module, const OpSet&, Diagnostics& diagnostics) {
  const DimRanges ranges = ranges_of(module.main);
  for (Graph& function : module.functions) infer_graph(module.functions, function, ranges, diagnostics);
  infer_graph(module.functions, module.main, ranges, diagnostics);
  return module;
}

}  // namespace kgen
