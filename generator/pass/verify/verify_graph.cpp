#include "generator/pass/verify/verify_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <future>
#include <utility>

#include "generator/base/parallel.hpp"
#include "generator/pass/verify/most_problems.hpp"
#include "generator/pass/verify/verify_groups.hpp"
#include "generator/pass/verify/verify_nodes.hpp"
#include "generator/pass/verify/verify_samples.hpp"

namespace kgen {
namespace {

using Form = ViewRule::Form;

class GraphVerifier {
 public:
  GraphVerifier(const Graph& graph, const GraphFacts& facts, NodeVerifier nodes)
      : graph_(graph), facts_(facts), nodes_(std::move(nodes)) {}

  std::vector<std::string> run() {
    // Names need nothing else.
    std::future<std::vector<ValueId>> twice =
        std::async(beside_if_many(graph_.values.size()), [&] { return named_twice(); });
    verify_interface();
    verify_values();
    if (problems_.empty()) verify_contents();
    verify_nodes();
    if (problems_.empty() && facts_.materialised) verify_writers();
    for (const ValueId id : twice.get()) problem(id, "is the name of two values");
    return std::move(problems_);
  }

 private:
  void problem(std::string_view subject, std::string_view what) {
    if (problems_.size() < most_problems) problems_.push_back(fmt::format("'{}' {}", subject, what));
  }
  void problem(ValueId value, std::string_view what) { problem(graph_.value(value).name, what); }
  bool exists(ValueId value) const { return value < graph_.values.size(); }

  void verify_interface();
  void verify_home(ValueId value, ValueKind kind, std::size_t index);
  void verify_values();
  void verify_link(ValueId id);
  std::vector<ValueId> named_twice() const;
  void verify_contents();
  using NodeProblems = std::vector<std::pair<NodeId, std::string_view>>;
  void verify_nodes();
  NodeProblems node_problems(std::size_t first, std::size_t end) const;
  bool verify_ids(const Node& node);
  void verify_order(const Node& node);
  void verify_writers();

  const Graph& graph_;
  const GraphFacts& facts_;
  const NodeVerifier nodes_;
  std::vector<bool> made_;  // by value: before the node at hand
  std::vector<std::string> problems_;
};

// ---- ids ------------------------------------------------------------------------------------------------------------

// Entry `index` of a list of the graph's inputs, constants or states, and its value, know each other.
void GraphVerifier::verify_home(ValueId id, ValueKind kind, std::size_t index) {
  if (!exists(id)) return problem(graph_.name, "has an input, a constant or a state that is no value");
  const Value& value = graph_.value(id);
  if (value.kind != kind || value.index != index) problem(id, "is not where its kind and index say");
}

void GraphVerifier::verify_interface() {
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) verify_home(graph_.inputs[i].value, ValueKind::input, i);
  for (std::size_t i = 0; i < graph_.constants.size(); ++i) {
    verify_home(graph_.constants[i].value, ValueKind::constant, i);
  }
  for (std::size_t i = 0; i < graph_.states.size(); ++i) {
    verify_home(graph_.states[i].value, ValueKind::state, i);
    const ValueId next = graph_.states[i].next;
    if (next != no_id && !exists(next)) problem(graph_.name, "has a state whose next value does not exist");
  }
  for (const ValueId output : graph_.outputs) {
    if (!exists(output)) problem(graph_.name, "has an output that does not exist");
  }
  if (!graph_.output_names.empty() && graph_.output_names.size() != graph_.outputs.size()) {
    problem(graph_.name, "has more or fewer outputs than names for them");
  }
}

// A value's maker, or the list that its kind names, holds it at its index.
void GraphVerifier::verify_link(ValueId id) {
  const Value& value = graph_.value(id);
  if (value.kind != ValueKind::result) {
    const std::size_t count = value.kind == ValueKind::input      ? graph_.inputs.size()
                              : value.kind == ValueKind::constant ? graph_.constants.size()
                                                                  : graph_.states.size();
    if (value.index >= count) problem(id, "is no input, constant or state of the graph");
    if (value.producer != no_id) problem(id, "is no result, but has a producer");
    return;
  }
  if (value.producer >= graph_.nodes.size()) return problem(id, "has a producer that does not exist");
  const std::vector<ValueId>& outputs = graph_.nodes[value.producer].outputs;
  if (value.index >= outputs.size() || outputs[value.index] != id) problem(id, "is not made by its producer");
}

void GraphVerifier::verify_values() {
  made_.resize(graph_.values.size());
  for (ValueId id = 0; id < made_.size(); ++id) {
    verify_link(id);
    made_[id] = graph_.value(id).kind != ValueKind::result;
    if (facts_.inferred && !graph_.value(id).type) problem(id, "has no type");
  }
}

// Those whose names others have before them. A table with open addressing, at most half full: names are looked up after
// every pass.
std::vector<ValueId> GraphVerifier::named_twice() const {
  std::vector<ValueId> twice;
  const std::size_t slots = std::bit_ceil(2 * graph_.values.size() + 1);
  std::vector<ValueId> by_name(slots, no_id);
  for (ValueId id = 0; id < graph_.values.size(); ++id) {
    const std::string& name = graph_.value(id).name;
    std::size_t at = std::hash<std::string_view>{}(name) & (slots - 1);
    while (by_name[at] != no_id && graph_.value(by_name[at]).name != name) at = (at + 1) & (slots - 1);
    if (by_name[at] != no_id) twice.push_back(id);
    by_name[at] = id;
  }
  return twice;
}

// Elements of constants, and next values, have the types that they should.
void GraphVerifier::verify_contents() {
  for (const ConstantData& constant : graph_.constants) {
    const auto& type = graph_.value(constant.value).type;
    if (constant.values.size() < 2 || !type) continue;
    if (element_count(type->shape) != Dim(static_cast<std::int64_t>(constant.values.size()))) {
      problem(constant.value, "has more or fewer elements than its type");
    }
  }
  for (const StateData& state : graph_.states) {
    if (facts_.inferred && state.next != no_id && graph_.type(state.next) != graph_.type(state.value)) {
      problem(state.next, "is the next value of a state of another type");
    }
  }
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

bool GraphVerifier::verify_ids(const Node& node) {
  const auto is_missing = [&](ValueId id) { return id != no_id && !exists(id); };
  const bool reads = std::none_of(node.inputs.begin(), node.inputs.end(), is_missing);
  const bool makes = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return exists(id); });
  if (!reads) problem(graph_.name, "has a node that reads what does not exist");
  if (!makes) problem(graph_.name, "has a node that makes what does not exist");
  if (node.outputs.empty()) problem(graph_.name, "has a node without results");
  return reads && makes && !node.outputs.empty();
}

// No value is made twice; from infer on, none is read before it is made.
void GraphVerifier::verify_order(const Node& node) {
  for (const ValueId input : node.inputs) {
    if (facts_.inferred && input != no_id && !made_[input]) problem(input, "is read before it is made");
  }
  for (const ValueId output : node.outputs) {
    if (made_[output]) problem(output, "is made twice");
    made_[output] = true;
  }
}

// Who reads and makes what, and then, where that is right, each node by itself, which takes most of the time.
void GraphVerifier::verify_nodes() {
  for (const Node& node : graph_.nodes) {
    if (verify_ids(node)) verify_order(node);
  }
  if (!problems_.empty()) return;  // types may be missing
  const auto found = in_stretches(graph_.nodes.size(), [this](std::size_t first, std::size_t end) {
    return node_problems(first, end);
  });
  for (const NodeProblems& each : found) {
    for (const auto& [id, what] : each) problem(graph_.nodes[id].outputs[0], what);
  }
}

// Of the nodes from `first` to `end`; some, where there are many.
GraphVerifier::NodeProblems GraphVerifier::node_problems(std::size_t first, std::size_t end) const {
  NodeProblems found;
  NodeVerifier verifier = nodes_;
  for (std::size_t id = first; id < end && found.size() < most_problems; ++id) {
    const std::string_view what = verifier.problem_of(graph_.nodes[id]);
    if (!what.empty()) found.emplace_back(static_cast<NodeId>(id), what);
  }
  return found;
}

// What lives in memory that is not its own is a result, and lives in one place.
void GraphVerifier::verify_writers() {
  std::vector<bool> taken(graph_.values.size(), false);
  const auto take = [&](ValueId value, std::string_view as) {
    if (graph_.value(value).kind != ValueKind::result) problem(value, fmt::format("is {}, but no node makes it", as));
    if (taken[value]) problem(value, fmt::format("is {}, and must live elsewhere too", as));
    taken[value] = true;
  };
  for (const Node& node : graph_.nodes) {
    const auto* view = std::get_if<IndexMap>(&node.kind);
    if (!view || !writes_operands(*view)) continue;
    for (std::size_t i = first_written(*view); i < node.inputs.size(); ++i) take(node.inputs[i], "written as a part");
  }
  for (const ValueId output : graph_.outputs) take(output, "an output");
  for (const StateData& state : graph_.states) {
    if (state.next != no_id && state.next != state.value) take(state.next, "the next value of a state");
  }
}

}  // namespace

std::vector<std::string> graph_problems(const Graph& graph, const std::vector<Graph>& functions, std::size_t callable,
                                        const GraphFacts& facts) {
  return GraphVerifier(graph, facts, NodeVerifier(graph, functions, callable, facts)).run();
}

void verify_module(const Module& module, const GraphFacts& facts, std::string_view pass, Diagnostics& diagnostics) {
  const std::vector<Graph>& functions = module.functions;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    report_problems(functions[i], pass, graph_problems(functions[i], functions, i, facts), diagnostics);
  }
  report_problems(module.main, pass, graph_problems(module.main, functions, functions.size(), facts), diagnostics);
}

void verify_fused(const FusedGraph& fused, std::string_view pass, Diagnostics& diagnostics) {
  report_problems(fused.graph, pass, group_problems(fused), diagnostics);
}

}  // namespace kgen
