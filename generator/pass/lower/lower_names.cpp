#include "generator/pass/lower/lower_names.hpp"

#include <algorithm>
#include <cctype>
#include <unordered_set>

namespace kgen {
namespace {

bool makes(const Graph& graph, const Group& group, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  return producer != no_id && std::binary_search(group.nodes.begin(), group.nodes.end(), producer);
}

// "rms_norm" of what was expanded from one.
const std::string& operator_name(const Node& node) { return node.within.empty() ? node.op->name : node.within; }

bool is_identifier(const std::string& text) {
  return !text.empty() && (std::isalpha(static_cast<unsigned char>(text.front())) != 0 || text.front() == '_');
}

// What operand `input` is to the node: "a", or as the expansion has it that the node comes from.
const std::string& operand_name(const Node& node, std::size_t input) {
  const bool has_origin = node.origin && node.origin->inputs.size() == node.inputs.size();
  if (has_origin && is_identifier(node.origin->inputs[input].text)) return node.origin->inputs[input].text;
  return node.op->operands[std::min(input, node.op->operands.size() - 1)].name;
}

// The slice that an expansion makes at a constant place; null where the value is none.
const IndexMap* constant_slice(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.kind != ValueKind::result || value.local.empty()) return nullptr;
  const auto* view = std::get_if<IndexMap>(&graph.nodes[value.producer].kind);
  const bool fits =
      view && view->form == ViewRule::Form::slice && view->begin.is_constant() && view->length.is_constant();
  return fits ? view : nullptr;
}

}  // namespace

ValueId written_value(const FuseFacts& facts, const Group& group, ValueId value) {
  const Graph& graph = facts.graph();
  ValueId at = value;
  while (!graph.value(at).local.empty()) {
    if (facts.consumers(at).size() != 1) return value;
    const Node& reader = graph.nodes[facts.consumers(at).front()];
    const bool puts_together = std::holds_alternative<IndexMap>(reader.kind) && !reader.within.empty();
    const bool alone = std::all_of(reader.inputs.begin(), reader.inputs.end(),
                                   [&](ValueId input) { return input == at || makes(graph, group, input); });
    if (!puts_together || !alone) return value;
    at = reader.outputs[0];
  }
  return at;
}

const std::string& result_name(const FuseFacts& facts, const Group& group) {
  return facts.graph().value(written_value(facts, group, group.outputs.back())).name;
}

StubRead stub_read(const Graph& graph, ValueId value) {
  StubRead read{value, {}};
  while (const IndexMap* view = constant_slice(graph, read.parameter)) {
    read.slices.insert(read.slices.begin(), {view->axis, view->begin.constant(), view->length.constant(), view->step});
    read.parameter = graph.nodes[graph.value(read.parameter).producer].inputs[0];
  }
  return read;
}

std::vector<ValueId> stub_arguments(const Graph& graph, const Group& group) {
  std::vector<ValueId> values = group.outputs;
  std::unordered_set<ValueId> known;
  for (const ValueId input : group.inputs) {
    const ValueId parameter = stub_read(graph, input).parameter;
    if (known.insert(parameter).second) values.push_back(parameter);
  }
  return values;
}

GeneralNames::GeneralNames(const FuseFacts& facts, const Group& group) {
  const Graph& graph = facts.graph();
  const auto add_made = [&](ValueId value, const std::string& name, const std::string& longer) {
    const std::string& local = graph.value(value).local;
    add(value, local.empty() ? name : local, longer);
  };
  for (const ValueId output : group.outputs) {
    const std::string& op = operator_name(graph.nodes[graph.value(output).producer]);
    add_made(output, group.outputs.size() == 1 ? "out" : op, op + "_out");
  }
  for (const ValueId argument : stub_arguments(graph, group)) add_read(facts, group, argument);
  for (const ValueId input : group.inputs) add_read(facts, group, input);
  for (const NodeId id : group.nodes) {
    const std::string made = operator_name(graph.nodes[id]) + "_result";
    for (const ValueId output : graph.nodes[id].outputs) add_made(output, made, made);
  }
}

void GeneralNames::add(ValueId value, const std::string& name, const std::string& longer) {
  if (names_.contains(value)) return;
  names_.emplace(value, taken_.take(taken_.is_taken(name) ? longer : name));
}

void GeneralNames::add_read(const FuseFacts& facts, const Group& group, ValueId value) {
  const Graph& graph = facts.graph();
  if (names_.contains(value)) return;
  if (const std::string& local = graph.value(value).local; !local.empty()) return add(value, local, local);
  for (const NodeId id : group.nodes) {
    for (std::size_t i = 0; i < graph.nodes[id].inputs.size(); ++i) {
      // The reader, or the first of the slices through which it reads the value.
      const Node* reader = &graph.nodes[id];
      std::size_t operand = i;
      ValueId at = reader->inputs[i];
      while (at != no_id && at != value && constant_slice(graph, at)) {
        reader = &graph.nodes[graph.value(at).producer];
        operand = 0;
        at = reader->inputs[0];
      }
      if (at != value) continue;
      const std::string& name = operand_name(*reader, operand);
      return add(value, name, operator_name(*reader) + "_" + name);
    }
  }
  add(value, "in", "in");
}

}  // namespace kgen
