#include "generator/emit/lines_yaml.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "generator/base/languages.hpp"
#include "generator/base/writer.hpp"
#include "generator/emit/structs.hpp"

namespace kgen {
namespace {

// A result stands where the node does that makes it: an expansion's values have no line of their own.
const SourceLocation& place_of(const Graph& graph, const Value& value) {
  return value.kind == ValueKind::result ? graph.nodes[value.producer].where : value.where;
}

// A constant of one number stands for itself in emitted files.
bool has_name(const Graph& graph, const Value& value) {
  return value.kind != ValueKind::constant || graph.constants[value.index].values.size() != 1;
}

void write_lines(Writer& writer, const Graph& graph) {
  std::vector<std::pair<std::uint32_t, std::string_view>> lines;
  for (const Value& value : graph.values) {
    const SourceLocation& where = place_of(graph, value);
    const bool computed_again = value.again_of != no_id;  // under the name of the value that it is
    if (where.known() && has_name(graph, value) && !computed_again) lines.emplace_back(where.line, value.name);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [line, name] : lines) writer.line("{}: {}", yaml_name(name), line);
}

}  // namespace

SourceFile emit_lines_yaml(const Plan& plan, const EmitOptions& options) {
  Writer writer;
  writer.line("# The line of {} that each value was written in. `kgen plan` writes this file anew each time.",
              comment_text(options.source));
  {
    const auto main = writer.block("main:", "");
    write_lines(writer, plan.main.fused.graph);
  }
  if (!plan.functions.empty()) {
    const auto functions = writer.block("functions:", "");
    for (const FunctionPlan& function : plan.functions) {
      const auto block = writer.block(yaml_name(function.fused.graph.name) + ":", "");
      write_lines(writer, function.fused.graph);
    }
  }
  if (const std::vector<const StructType*> structs = structs_of(plan); !structs.empty()) {
    const auto block = writer.block("structs:", "");
    for (const StructType* structure : structs) {
      writer.line("{}: {}", yaml_string(structure->name), yaml_string(short_text(structure->where)));
    }
  }
  return {.path = "lines.yaml", .content = writer.take(), .merges = false};
}

}  // namespace kgen
