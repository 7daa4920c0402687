#include "generator/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/explain/saved_bytes.hpp"

namespace kgen {
namespace {

std::string where_text(const SourceLocation& where) { return where.known() ? fmt::format("  :{}", where.line) : ""; }

// What explanations look up in one graph of a plan.
struct Explained {
  const Plan& plan;
  const FunctionPlan& function;
  std::vector<std::string> stub_of;  // by group: the stub's name, or the function that it calls
  std::unordered_map<std::string_view, std::vector<const KernelChoice*>> choices;  // by value
  std::unordered_map<std::string_view, const Recognition*> recognitions;           // by value
  std::unordered_map<NodeId, const WrittenCopy*> copies;                           // by the node that makes one
  std::unordered_map<std::string_view, const Preparation*> preparations;           // by value
  std::unordered_map<std::string_view, const MovedFactors*> moved_factors;         // by value
  std::unordered_map<std::string_view, const OrderedAxes*> ordered_axes;           // by value

  const Graph& graph() const { return function.fused.graph; }
  std::uint32_t group_of(NodeId node) const { return function.fused.group_of[node]; }
  const std::string& name(ValueId value) const { return written_name(graph(), value); }
  const std::string& maker(NodeId node) const { return name(graph().nodes[node].outputs[0]); }
};

Explained look_up(const Plan& plan, const FunctionPlan& function) {
  Explained explained{plan, function, std::vector<std::string>(function.fused.groups.size()), {}, {}, {}, {}, {}, {}};
  for (const Preparation& each : function.fused.graph.preparations) explained.preparations[each.value] = &each;
  for (const MovedFactors& each : function.fused.graph.moved_factors) explained.moved_factors[each.value] = &each;
  for (const OrderedAxes& each : function.fused.graph.ordered_axes) explained.ordered_axes[each.value] = &each;
  for (const Recognition& each : function.fused.graph.recognitions) explained.recognitions[each.value] = &each;
  for (const WrittenCopy& each : function.fused.graph.copies) {
    explained.copies[function.fused.graph.value(each.copy).producer] = &each;
  }
  for (const KernelChoice& choice : function.fused.graph.kernel_choices)
    explained.choices[choice.value].push_back(&choice);
  for (const std::vector<Step>* steps : {&function.load_steps, &function.steps}) {
    for (const Step& step : *steps) {
      const Node& first = function.fused.graph.nodes[function.fused.groups[step.group].nodes.front()];
      if (const auto* call = std::get_if<Call>(&first.kind)) {
        explained.stub_of[step.group] = "function " + plan.functions[call->function].fused.graph.name;
      } else if (step.stub != no_id) {
        explained.stub_of[step.group] = plan.stubs[step.stub].name;
      }
    }
  }
  return explained;
}

// A constant of one number stands for itself.
std::string operand_text(const Explained& in, ValueId value) {
  if (value == no_id) return "~";
  if (in.graph().value(value).kind != ValueKind::constant) return in.name(value);
  const std::vector<Number>& numbers = in.graph().constants[in.graph().value(value).index].values;
  return numbers.size() == 1 ? fmt::format("{}", numbers[0]) : in.name(value);
}

std::string node_text(const Explained& in, NodeId id) {
  const Node& node = in.graph().nodes[id];
  std::string text;
  for (const ValueId output : node.outputs) text += (text.empty() ? "" : ", ") + in.name(output);
  const auto* call = std::get_if<Call>(&node.kind);
  text += fmt::format(" = {}(", call      ? in.plan.functions[call->function].fused.graph.name
                                : node.op ? node.op->name
                                          : "~");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) text += (i == 0 ? "" : ", ") + operand_text(in, node.inputs[i]);
  text += ")";
  if (call && call->repeat > 1) text += fmt::format(", {} times", call->repeat);
  const bool again = in.graph().value(node.outputs[0]).again_of != no_id;
  return text + where_text(node.where) + (node.within.empty() ? "" : " " + node.within) + (again ? ", again" : "");
}

// "q_flat as q_heads" where a view of what the producer makes is read.
std::string passed_text(const Explained& in, const Decision& decision) {
  const std::string& name = in.name(decision.value);
  // Only a name that stands in the graph's file says something.
  const Value& value = in.graph().value(decision.value);
  const bool is_view = value.producer != decision.producer;
  if (is_view && decision.producer != no_id && !value.where.known()) return in.maker(decision.producer);
  return is_view && decision.producer != no_id ? fmt::format("{} as {}", in.maker(decision.producer), name) : name;
}

std::string decision_text(const Explained& in, const Decision& decision) {
  const bool none = decision.bytes == Dim(0);
  const std::string between = decision.siblings ? fmt::format("{} and ", in.maker(decision.producer))
                                                : fmt::format("{} -> ", passed_text(in, decision));
  const std::string bytes =
      none ? "" : fmt::format(" ({} {} bytes)", decision.fused ? "saves" : "would save", decision.bytes.text());
  return fmt::format("{}{}: {}{}{}", between, in.maker(decision.consumer),
                     decision.fused ? "" : "apart: ", decision.reason, bytes);
}

// "written to memory: ...", of a copy that no graph asks for.
std::vector<std::string> copy_lines(const Explained& in, NodeId node) {
  const auto found = in.copies.find(node);
  if (found == in.copies.end()) return {};
  const WrittenCopy& written = *found->second;
  return {fmt::format("written to memory: {} ({} bytes)", written.reason,
                      bytes_of(in.graph().type(written.copy)).text())};
}

// "matmul with w_panels, computed when the model is loaded: 'constant(b)' holds", or why not.
std::string preparation_text(const Preparation& it) {
  if (!it.taken) return fmt::format("nothing prepared for {}: {}", it.op->name, it.reason);
  std::string made;
  for (const std::string& each : it.at_load) made += (made.empty() ? "" : ", ") + each;
  return fmt::format("{} with {}, computed when the model is loaded: {}", it.op->name, made, it.reason);
}

// "factors behind matmul: 'scale' scales the result: ...", or why they are not.
std::string moved_text(const MovedFactors& it) {
  return fmt::format("factors {} {}: {}", it.moved ? "moved from in front of" : "stay in front of", it.op->name,
                     it.reason);
}

// "softmax, recognised in 5 operators", "matmul by kgen::matmul: it is matmul's own", and a line for each kernel that
// was not chosen.
std::vector<std::string> choice_lines(const Explained& in, NodeId node) {
  std::vector<std::string> lines;
  for (const ValueId output : in.graph().nodes[node].outputs) {
    if (const auto recognised = in.recognitions.find(in.name(output)); recognised != in.recognitions.end()) {
      const Recognition& it = *recognised->second;
      lines.push_back(fmt::format("{}, recognised in {} operators", it.op->name, it.nodes));
    }
    if (const auto prepared = in.preparations.find(in.name(output)); prepared != in.preparations.end()) {
      lines.push_back(preparation_text(*prepared->second));
    }
    if (const auto moved = in.moved_factors.find(in.name(output)); moved != in.moved_factors.end()) {
      lines.push_back(moved_text(*moved->second));
    }
    if (const auto ordered = in.ordered_axes.find(in.name(output)); ordered != in.ordered_axes.end()) {
      lines.push_back(ordered->second->reason);
    }
    const auto found = in.choices.find(in.name(output));
    if (found == in.choices.end()) continue;
    for (const KernelChoice* choice : found->second) {
      lines.push_back(choice->kernel
                          ? fmt::format("{} by {}: {}", choice->op->name, choice->kernel->name, choice->reason)
                          : fmt::format("{} expanded: {}", choice->op->name, choice->reason));
      for (const auto& other : choice->others)
        lines.push_back(fmt::format("not {}: {}", other.kernel->name, other.reason));
    }
  }
  return lines;
}

// "with TileM = 48: tuned.yaml:3", a line for each parameter.
std::vector<std::string> tuning_lines(const Explained& in, NodeId node) {
  std::vector<std::string> lines;
  for (const TuningRule::Choice* each : in.graph().nodes[node].tuning)
    lines.push_back(fmt::format("with {} = {}: {}", each->parameter, each->value, short_text(each->where)));
  return lines;
}

// "stub_z", "stub_a and stub_z"; each once.
std::string stubs_making(const Explained& in, const std::vector<ValueId>& values) {
  std::vector<std::string> stubs;
  for (const ValueId value : values) {
    const std::string& stub = in.stub_of[in.group_of(in.graph().value(value).producer)];
    if (std::find(stubs.begin(), stubs.end(), stub) == stubs.end()) stubs.push_back(stub);
  }
  const std::string last = std::move(stubs.back());
  stubs.pop_back();
  return stubs.empty() ? last : fmt::format("{} and {}", fmt::join(stubs, ", "), last);
}

// "'scaled' is computed by each of its readers, stub_y and stub_z: ... (saves 12*M bytes)"
std::string recomputation_text(const Explained& in, const Recomputation& it) {
  if (it.bytes == Dim(0))
    return fmt::format("'{}' is not computed again by its readers: {}", in.name(it.value), it.reason);
  std::vector<ValueId> made{it.value};
  made.insert(made.end(), it.copies.begin(), it.copies.end());
  return fmt::format("'{}' is computed where it is read, by {}: {} (saves {} bytes)", in.name(it.value),
                     stubs_making(in, made), it.reason, it.bytes.text());
}

// ---- everything -----------------------------------------------------------------------------------------------------

// By constant: a node that reads it at load, and one that does so in calls; no_id: none does.
struct ConstantReaders {
  NodeId at_load = no_id, in_calls = no_id;
};

std::vector<ConstantReaders> readers_of_constants(const Explained& in) {
  std::vector<ConstantReaders> readers(in.graph().constants.size());
  for (const Group& group : in.function.fused.groups) {
    for (ValueId value : group.inputs) {
      while (in.function.placements[value].base != no_id) value = in.function.placements[value].base;
      if (in.graph().value(value).kind != ValueKind::constant) continue;
      ConstantReaders& found = readers[in.graph().value(value).index];
      (group.at_load ? found.at_load : found.in_calls) = group.nodes.back();
    }
  }
  return readers;
}

// What load leaves behind, and what it does not.
void explain_load(Writer& writer, const Explained& in) {
  if (in.function.load_steps.empty()) return;
  writer.line("kept when the model is loaded");
  const auto block = writer.indent("");
  for (const ValueId value : in.function.persistent) {
    writer.line("{}: {} bytes", in.name(value), bytes_of(in.graph().type(value)).text());
  }
  const std::vector<ConstantReaders> readers = readers_of_constants(in);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const ValueId constant = in.graph().constants[i].value;
    if (readers[i].at_load == no_id) continue;
    const std::string bytes = bytes_of(in.graph().type(constant)).text();
    if (readers[i].in_calls == no_id) {
      writer.line("not {}, {} bytes: load alone reads it", in.name(constant), bytes);
    } else {
      writer.line("{}: {} bytes, also as it is: '{}' reads that in each call", in.name(constant), bytes,
                  in.maker(readers[i].in_calls));
    }
  }
}

void explain_graph(Writer& writer, const Explained& in) {
  std::vector<std::vector<const Decision*>> decisions(in.function.fused.groups.size());
  for (const Decision& decision : in.function.fused.decisions) {
    const std::uint32_t reader = in.group_of(decision.consumer);
    if (reader != no_id) decisions[reader].push_back(&decision);
  }
  std::vector<std::vector<const Recomputation*>> recomputations(in.function.fused.groups.size());
  for (const Recomputation& each : in.function.fused.recomputations) {
    recomputations[in.group_of(in.graph().value(each.value).producer)].push_back(&each);
  }
  for (const std::vector<Step>* steps : {&in.function.load_steps, &in.function.steps}) {
    for (const Step& step : *steps) {
      const Group& group = in.function.fused.groups[step.group];
      const Dim saved = saved_bytes(group, decisions[step.group], in.graph());
      const std::string kernel = step.stub == no_id ? "" : kernel_text(in.plan.stubs[step.stub]);
      writer.line("{}{}{}{}", in.stub_of[step.group], kernel.empty() ? "" : " with " + kernel,
                  group.at_load ? ", when the model is loaded" : "",
                  saved == Dim(0) ? "" : fmt::format(", saves {} bytes", saved.text()));
      const auto block = writer.indent("");
      for (const NodeId id : group.nodes) {
        writer.line("{}", node_text(in, id));
        for (const std::string& line : choice_lines(in, id)) writer.line("    {}", line);
        for (const std::string& line : tuning_lines(in, id)) writer.line("    {}", line);
        for (const std::string& line : copy_lines(in, id)) writer.line("    {}", line);
      }
      for (const Decision* decision : decisions[step.group]) writer.line("  {}", decision_text(in, *decision));
      for (const Recomputation* it : recomputations[step.group]) writer.line("  {}", recomputation_text(in, *it));
    }
  }
  explain_load(writer, in);
}

// ---- two values -----------------------------------------------------------------------------------------------------

ValueId find_value(const Graph& graph, std::string_view name) {
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].name == name) return id;
  }
  return no_id;
}

// The node that computes `value`, past views, which compute nothing; no_id where it is not computed.
NodeId computing_node(const Explained& in, ValueId value) {
  while (value != no_id) {
    const NodeId producer = in.graph().value(value).producer;
    if (producer == no_id || in.group_of(producer) != no_id) return producer;
    const Node& node = in.graph().nodes[producer];
    value = node.inputs.empty() ? no_id : node.inputs[0];
  }
  return no_id;
}

// Why nothing computes it, or what is to be asked instead; empty where `node` computes it.
std::string not_computed(const Explained& in, ValueId value, NodeId node) {
  if (node == no_id)
    return fmt::format("No operator computes '{}': it is read from memory as it is.\n", in.name(value));
  if (in.graph().value(value).producer == node) return "";
  return fmt::format("'{}' is a view of '{}', read in place; ask about that instead.\n", in.name(value),
                     in.maker(node));
}

std::string explain_value(const Explained& in, ValueId value) {
  const NodeId node = computing_node(in, value);
  if (std::string text = not_computed(in, value, node); !text.empty()) return text;
  std::string text = fmt::format("'{}' is computed by {}.\n  {}\n", in.name(value), in.stub_of[in.group_of(node)],
                                 node_text(in, node));
  for (const std::string& line : choice_lines(in, node)) text += fmt::format("  {}\n", line);
  for (const std::string& line : tuning_lines(in, node)) text += fmt::format("  {}\n", line);
  for (const std::string& line : copy_lines(in, node)) text += fmt::format("  {}\n", line);
  for (const Decision& decision : in.function.fused.decisions) {
    const bool concerns = decision.producer == node || decision.consumer == node;
    if (concerns) text += fmt::format("  {}\n", decision_text(in, decision));
  }
  for (const Recomputation& each : in.function.fused.recomputations) {
    if (in.graph().value(each.value).producer == node) text += fmt::format("  {}\n", recomputation_text(in, each));
  }
  return text;
}

// The node, and those that compute the same again.
std::vector<NodeId> makers_of(const Explained& in, NodeId node) {
  std::vector<NodeId> makers{node};
  for (const Value& value : in.graph().values) {
    if (value.again_of != no_id && in.graph().value(value.again_of).producer == node) makers.push_back(value.producer);
  }
  return makers;
}

// Two that compute what the nodes do, in one stub if there are such.
std::pair<NodeId, NodeId> nearest_makers(const Explained& in, NodeId first, NodeId second) {
  for (const NodeId a : makers_of(in, first)) {
    for (const NodeId b : makers_of(in, second)) {
      if (in.group_of(a) == in.group_of(b)) return {a, b};
    }
  }
  return {first, second};
}

std::string explain_pair(const Explained& in, ValueId a, ValueId b) {
  NodeId first = computing_node(in, a), second = computing_node(in, b);
  for (const auto& [value, node] : {std::pair(a, first), std::pair(b, second)}) {
    if (std::string text = not_computed(in, value, node); !text.empty()) return text;
  }
  std::tie(first, second) = nearest_makers(in, first, second);
  if (first == second) return fmt::format("'{}' and '{}' are results of one operator.\n", in.name(a), in.name(b));

  const std::uint32_t first_group = in.group_of(first), second_group = in.group_of(second);
  const bool together = first_group == second_group;
  const std::string& first_stub = in.stub_of[first_group];
  const std::string& second_stub = in.stub_of[second_group];
  const std::string by = together                    ? "together, by " + first_stub
                         : first_stub == second_stub ? fmt::format("apart, by two calls of {}", first_stub)
                                                     : fmt::format("apart, by {} and {}", first_stub, second_stub);
  std::string text = fmt::format("'{}' and '{}' are computed {}.\n", in.name(a), in.name(b), by);
  std::vector<const Decision*> path = decision_path(in.function.fused, first, second);
  if (path.empty()) path = decision_path(in.function.fused, second, first);
  if (path.empty()) {
    if (!together) return text + "No path leads from one to the other: neither needs the other.\n";
    const Group& group = in.function.fused.groups[first_group];
    if (group.kind != GroupKind::structured)
      return text + "Neither needs the other; they read the same memory in one loop.\n";
    return text + fmt::format("Neither needs the other; one call of {} gives both what they are made of.\n",
                              in.graph().nodes[group.root].kernel->name);
  }
  if (path.size() > 1) text += "Between them, step by step:\n";
  for (const Decision* decision : path) text += "  " + decision_text(in, *decision) + "\n";
  return text;
}

// The main graph goes before the functions.
std::vector<const FunctionPlan*> graphs_of(const Plan& plan) {
  std::vector<const FunctionPlan*> graphs = {&plan.main};
  for (const FunctionPlan& function : plan.functions) graphs.push_back(&function);
  return graphs;
}

void report_unknown_value(const Plan& plan, std::string_view name, Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const FunctionPlan* function : graphs_of(plan)) {
    for (const Value& value : function->fused.graph.values) known.push_back(value.name);
  }
  Diagnostic& error = diagnostics.error({}, fmt::format("the graph has no value '{}'", name));
  if (const auto near = nearest_names(name, known); !near.empty()) {
    error.note(nearest_text(near));
  }
  error.advise("name a value of the graph, or one that a composite was expanded to; `kgen explain --all` lists them");
}

}  // namespace

std::string summary(const Plan& plan) {
  constexpr std::size_t most_named = 5;  // of the values that are computed again
  std::size_t computed_again = 0;
  std::string text =
      fmt::format("{}: {} stub{}", plan.main.fused.graph.name, plan.stubs.size(), plan.stubs.size() == 1 ? "" : "s");
  for (const FunctionPlan* each : graphs_of(plan)) {
    const Graph& graph = each->fused.graph;
    for (const WrittenCopy& written : graph.copies) {
      if (written.function == no_id) continue;
      const Node& copy = graph.nodes[graph.value(written.copy).producer];
      text += fmt::format(", {} bytes written for '{}' to pass '{}'", bytes_of(graph.type(written.copy)).text(),
                          plan.functions[written.function].fused.graph.name, graph.value(copy.inputs[0]).name);
    }
    for (const Recomputation& it : each->fused.recomputations) {
      if (it.copies.empty() || ++computed_again > most_named) continue;
      text += fmt::format(", '{}' computed {} times ({} bytes less moved)", graph.value(it.value).name,
                          it.copies.size() + 1, it.bytes.text());
    }
  }
  if (computed_again > most_named) {
    text += fmt::format(", and {} more values computed again (kgen explain names them)", computed_again - most_named);
  }
  return text;
}

std::string explain(const Plan& plan) {
  Writer writer;
  const auto count = [&](const FunctionPlan& function) {
    return std::count_if(function.fused.group_of.begin(), function.fused.group_of.end(),
                         [](auto g) { return g != no_id; });
  };
  std::ptrdiff_t operators = count(plan.main);
  for (const FunctionPlan& function : plan.functions) operators += count(function);
  writer.line("{}: {} operator{} in {} stub{}", plan.main.fused.graph.name, operators, operators == 1 ? "" : "s",
              plan.stubs.size(), plan.stubs.size() == 1 ? "" : "s");
  writer.line();
  explain_graph(writer, look_up(plan, plan.main));
  for (const FunctionPlan& function : plan.functions) {
    writer.line("function {}", function.fused.graph.name);
    writer.line();
    explain_graph(writer, look_up(plan, function));
  }
  return writer.take();
}

std::string explain(const Plan& plan, std::string_view name, Diagnostics& diagnostics) {
  for (const FunctionPlan* function : graphs_of(plan)) {
    const ValueId value = find_value(function->fused.graph, name);
    if (value != no_id) return explain_value(look_up(plan, *function), value);
  }
  report_unknown_value(plan, name, diagnostics);
  return "";
}

std::string explain(const Plan& plan, std::string_view a, std::string_view b, Diagnostics& diagnostics) {
  const std::vector<const FunctionPlan*> graphs = graphs_of(plan);
  for (const FunctionPlan* function : graphs) {
    const ValueId first = find_value(function->fused.graph, a), second = find_value(function->fused.graph, b);
    if (first != no_id && second != no_id) return explain_pair(look_up(plan, *function), first, second);
  }
  for (const std::string_view name : {a, b}) {
    const auto has = [&](const FunctionPlan* function) { return find_value(function->fused.graph, name) != no_id; };
    if (std::none_of(graphs.begin(), graphs.end(), has)) report_unknown_value(plan, name, diagnostics);
  }
  if (!diagnostics.has_errors()) {
    diagnostics.error({}, fmt::format("'{}' and '{}' belong to different functions", a, b))
        .advise("a function's stubs are emitted once for all its calls, so nothing outside can join them");
  }
  return "";
}

}  // namespace kgen
