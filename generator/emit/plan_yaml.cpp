#include "generator/emit/plan_yaml.hpp"

#include <fmt/format.h>

#include <future>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "generator/base/languages.hpp"
#include "generator/base/parallel.hpp"
#include "generator/base/writer.hpp"
#include "generator/emit/banner.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/load_phase.hpp"

namespace kgen {
namespace {

using Kind = Placement::Kind;

constexpr int indent_width = 2;
constexpr std::size_t bytes_of_decision = 160, bytes_of_node = 128;  // about

void write_stub(Writer& writer, const StubProgram& stub) {
  std::string results, operands;
  for (const StubParameter& parameter : stub.parameters) {
    std::string& list = parameter.writable ? results : operands;
    list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", yaml_name(parameter.name),
                        yaml_string(type_text(parameter)));
  }
  writer.line("{}:", stub.name);
  writer.line("  kind: {}", name_of(stub.kind));
  if (!stub.kernel.empty()) writer.line("  kernel: {}", yaml_string(stub.kernel));
  writer.line("  results: {{{}}}", results);
  writer.line("  operands: {{{}}}", operands);
}

class GraphText {
 public:
  GraphText(Writer& writer, const Plan& plan, const FunctionPlan& function)
      : writer_(writer), plan_(plan), function_(function), graph_(function.fused.graph) {}

  void write() {
    // Most of a large plan is its decisions: they are written beside the rest.
    std::future<std::string> decisions = std::async(beside_if_many(graph_.nodes.size()), [this] {
      Writer writer(indent_width, static_cast<int>(writer_.indentation()) / indent_width);
      writer.reserve(bytes_of_decision * function_.fused.decisions.size());
      GraphText(writer, plan_, function_).write_decisions();
      return writer.take();
    });
    writer_.reserve(bytes_of_node * graph_.nodes.size() + bytes_of_decision * function_.fused.decisions.size());
    phase_ = load_phase(function_);
    write_steps("load", function_.load_steps);
    write_steps("steps", function_.steps);
    write_memory();
    write_arena("load_arena", function_.load_slots, function_.load_steps);
    write_arena("arena", function_.slots, function_.steps);
    write_recognitions();
    write_kernel_choices();
    write_preparations();
    writer_.append(decisions.get());
    write_recomputations();
  }

 private:
  // A constant of one number stands for itself.
  std::string name(ValueId value) const {
    if (value == no_id) return "~";
    const Value& v = graph_.value(value);
    if (v.kind != ValueKind::constant) return yaml_name(v.name);
    const std::vector<Number>& numbers = graph_.constants[v.index].values;
    return numbers.size() == 1 ? fmt::format("{}", numbers[0]) : yaml_name(v.name);
  }
  std::string names(const std::vector<ValueId>& values) const {
    std::string text;
    for (const ValueId value : values) text.append(text.empty() ? "" : ", ").append(name(value));
    return text;
  }

  void write_steps(std::string_view title, const std::vector<Step>& steps) {
    if (steps.empty()) return;
    writer_.line("{}:", title);
    for (const Step& step : steps) {
      const std::vector<NodeId>& nodes = function_.fused.groups[step.group].nodes;
      const Node& first = graph_.nodes[nodes.front()];
      if (const auto* call = std::get_if<Call>(&first.kind)) {
        writer_.line("- {{call: {}, repeat: {}, {}}}", plan_.functions[call->function].fused.graph.name, call->repeat,
                     operands_and_results(first));
      } else if (nodes.size() == 1) {
        std::string order;
        for (const std::string& item : order_items(step)) order.append(", ").append(item);
        writer_.line("- {{stub: {}{}, {}}}", stub_name(step), order, node_text(first));
      } else {
        writer_.line("- stub: {}", stub_name(step));
        for (const std::string& item : order_items(step)) writer_.line("  {}", item);
        writer_.line("  nodes:");
        for (const NodeId id : nodes) writer_.line("  - {{{}}}", node_text(graph_.nodes[id]));
      }
    }
  }

  std::string stub_name(const Step& step) const { return step.stub == no_id ? "~" : plan_.stubs[step.stub].name; }

  // Its stream, and the results of other streams that it waits for.
  std::vector<std::string> order_items(const Step& step) const {
    const Group& group = function_.fused.groups[step.group];
    std::vector<std::string> items;
    if (group.stream != 0) items.push_back(fmt::format("stream: {}", group.stream));
    std::vector<ValueId> awaited;
    for (const std::uint32_t other : group.waits) awaited.push_back(function_.fused.groups[other].outputs[0]);
    if (!awaited.empty()) items.push_back(fmt::format("after: [{}]", names(awaited)));
    return items;
  }

  static std::string operator_name(const Node& node) { return node.op ? yaml_name(node.op->name) : "~"; }

  std::string operands_and_results(const Node& node) const {
    return fmt::format("in: [{}], out: [{}]", names(node.inputs), names(node.outputs));
  }

  std::string node_text(const Node& node) const {
    const std::string within = node.within.empty() ? "" : ", within: " + yaml_name(node.within);
    return fmt::format("op: {}, {}{}", operator_name(node), operands_and_results(node), within);
  }

  // Values in memory of their own, or in another's; the arena has a section to itself.
  void write_memory() {
    writer_.line("memory:");
    for (ValueId id = 0; id < function_.placements.size(); ++id) {
      const std::string where = place_of(id);
      if (!where.empty()) writer_.line("  {}: {}", name(id), where);
    }
  }

  std::string place_of(ValueId id) const {
    const Placement& placement = function_.placements[id];
    const IndexMap& view = placement.view;
    switch (placement.kind) {
      case Kind::registers:
      case Kind::arena:
        return "";
      case Kind::constant:
        return phase_.load_only[placement.index] ? "read by load alone, then freed" : "";
      case Kind::input:
        return "input";
      case Kind::output:
        return "output";
      case Kind::persistent:
        return fmt::format("kept from load, {} bytes{}", bytes_of(graph_.type(id)).text(),
                           is_function() && phase_.shared[placement.index] ? ", once for all calls" : "");
      case Kind::state:
        return "state " + name(graph_.states[placement.index].value);
      case Kind::view_of:
        return fmt::format("{} of {}", operator_name(graph_.nodes[graph_.value(id).producer]), name(placement.base));
      case Kind::part_of:
        if (view.form != ViewRule::Form::slice) {
          const Node& shows = graph_.nodes[graph_.value(placement.base).producer];
          return fmt::format("in {}, which is {} of it", name(placement.base), operator_name(shows));
        }
        return fmt::format("part of {} along axis {} from {}", name(placement.base), view.axis, view.begin.text());
    }
    return "";
  }

  // A slot a line: its size, and what lies in it in turn.
  void write_arena(std::string_view title, const std::vector<Slot>& slots, const std::vector<Step>& steps) {
    if (slots.empty()) return;
    std::vector<std::string> owners(slots.size());
    const auto add = [&](std::uint32_t slot, const std::string& owner) {
      owners[slot] += (owners[slot].empty() ? "" : ", ") + owner;
    };
    for (const Step& step : steps) {
      const Group& group = function_.fused.groups[step.group];
      for (const ValueId output : group.outputs) add_root(output, add);
      if (step.call_slot != no_id) add(step.call_slot, fmt::format("arena of {}", name(group.outputs[0])));
      for (std::size_t i = 0; i < step.carried_slots.size(); ++i) {
        add(step.carried_slots[i], fmt::format("second buffer of {}", name(group.outputs[i])));
      }
    }
    seen_.clear();
    writer_.line("{}:", title);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      writer_.line("- {{bytes: {}, holds: [{}]}}", yaml_string(slots[i].bytes.text()), owners[i]);
    }
  }

  // A whole is named once, with the first part that is written into it.
  template <class Add>
  void add_root(ValueId value, const Add& add) {
    while (function_.placements[value].base != no_id) value = function_.placements[value].base;
    const Placement& placement = function_.placements[value];
    if (placement.kind == Kind::arena && seen_.insert(value).second) add(placement.index, name(value));
  }

  // Simplification may have removed others.
  const std::unordered_set<std::string_view>& present_values() {
    if (present_.empty()) {
      present_.reserve(graph_.values.size());
      for (const Value& value : graph_.values) present_.insert(value.name);
    }
    return present_;
  }

  void write_recognitions() {
    if (graph_.recognitions.empty()) return;
    const auto& present = present_values();
    bool any = false;
    for (const Recognition& each : graph_.recognitions) {
      if (!present.contains(each.value)) continue;
      if (!std::exchange(any, true)) {
        writer_.line("recognised:  # value, the operator that the graph spells out, in how many operators");
      }
      writer_.line("- [{}, {}, {}]", yaml_name(each.value), yaml_name(each.op->name), each.nodes);
    }
  }

  // Only of values that are still there.
  void write_kernel_choices() {
    if (graph_.kernel_choices.empty()) return;
    const auto& present = present_values();
    bool any = false;
    for (const KernelChoice& choice : graph_.kernel_choices) {
      if (!present.contains(choice.value)) continue;
      if (!any)
        writer_.line(
            "kernels:  # where there was a choice: value, operator, what was chosen and why, and why no other");
      any = true;
      std::string others;
      for (const KernelChoice::Refusal& other : choice.others) {
        others +=
            fmt::format("{}{}: {}", others.empty() ? "" : ", ", yaml_string(other.kernel->name), yaml_string(other.reason));
      }
      writer_.line("- [{}, {}, {}, {}, {{{}}}]", yaml_name(choice.value), yaml_name(choice.op->name),
                   choice.kernel ? yaml_string(choice.kernel->name) : "expanded", yaml_string(choice.reason), others);
    }
  }

  // Where an operand is constant, and the operator has a form of which a part is computed at load.
  void write_preparations() {
    if (graph_.preparations.empty()) return;
    const auto& present = present_values();
    bool any = false;
    for (const Preparation& each : graph_.preparations) {
      if (!present.contains(each.value)) continue;
      if (!std::exchange(any, true))
        writer_.line("prepared:  # value, operator, what load computes for it, why, or why not");
      std::string at_load;
      for (const std::string& made : each.at_load) at_load += (at_load.empty() ? "" : ", ") + yaml_name(made);
      writer_.line("- [{}, {}, [{}], {}]", yaml_name(each.value), yaml_name(each.op->name), at_load,
                   yaml_string(each.reason));
    }
  }

  void write_decisions() {
    if (function_.fused.decisions.empty()) return;
    writer_.line(
        "decisions:  # value, its reader, whether one stub computes both, bytes that this saves or would, why");
    Dim bytes;
    std::string bytes_text = yaml_string(bytes.text());  // most are as many as those before
    for (const Decision& decision : function_.fused.decisions) {
      if (decision.bytes != bytes) {
        bytes = decision.bytes;
        bytes_text = yaml_string(bytes.text());
      }
      const ValueId reader = graph_.nodes[decision.consumer].outputs[0];
      const std::string readers =
          decision.siblings
              ? yaml_string(fmt::format("{} and {}", graph_.value(graph_.nodes[decision.producer].outputs[0]).name,
                                        graph_.value(reader).name))
              : name(reader);
      writer_.line("- [{}, {}, {}, {}, {}]", name(decision.value), readers, decision.fused ? "fused" : "apart",
                   bytes_text, yaml_string(decision.reason));
    }
  }

  void write_recomputations() {
    if (function_.fused.recomputations.empty()) return;
    writer_.line(
        "computed_again:  # value, its copies in other stubs, bytes that this saves (0: it is in memory), why");
    for (const Recomputation& each : function_.fused.recomputations) {
      writer_.line("- [{}, [{}], {}, {}]", name(each.value), names(each.copies), yaml_string(each.bytes.text()),
                   yaml_string(each.reason));
    }
  }

  Writer& writer_;
  bool is_function() const { return &function_ != &plan_.main; }

  const Plan& plan_;
  const FunctionPlan& function_;
  const Graph& graph_;
  LoadPhase phase_;
  std::unordered_set<ValueId> seen_;
  std::unordered_set<std::string_view> present_;  // names of values; empty: not asked for
};

}  // namespace

SourceFile emit_plan_yaml(const Plan& plan, const EmitOptions& options) {
  Writer writer(indent_width);
  writer.line("# Planned by: {}", comment_text(options.command));
  writer.line("graph: {}", yaml_name(plan.main.fused.graph.name));
  if (!plan.stubs.empty()) {
    const auto stubs = writer.block("stubs:", "");
    for (const StubProgram& stub : plan.stubs) write_stub(writer, stub);
  }
  {
    const auto main = writer.block("main:", "");
    GraphText(writer, plan, plan.main).write();
  }
  if (!plan.functions.empty()) {
    const auto functions = writer.block("functions:", "");
    for (const FunctionPlan& function : plan.functions) {
      writer.line("{}:", yaml_name(function.fused.graph.name));
      const auto block = writer.indent("");
      GraphText(writer, plan, function).write();
    }
  }
  return {"plan.yaml", with_banner(options, writer.take(), "#")};
}

}  // namespace kgen
