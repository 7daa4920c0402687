#include "generator/pass/graph/graph_edit.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace kgen {

void UniqueNames::take_all() {
  const Graph* graph = std::exchange(graph_, nullptr);
  if (!graph) return;
  next_suffix_.reserve(graph->values.size());
  for (const Value& value : graph->values) next_suffix_.emplace(value.name, 2);
}

bool UniqueNames::is_taken(const std::string& name) {
  take_all();
  return next_suffix_.contains(name);
}

std::string UniqueNames::take(const std::string& wish) {
  take_all();
  ++tried_;
  const auto [taken, free] = next_suffix_.try_emplace(wish, 2);
  if (free) return wish;
  std::string name;
  do {
    ++tried_;
    name = wish + "_" + std::to_string(taken->second++);
  } while (next_suffix_.contains(name));
  next_suffix_.emplace(name, 2);
  return name;
}

ValueId add_result(Graph& graph, std::string name, TensorType type, SourceLocation where) {
  graph.values.push_back({.name = std::move(name), .type = std::move(type), .where = where});
  return static_cast<ValueId>(graph.values.size() - 1);
}

ValueId add_constant(Graph& graph, std::string name, std::optional<TensorType> type, std::vector<Number> values,
                     SourceLocation where) {
  const auto id = static_cast<ValueId>(graph.values.size());
  graph.values.push_back({.name = std::move(name),
                          .kind = ValueKind::constant,
                          .type = std::move(type),
                          .index = static_cast<std::uint32_t>(graph.constants.size()),
                          .where = where});
  graph.constants.push_back({{std::move(values), {}, {}}, id});
  return id;
}

void number_producers(Graph& graph) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    for (std::uint32_t i = 0; i < node.outputs.size(); ++i) {
      graph.value(node.outputs[i]).producer = id;
      graph.value(node.outputs[i]).index = i;
    }
  }
}

ValueId updated_state(const Graph& graph, ValueId value) {
  while (graph.value(value).kind == ValueKind::result) {
    const Value& result = graph.value(value);
    value = updated_operand(graph.nodes[result.producer], result.index);
    if (value == no_id) return no_id;
  }
  return graph.value(value).kind == ValueKind::state ? value : no_id;
}

std::vector<std::uint32_t> count_readers(const Graph& graph) {
  std::vector<std::uint32_t> readers(graph.values.size(), 0);
  std::vector<NodeId> last_reader(graph.values.size(), no_id);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const ValueId input : graph.nodes[id].inputs) {
      if (input == no_id || last_reader[input] == id) continue;
      last_reader[input] = id;
      ++readers[input];
    }
  }
  for (const ValueId output : graph.outputs) ++readers[output];
  for (const StateData& state : graph.states) {
    if (state.next != no_id) ++readers[state.next];
  }
  return readers;
}

namespace {

// A stub that is pinned is named after what it makes.
constexpr std::string_view stub_prefix = "stub_";

std::unordered_set<std::string_view> names_in(const FusionDirectives& directives) {
  std::unordered_set<std::string_view> names;
  for (const auto* groups : {&directives.forbid, &directives.force, &directives.expect, &directives.pin}) {
    for (const auto& group : *groups) names.insert(group.values.begin(), group.values.end());
  }
  for (const auto& group : directives.pin) {
    for (const std::string_view stub : group.values) {
      if (stub.starts_with(stub_prefix)) names.insert(stub.substr(stub_prefix.size()));
    }
  }
  return names;
}

}  // namespace

std::vector<bool> named_values(const Graph& graph) {
  const auto names = names_in(graph.directives);
  std::vector<bool> named(graph.values.size(), false);
  for (ValueId id = 0; id < graph.values.size(); ++id) named[id] = names.contains(graph.value(id).name);
  return named;
}

void warn_if_unread(const Graph& graph, const Node& node, const std::vector<std::uint32_t>& readers,
                    Diagnostics& diagnostics) {
  const auto is_read = [&](ValueId output) { return readers[output] > 0; };
  if (std::any_of(node.outputs.begin(), node.outputs.end(), is_read)) return;
  std::vector<std::string> names;
  for (const ValueId output : node.outputs) names.push_back(graph.value(output).name);
  diagnostics.warning(node.where, quoted_list(names) + (names.size() == 1 ? " is" : " are") + " never read")
      .advise("remove the node, or list what it makes under `outputs:`");
}

namespace {

// By ValueId: whether a node, the graph's interface or a state refers to it.
std::vector<bool> values_in_use(const Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) {
      if (input != no_id) used[input] = true;
    }
    for (const ValueId output : node.outputs) used[output] = true;
  }
  for (const GraphInput& input : graph.inputs) used[input.value] = true;
  for (const ValueId output : graph.outputs) used[output] = true;
  for (const StateData& state : graph.states) {
    used[state.value] = true;
    if (state.next != no_id) used[state.next] = true;
  }
  return used;
}

// Moves the elements to keep to the front, in order, and returns the new id of each old one.
template <class T>
std::vector<std::uint32_t> keep_only(std::vector<T>& elements, const std::vector<bool>& keep) {
  std::vector<std::uint32_t> new_id(elements.size(), no_id);
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < elements.size(); ++i) {
    if (!keep[i]) continue;
    if (i != kept) elements[kept] = std::move(elements[i]);
    new_id[i] = kept++;
  }
  elements.erase(elements.begin() + kept, elements.end());
  return new_id;
}

void renumber_values(Graph& graph, const std::vector<ValueId>& new_id) {
  const auto renumber = [&](ValueId& id) {
    if (id != no_id) id = new_id[id];
  };
  for (Node& node : graph.nodes) {
    for (ValueId& input : node.inputs) renumber(input);
    for (ValueId& output : node.outputs) renumber(output);
  }
  for (GraphInput& input : graph.inputs) renumber(input.value);
  for (ConstantData& constant : graph.constants) renumber(constant.value);
  for (StateData& state : graph.states) {
    renumber(state.value);
    renumber(state.next);
  }
  for (ValueId& output : graph.outputs) renumber(output);
}

}  // namespace

void drop_nodes(Graph& graph, const std::vector<bool>& removed) {
  std::vector<bool> kept(removed);
  kept.flip();
  keep_only(graph.nodes, kept);
  number_producers(graph);
}

Attributes attributes_of_cast(const OpSpec& cast, DType to) {
  Attributes attributes;
  for (const AttributeSpec& each : cast.attributes) {
    attributes.emplace_back(each.name, each.name == "to" ? AttributeValue(to) : each.default_value.value());
  }
  return attributes;
}

void move_choices(Graph& graph, const std::unordered_map<std::string, std::string>& renamed) {
  if (renamed.empty()) return;
  std::unordered_set<std::string_view> present;
  for (const Value& value : graph.values) present.insert(value.name);
  const auto move_all = [&](auto& choices) {
    for (auto& choice : choices) {
      const auto found = renamed.find(choice.value);
      if (found != renamed.end() && present.contains(found->second)) choice.value = found->second;
    }
  };
  move_all(graph.recognitions);
  move_all(graph.kernel_choices);
}

void drop_unused_values(Graph& graph) {
  const std::vector<bool> used = values_in_use(graph);
  std::vector<bool> kept_constants(graph.constants.size());
  for (std::size_t i = 0; i < graph.constants.size(); ++i) kept_constants[i] = used[graph.constants[i].value];
  keep_only(graph.constants, kept_constants);
  renumber_values(graph, keep_only(graph.values, used));

  for (std::uint32_t i = 0; i < graph.constants.size(); ++i) graph.value(graph.constants[i].value).index = i;
}

}  // namespace kgen
