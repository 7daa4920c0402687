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

// ---- If
// ---------------------------------------------------------------------------------------------------------------

bool NodeImporter::import_branch(const Place& at, ImportScope& scope, int depth) {
  const ImportedValue* condition = at.node.inputs.size() == 1 ? scope.find(at.node.inputs[0]) : nullptr;
  if (!condition) return error(at, "it has no condition"), false;
  if (!condition->content || condition->content->elements.size() != 1) {
    demand(at, {*condition});
    return false;
  }
  const auto number = known_number(*condition);
  if (!number) return error(at, "its condition depends on sizes that are known only at run time"), false;
  const OnnxGraph* branch = subgraph(at, number->real() != 0 ? "then_branch" : "else_branch", depth);
  if (!branch) return false;
  ImportScope inner;
  inner.parent = &scope;
  inner.arguments = scope.arguments;
  inner.prefix = scope.prefix;
  import_initializers(*branch, inner);
  const auto results = import_subgraph(at, *branch, inner, depth);
  for (std::size_t i = 0; results && i < at.node.outputs.size() && i < results->size(); ++i)
    define(at, i, (*results)[i], scope);
  return results.has_value();
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

// The states that the last step left, and what all of them gathered, along new axes.
bool NodeImporter::finish_steps(Steps& steps, const std::vector<std::int64_t>& axes,
                                const std::vector<std::int64_t>& directions) {
  const Place& at = steps.at;
  for (std::size_t i = 0; i < steps.states.size(); ++i) define(at, i, steps.states[i], steps.scope);
  for (std::size_t i = steps.states.size(); i < at.node.outputs.size(); ++i) {
    if (at.node.outputs[i].empty()) continue;
    const std::size_t place = i - steps.states.size();
    if (place >= steps.gathered.size()) return error(at, "it gathers the results of its steps, and has no step"), false;
    ForeignNode node;
    node.inputs.assign(steps.gathered[place].begin(), steps.gathered[place].end());
    if (place < directions.size() && directions[place] != 0) std::reverse(node.inputs.begin(), node.inputs.end());
    node.attributes["axis"] = {Dim(place < axes.size() ? axes[place] : 0)};
    node.outputs = {steps.scope.prefix + at.node.outputs[i]};
    auto stacked = apply_hidden(at, "_Stack", std::move(node));
    if (!stacked) return false;
    define(at, i, std::move(*stacked), steps.scope);
  }
  return true;
}

// What a rule for steps alone makes of one node.
std::optional<ImportedValue> NodeImporter::apply_hidden(const Place& at, std::string_view rule, ForeignNode node) {
  Diagnostics problems;
  RuleSetting setting{builder_, rules_, at.version, problems, {}};
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
  return finish_steps(steps, {}, {});
}

// Scan: a step for each part of its inputs along an axis. https://onnx.ai/onnx/operators/onnx__Scan.html
bool NodeImporter::import_scan(const Place& at, ImportScope& scope, int depth) {
  const OnnxAttribute* given = attribute_named(at.node, "num_scan_inputs");
  const std::size_t all = at.node.inputs.size();
  if (at.version < 9) return error(at, "it is supported since version 9 of its operator set"), false;
  if (!given || given->integer < 1 || given->integer > static_cast<std::int64_t>(all))
    return error(at, "it has no inputs to scan"), false;
  const auto scanned = static_cast<std::size_t>(given->integer), state_count = all - scanned;
  const OnnxGraph* body = subgraph(at, "body", depth);
  if (!body) return false;
  Steps steps{at, scope, *body, {}, depth, 0, {}, {}, {}};
  steps.fixed.parent = &scope;
  steps.fixed.arguments = scope.arguments;
  steps.fixed.prefix = scope.prefix;
  import_initializers(*body, steps.fixed);
  for (std::size_t i = 0; i < state_count; ++i) steps.states.push_back(*scope.find(at.node.inputs[i]));
  const auto axes = integers_named(at.node, "scan_input_axes", scanned);
  const auto directions = integers_named(at.node, "scan_input_directions", scanned);
  std::optional<std::int64_t> length;
  for (std::size_t i = 0; i < scanned; ++i) {
    const Shape& shape = scope.find(at.node.inputs[state_count + i])->type.shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank)
      return error(at, fmt::format("'{}' has no axis {}", at.node.inputs[state_count + i], axes[i])), false;
    const Dim& extent = shape[static_cast<std::size_t>(axis)];
    if (!extent.is_constant()) {
      error(at, fmt::format("it has a step for each of {} parts of '{}', which is known only at run time",
                            extent.text(), at.node.inputs[state_count + i]));
      return false;
    }
    if (length && *length != extent.constant())
      return error(at, "the inputs that it scans have different lengths"), false;
    length = extent.constant();
  }
  for (std::int64_t step = 0; step < *length; ++step) {
    std::vector<ImportedValue> arguments = steps.states;
    for (std::size_t i = 0; i < scanned; ++i) {
      ForeignNode node;
      node.inputs = {RuleValue{*scope.find(at.node.inputs[state_count + i])}};
      node.attributes["axis"] = {Dim(axes[i])};
      node.attributes["index"] = {Dim(directions[i] != 0 ? *length - 1 - step : step)};
      node.outputs = {fmt::format("{}{}_{}", scope.prefix, at.node.inputs[state_count + i], step)};
      auto part = apply_hidden(at, "_Part", std::move(node));
      if (!part) return false;
      arguments.push_back(std::move(*part));
    }
    if (!take_step(steps, std::move(arguments), 0)) return false;
  }
  const std::size_t outputs = at.node.outputs.size() > state_count ? at.node.outputs.size() - state_count : 0;
  return finish_steps(steps, integers_named(at.node, "scan_output_axes", outputs),
                      integers_named(at.node, "scan_output_directions", outputs));
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
