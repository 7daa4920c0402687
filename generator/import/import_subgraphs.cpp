// Nodes that have graphs of their own: branches, loops and calls of a model's functions. Their nodes stand in their
// place, those of a loop once for each step, so that what decides must be known when the model is imported.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/import/import_nodes.hpp"

namespace kgen {
namespace {

constexpr int deepest_graphs = 32;                     // calls and subgraphs within each other
constexpr std::size_t most_inlined_nodes = 1'000'000;  // of functions and loops, in all
constexpr std::int64_t most_steps = 10'000;            // of a loop

ImportedValue scalar_of(DType dtype, std::int64_t number) {
  ImportedValue value;
  value.type = {dtype, {}, nullptr};
  value.content = std::make_shared<const Content>(Content{dtype, {}, {Dim(number)}});
  return value;
}

const OnnxAttribute* attribute_named(const OnnxNode& node, std::string_view name) {
  const auto found =
      std::find_if(node.attributes.begin(), node.attributes.end(), [&](const auto& each) { return each.name == name; });
  return found == node.attributes.end() ? nullptr : &*found;
}

std::vector<std::int64_t> integers_named(const OnnxNode& node, std::string_view name, std::size_t count) {
  const OnnxAttribute* attribute = attribute_named(node, name);
  std::vector<std::int64_t> integers = attribute ? attribute->integers : std::vector<std::int64_t>{};
  integers.resize(count);
  return integers;
}

// The one element of a value; nothing where it is not known, or depends on symbolic dims.
std::optional<Number> known_number(const ImportedValue& value) {
  if (!value.content || value.content->elements.size() != 1) return std::nullopt;
  return number_of(value.content->elements[0]);
}

}  // namespace

const OnnxGraph* NodeImporter::subgraph(const Place& at, std::string_view attribute, int depth) {
  const OnnxAttribute* found = attribute_named(at.node, attribute);
  if (!found || !found->graph) return error(at, fmt::format("it has no {}", attribute)), nullptr;
  if (depth >= deepest_graphs) return error(at, "subgraphs are nested too deeply"), nullptr;
  return found->graph.get();
}

// The outputs of a subgraph, whose inputs stand in `inner`. Nothing after an error.
std::optional<std::vector<ImportedValue>> NodeImporter::import_subgraph(const Place& at, const OnnxGraph& graph,
                                                                        ImportScope& inner, int depth) {
  inlined_nodes_ += graph.nodes.size();
  if (inlined_nodes_ > most_inlined_nodes)
    return error(at, "its subgraphs are more than a million nodes"), std::nullopt;
  import_nodes(graph.nodes, at.opsets, inner, depth + 1);
  std::vector<ImportedValue> results;
  for (const OnnxValueInfo& output : graph.outputs) {
    const ImportedValue* result = inner.find(output.name);
    if (!result) return std::nullopt;
    results.push_back(*result);
  }
  return results;
}

// What a graph of a node's makes of these values, for its rule.
std::optional<std::vector<ImportedValue>> NodeImporter::call_graph(const Place& at, const std::string& attribute,
                                                                   std::vector<ImportedValue> arguments,
                                                                   ImportScope& scope, int depth) {
  const OnnxGraph* graph = subgraph(at, attribute, depth);
  if (!graph) return std::nullopt;
  if (arguments.size() != graph->inputs.size()) {
    error(at, fmt::format("its {} has {} inputs, and is given {}", attribute, graph->inputs.size(), arguments.size()));
    return std::nullopt;
  }
  ImportScope inner;
  inner.parent = &scope;
  inner.arguments = scope.arguments;
  const std::string name = at.node.name.empty() && !at.node.outputs.empty() ? at.node.outputs[0] : at.node.name;
  inner.prefix = fmt::format("{}{}_{}_", scope.prefix, name, attribute);
  import_initializers(*graph, inner);
  for (std::size_t i = 0; i < arguments.size(); ++i) inner.values[graph->inputs[i].name] = std::move(arguments[i]);
  return import_subgraph(at, *graph, inner, depth);
}

// ---- If
// ---------------------------------------------------------------------------------------------------------------

bool NodeImporter::import_branch(const Place& at, ImportScope& scope, int depth) {
  const ImportedValue* condition = at.node.inputs.size() == 1 ? scope.find(at.node.inputs[0]) : nullptr;
  if (!condition) return error(at, "it has no condition"), false;
  const auto number = known_number(*condition);
  std::optional<std::vector<ImportedValue>> results;
  if (number) {
    results = results_of_branch(at, number->real() != 0 ? "then_branch" : "else_branch", scope, depth);
  } else {
    const ImportedValue known_by_the_run = *condition;
    results = import_both_branches(at, known_by_the_run, scope, depth);
    if (!results) demand(at, {known_by_the_run});
  }
  for (std::size_t i = 0; results && i < at.node.outputs.size() && i < results->size(); ++i)
    define(at, i, (*results)[i], scope);
  return results.has_value();
}

std::optional<std::vector<ImportedValue>> NodeImporter::results_of_branch(const Place& at, std::string_view attribute,
                                                                          ImportScope& scope, int depth) {
  const OnnxGraph* branch = subgraph(at, attribute, depth);
  if (!branch) return std::nullopt;
  ImportScope inner;
  inner.parent = &scope;
  inner.arguments = scope.arguments;
  inner.prefix = scope.prefix;
  import_initializers(*branch, inner);
  return import_subgraph(at, *branch, inner, depth);
}

// Where only the run knows the condition, both branches are computed, and each result is chosen. Nothing where their
// types are not the same, or after an error.
std::optional<std::vector<ImportedValue>> NodeImporter::import_both_branches(const Place& at,
                                                                             const ImportedValue& condition,
                                                                             ImportScope& scope, int depth) {
  const auto then_results = results_of_branch(at, "then_branch", scope, depth),
             else_results = results_of_branch(at, "else_branch", scope, depth);
  if (!then_results || !else_results) return std::nullopt;
  std::vector<ImportedValue> results(at.node.outputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (at.node.outputs[i].empty()) continue;
    if (i >= then_results->size() || i >= else_results->size())
      return error(at, "its branches have fewer outputs than it"), std::nullopt;
    const ImportedValue &one = (*then_results)[i], &other = (*else_results)[i];
    if (one.type != other.type || one.counted || other.counted) {
      error(at, fmt::format("only the run knows its condition, and its branches make '{}' {} and {}",
                            at.node.outputs[i], to_text(one.type), to_text(other.type)));
      return std::nullopt;
    }
    ForeignNode node;
    node.inputs = {RuleValue{condition}, RuleValue{one}, RuleValue{other}};
    node.outputs = {scope.prefix + at.node.outputs[i]};
    auto chosen = apply_hidden(at, "_Chosen", std::move(node));
    if (!chosen) return std::nullopt;
    results[i] = std::move(*chosen);
  }
  return results;
}

// ---- Loop and Scan
// ----------------------------------------------------------------------------------------------------

// A loop while its steps are imported, one after another.
struct NodeImporter::Steps {
  const Place& at;
  ImportScope& scope;
  const OnnxGraph& body;
  ImportScope fixed;  // what is the same in all steps
  int depth;
  std::int64_t count = 0;
  std::vector<ImportedValue> front;   // results of the last step that are no states: a condition
  std::vector<ImportedValue> states;  // what a step gives the next one
  std::vector<RuleList> gathered;     // what each step gives besides
};

// One step. Of its results the first `kept` are in front of the states.
bool NodeImporter::take_step(Steps& steps, std::vector<ImportedValue> arguments, std::size_t kept) {
  const Place& at = steps.at;
  if (steps.count >= most_steps)
    return error(at, fmt::format("it has more than {} steps, and each is imported", most_steps)), false;
  if (arguments.size() != steps.body.inputs.size()) {
    error(at, fmt::format("its body has {} inputs, and it is given {}", steps.body.inputs.size(), arguments.size()));
    return false;
  }
  ImportScope inner;
  inner.parent = &steps.fixed;
  inner.arguments = steps.scope.arguments;
  const std::string name = at.node.name.empty() ? at.node.op : at.node.name;
  inner.prefix = fmt::format("{}{}_{}_", steps.scope.prefix, name, steps.count);
  for (std::size_t i = 0; i < arguments.size(); ++i) inner.values[steps.body.inputs[i].name] = std::move(arguments[i]);
  auto results = import_subgraph(at, steps.body, inner, steps.depth);
  if (!results) return false;
  if (results->size() < kept + steps.states.size())
    return error(at, "its body has fewer outputs than it has states"), false;
  const auto first = results->begin() + static_cast<std::ptrdiff_t>(kept);
  const auto behind = first + static_cast<std::ptrdiff_t>(steps.states.size());
  steps.front.assign(results->begin(), first);
  steps.states.assign(first, behind);
  steps.gathered.resize(static_cast<std::size_t>(results->end() - behind));
  for (std::size_t i = 0; i < steps.gathered.size(); ++i)
    steps.gathered[i].push_back({behind[static_cast<std::ptrdiff_t>(i)]});
  ++steps.count;
  return true;
}

// For each output of the node: the states that the last step left, and what all of them gathered, along new axes.
std::optional<std::vector<ImportedValue>> NodeImporter::finish_steps(Steps& steps, const ScanOrder& order) {
  const Place& at = steps.at;
  std::vector<ImportedValue> results = steps.states;
  results.resize(at.node.outputs.size());
  for (std::size_t i = steps.states.size(); i < at.node.outputs.size(); ++i) {
    if (at.node.outputs[i].empty()) continue;
    const std::size_t place = i - steps.states.size();
    if (place >= steps.gathered.size())
      return error(at, "it gathers the results of its steps, and has no step"), std::nullopt;
    RuleList parts = steps.gathered[place];
    if (place < order.directions.size() && order.directions[place] != 0) std::reverse(parts.begin(), parts.end());
    auto stacked = stack(at, i, std::move(parts), place < order.axes.size() ? order.axes[place] : 0, steps.scope);
    if (!stacked) return std::nullopt;
    results[i] = std::move(*stacked);
  }
  return results;
}

// Values along a new axis, for an output of the node.
std::optional<ImportedValue> NodeImporter::stack(const Place& at, std::size_t output, RuleList parts, std::int64_t axis,
                                                 const ImportScope& scope) {
  ForeignNode node;
  node.inputs = std::move(parts);
  node.attributes["axis"] = {Dim(axis)};
  node.outputs = {scope.prefix + at.node.outputs[output]};
  return apply_hidden(at, "_Stack", std::move(node));
}

// One place of an input along an axis.
std::optional<ImportedValue> NodeImporter::part_of(const Place& at, const ImportedValue& whole, std::int64_t axis,
                                                   std::int64_t place, const std::string& name) {
  ForeignNode node;
  node.inputs = {RuleValue{whole}};
  node.attributes["axis"] = {Dim(axis)};
  node.attributes["index"] = {Dim(place)};
  node.outputs = {fmt::format("{}_{}", name, place)};
  return apply_hidden(at, "_Part", std::move(node));
}

// What a rule for steps alone makes of one node.
std::optional<ImportedValue> NodeImporter::apply_hidden(const Place& at, std::string_view rule, ForeignNode node) {
  Diagnostics problems;
  RuleSetting setting{builder_, rules_, onnx_version(at), problems, {}, {}};
  auto results = apply_rule(*rules_.find("", rule, at.version), node, setting);
  if (!results) return error(at, problems), std::nullopt;
  return std::move((*results)[0]);
}

// Loop: at most M steps, while a condition holds. https://onnx.ai/onnx/operators/onnx__Loop.html
bool NodeImporter::import_loop(const Place& at, ImportScope& scope, int depth) {
  const auto input = [&](std::size_t i) { return i < at.node.inputs.size() ? scope.find(at.node.inputs[i]) : nullptr; };
  const OnnxGraph* body = subgraph(at, "body", depth);
  if (!body) return false;
  std::optional<Number> most;
  if (const ImportedValue* trips = input(0)) {
    most = known_number(*trips);
    if (!most && trips->content)
      return error(at, "how many steps it has depends on sizes that are known only at run time"), false;
    if (!most) return demand(at, {*trips}), false;
  }
  ImportedValue condition = input(1) ? *input(1) : scalar_of(DType::boolean, 1);
  Steps steps{at, scope, *body, {}, depth, 0, {}, {}, {}};
  steps.fixed.parent = &scope;
  steps.fixed.arguments = scope.arguments;
  steps.fixed.prefix = scope.prefix;
  import_initializers(*body, steps.fixed);
  for (std::size_t i = 2; i < at.node.inputs.size(); ++i) {
    if (!input(i)) return error(at, "one of its states is left out"), false;
    steps.states.push_back(*input(i));
  }
  while (!most || steps.count < most->real()) {
    const auto holds = known_number(condition);
    if (!holds && condition.content)
      return error(at, "its condition depends on sizes that are known only at run time"), false;
    if (!holds) return demand(at, {condition}), false;
    if (holds->real() == 0) break;
    std::vector<ImportedValue> arguments = {scalar_of(DType::i64, steps.count), condition};
    arguments.insert(arguments.end(), steps.states.begin(), steps.states.end());
    if (!take_step(steps, std::move(arguments), 1)) return false;
    condition = steps.front[0];
  }
  const auto results = finish_steps(steps, {});
  for (std::size_t i = 0; results && i < results->size(); ++i) define(at, i, (*results)[i], scope);
  return results.has_value();
}

// Scan: a step for each part of its inputs along an axis. https://onnx.ai/onnx/operators/onnx__Scan.html
bool NodeImporter::import_scan(const Place& at, ImportScope& scope, int depth) {
  const OnnxAttribute* given = attribute_named(at.node, "num_scan_inputs");
  const bool by_sequence = at.version < 9;  // then each sequence of a batch has states of its own
  const std::size_t first = by_sequence ? 1 : 0, all = at.node.inputs.size();
  const auto most = static_cast<std::int64_t>(all) - static_cast<std::int64_t>(first);
  if (!given || given->integer < 1 || given->integer > most)
    return error(at, "it has no inputs to scan"), false;
  if (by_sequence && !at.node.inputs[0].empty())
    return error(at, "sequences of lengths of their own are not supported"), false;
  const OnnxGraph* body = subgraph(at, "body", depth);
  if (!body) return false;
  const auto scanned = static_cast<std::size_t>(given->integer), state_count = all - scanned - first;
  std::vector<ImportedValue> states, inputs;
  for (std::size_t i = first; i < all; ++i) {
    const ImportedValue* input = scope.find(at.node.inputs[i]);
    if (!input) return error(at, "one of its inputs is left out"), false;
    (i < first + state_count ? states : inputs).push_back(*input);
  }
  const std::size_t outputs = at.node.outputs.size() > state_count ? at.node.outputs.size() - state_count : 0;
  const ScanOrder in = {integers_named(at.node, "scan_input_axes", scanned),
                        integers_named(at.node, by_sequence ? "directions" : "scan_input_directions", scanned)};
  const ScanOrder out = {integers_named(at.node, "scan_output_axes", outputs),
                         integers_named(at.node, "scan_output_directions", outputs)};
  Steps steps{at, scope, *body, {}, depth, 0, {}, std::move(states), {}};
  steps.fixed.parent = &scope;
  steps.fixed.arguments = scope.arguments;
  steps.fixed.prefix = scope.prefix;
  import_initializers(*body, steps.fixed);
  const auto results = by_sequence ? scan_sequences(steps, inputs, in) : scan(steps, inputs, in, out);
  for (std::size_t i = 0; results && i < results->size(); ++i) define(at, i, (*results)[i], scope);
  return results.has_value();
}

// How many places the value has along the axis, which must be known.
std::optional<std::int64_t> NodeImporter::places_along(const Place& at, const ImportedValue& value, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(value.type.shape.size());
  if (axis < -rank || axis >= rank)
    return error(at, fmt::format("'{}' has no axis {}", value.name, axis)), std::nullopt;
  const Dim& extent = value.type.shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
  if (extent.is_constant()) return extent.constant();
  error(at, fmt::format("it has a step for each of {} parts of '{}', which is known only at run time", extent.text(),
                        value.name));
  return std::nullopt;
}

// All steps of one sequence.
std::optional<std::vector<ImportedValue>> NodeImporter::scan(Steps& steps, const std::vector<ImportedValue>& inputs,
                                                             const ScanOrder& in, const ScanOrder& out) {
  const Place& at = steps.at;
  std::optional<std::int64_t> length;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto places = places_along(at, inputs[i], in.axes[i]);
    if (!places) return std::nullopt;
    if (length && *length != *places)
      return error(at, "the inputs that it scans have different lengths"), std::nullopt;
    length = places;
  }
  for (std::int64_t step = 0; step < *length; ++step) {
    std::vector<ImportedValue> arguments = steps.states;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int64_t place = in.directions[i] != 0 ? *length - 1 - step : step;
      auto part = part_of(at, inputs[i], in.axes[i], place, inputs[i].name);
      if (!part) return std::nullopt;
      arguments.push_back(std::move(*part));
    }
    if (!take_step(steps, std::move(arguments), 0)) return std::nullopt;
  }
  return finish_steps(steps, out);
}

// One sequence after another, which are the first axis of states, inputs and outputs.
std::optional<std::vector<ImportedValue>> NodeImporter::scan_sequences(Steps& steps,
                                                                       const std::vector<ImportedValue>& inputs,
                                                                       const ScanOrder& in) {
  const Place& at = steps.at;
  const auto count = places_along(at, inputs[0], 0);
  if (!count) return std::nullopt;
  if (*count < 1) return error(at, "it scans no sequence"), std::nullopt;
  std::vector<RuleList> gathered(at.node.outputs.size());
  const auto part = [&](const ImportedValue& whole, std::int64_t sequence, std::vector<ImportedValue>& parts) {
    auto found = part_of(at, whole, 0, sequence, whole.name);
    if (found) parts.push_back(std::move(*found));
    return found.has_value();
  };
  for (std::int64_t sequence = 0; sequence < *count; ++sequence) {
    Steps own{at, steps.scope, steps.body, steps.fixed, steps.depth, steps.count, {}, {}, {}};
    std::vector<ImportedValue> scanned;
    for (const ImportedValue& each : steps.states)
      if (!part(each, sequence, own.states)) return std::nullopt;
    for (const ImportedValue& each : inputs)
      if (!part(each, sequence, scanned)) return std::nullopt;
    const auto results = scan(own, scanned, in, {});
    if (!results) return std::nullopt;
    for (std::size_t i = 0; i < gathered.size(); ++i) gathered[i].push_back({(*results)[i]});
    steps.count = own.count;
  }
  std::vector<ImportedValue> results(gathered.size());
  for (std::size_t i = 0; i < gathered.size(); ++i) {
    if (at.node.outputs[i].empty()) continue;
    auto stacked = stack(at, i, std::move(gathered[i]), 0, steps.scope);
    if (!stacked) return std::nullopt;
    results[i] = std::move(*stacked);
  }
  return results;
}

// ---- functions
// --------------------------------------------------------------------------------------------------------

// A call of one of the model's own functions, whose nodes stand in its place.
bool NodeImporter::import_call(const Place& at, ImportScope& scope, int depth) {
  const auto found = std::find_if(model_.functions.begin(), model_.functions.end(), [&](const OnnxFunction& each) {
    return each.name == at.node.op && each.domain == at.node.domain && each.overload == at.node.overload;
  });
  const OnnxFunction& function = *found;
  inlined_nodes_ += function.nodes.size();
  if (depth >= deepest_graphs) return error(at, "functions call each other without end, or too deeply"), false;
  if (inlined_nodes_ > most_inlined_nodes)
    return error(at, "the calls of functions are more than a million nodes"), false;
  if (at.node.inputs.size() > function.inputs.size()) return error(at, "it gives its function too many inputs"), false;
  std::map<std::string, OnnxAttribute> arguments;
  for (const OnnxAttribute& each : function.defaults) arguments[each.name] = each;
  for (OnnxAttribute each : at.node.attributes) {
    if (!each.reference.empty()) {
      const auto outer = scope.arguments ? scope.arguments->find(each.reference) : arguments.end();
      if (!scope.arguments || outer == scope.arguments->end()) continue;
      std::string name = each.name;
      each = outer->second;
      each.name = std::move(name);
    }
    arguments[each.name] = std::move(each);
  }
  ImportScope inner;
  inner.arguments = &arguments;
  inner.prefix = scope.prefix +
                 (at.node.name.empty() ? (at.node.outputs.empty() ? at.node.op : at.node.outputs[0]) : at.node.name) +
                 "_";
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) {
    if (const ImportedValue* operand = scope.find(at.node.inputs[i])) inner.values[function.inputs[i]] = *operand;
  }
  const std::size_t call = builder_.begin_call(function.name);
  import_nodes(function.nodes, function.opsets.empty() ? at.opsets : function.opsets, inner, depth + 1);
  builder_.end_call(call);
  bool good = true;
  for (std::size_t i = 0; i < at.node.outputs.size() && i < function.outputs.size(); ++i) {
    const ImportedValue* result = inner.find(function.outputs[i]);
    good = good && result;
    if (result) define(at, i, *result, scope);
  }
  return good;
}

}  // namespace kgen
