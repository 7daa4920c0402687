#include "generator/explain/dump.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "generator/base/writer.hpp"

namespace kgen {
namespace {

std::string attribute_text(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Dim>) {
          return v.text();
        } else if constexpr (std::is_same_v<T, std::vector<Dim>>) {
          return to_text(v);
        } else if constexpr (std::is_same_v<T, std::vector<Number>>) {
          return fmt::format("[{}]", fmt::join(v, ", "));
        } else if constexpr (std::is_same_v<T, DType>) {
          return std::string(info(v).name);
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

std::string value_text(const Graph& graph, ValueId value) {
  if (value == no_id) return "~";
  const Value& v = graph.value(value);
  if (v.kind != ValueKind::constant) return v.name;
  const ConstantData& data = graph.constants[v.index];
  return data.values.size() == 1 ? fmt::format("{}", data.values[0]) : v.name;
}

std::string node_text(const Graph& graph, const Node& node) {
  std::string text;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& output = graph.value(node.outputs[i]);
    text += fmt::format("{}{}{}", i == 0 ? "" : ", ", output.name, output.type ? ": " + to_text(*output.type) : "");
  }
  text += fmt::format(" = {}(", node.op ? node.op->name : "call");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) text += (i == 0 ? "" : ", ") + value_text(graph, node.inputs[i]);
  text += ")";
  for (const auto& [name, value] : node.attributes) text += fmt::format(" {}={}", name, attribute_text(value));
  if (const auto* call = std::get_if<Call>(&node.kind)) {
    text += fmt::format(" function={} repeat={}", call->function, call->repeat);
  }
  if (node.where.known()) text += fmt::format("  # :{}{}{}", node.where.line, node.within.empty() ? "" : " ", node.within);
  return text;
}

void write_values(Writer& out, const char* title, const Graph& graph, ValueKind kind) {
  for (const Value& value : graph.values) {
    if (value.kind == kind) out.line("{} {}{}", title, value.name, value.type ? ": " + to_text(*value.type) : "");
  }
}

void write_interface(Writer& out, const Graph& graph) {
  write_values(out, "input", graph, ValueKind::input);
  write_values(out, "constant", graph, ValueKind::constant);
  write_values(out, "state", graph, ValueKind::state);
  std::string outputs;
  for (const ValueId output : graph.outputs) outputs += " " + graph.value(output).name;
  out.line("outputs{}", outputs);
}

void write_graph(Writer& out, const Graph& graph) {
  const auto block = out.block(fmt::format("graph {} {{", graph.name));
  write_interface(out, graph);
  for (const Node& node : graph.nodes) out.raw_line(node_text(graph, node));
}

}  // namespace

std::string dump(const Module& module) {
  Writer out;
  for (const Graph& function : module.functions) write_graph(out, function);
  write_graph(out, module.main);
  return out.take();
}

std::string dump(const FusedGraph& fused) {
  Writer out;
  const Graph& graph = fused.graph;
  const auto block = out.block(fmt::format("graph {} {{", graph.name));
  write_interface(out, graph);
  for (const Node& node : graph.nodes) {
    if (std::holds_alternative<IndexMap>(node.kind)) out.raw_line(node_text(graph, node));
  }
  for (const Group& group : fused.groups) {
    const auto inner = out.block(
        fmt::format("group {} {}{} {{", name_of(group.kind), to_text(group.loop), group.at_load ? " at load" : ""));
    for (const NodeId id : group.nodes) out.raw_line(node_text(graph, graph.nodes[id]));
  }
  return out.take();
}

}  // namespace kgen
