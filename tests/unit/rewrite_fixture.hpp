// Graphs as text before and after a pass that rewrites them, with the operators that kgen ships and those of a test.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source_map.hpp"
#include "generator/load/load_graph.hpp"
#include "generator/load/load_ops.hpp"
#include "generator/pass/choose/decompose.hpp"
#include "generator/pass/infer/infer.hpp"
#include "generator/pass/simplify/simplify.hpp"
#include "generator/pass/verify/verify_graph.hpp"
#include "tests/unit/repository.hpp"

namespace kgen {

class Rewrites {
 public:
  explicit Rewrites(const std::string& extra_ops = "") {
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(repository::root() / "specs/ops")) {
      files.push_back(file.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      if (file.extension() == ".yaml") load_ops(*sources_.read(file.string(), diagnostics), ops, diagnostics);
    }
    if (!extra_ops.empty()) load_ops(sources_.add("extra_ops.yaml", extra_ops), ops, diagnostics);
    REQUIRE_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
  }
  Rewrites(const Rewrites&) = delete;
  Rewrites& operator=(const Rewrites&) = delete;

  // `body` is a graph without its first line.
  Module inferred(const std::string& body) {
    auto module = load_graph(sources_.add("test.yaml", "graph: test\n" + body), ops, diagnostics);
    REQUIRE_MESSAGE(module, diagnostics.text(false));
    Module result = infer(std::move(*module), ops, diagnostics);
    REQUIRE_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
    return result;
  }
  Module decomposed(const std::string& body) { return decompose(inferred(body), ops, diagnostics); }
  Module simplified(const std::string& body) { return simplify(inferred(body), ops, diagnostics); }

  OpSet ops;
  Diagnostics diagnostics;

 private:
  SourceMap sources_;
};

// What must hold of every inferred, topologically ordered graph.
inline void check_consistent(const Graph& graph, const std::vector<Graph>& functions = {}) {
  for (const std::string& problem : graph_problems(graph, functions, functions.size(), {.inferred = true}))
    FAIL_CHECK(problem);
  std::vector<std::string> names;
  for (const Value& value : graph.values) names.push_back(value.name);
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

inline std::string operand_text(const Graph& graph, ValueId id) {
  if (id == no_id) return "-";
  const Value& value = graph.value(id);
  if (value.kind != ValueKind::constant || graph.constants[value.index].values.empty()) return value.name;
  const auto& numbers = graph.constants[value.index].values;
  return numbers.size() == 1 ? fmt::format("{}", numbers[0]) : fmt::format("[{}]", fmt::join(numbers, " "));
}

inline std::string attribute_text(const AttributeValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<Number>(&value)) return fmt::format("{}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* dtype = std::get_if<DType>(&value)) return std::string(info(*dtype).name);
  if (const auto* dim = std::get_if<Dim>(&value)) return dim->text();
  return to_text(std::get<std::vector<Dim>>(value));
}

// "y = slice(x, axis=1, begin=0, end=4, step=1)", one line for each node; numbers stand for constants. `typed` adds
// the types of the results: "y: f32[4] = ..."
inline std::string text_of(const Graph& graph, bool typed = false) {
  std::string text;
  for (const Node& node : graph.nodes) {
    std::vector<std::string> results, arguments;
    for (const ValueId output : node.outputs) {
      results.push_back(graph.value(output).name + (typed ? ": " + to_text(graph.type(output)) : ""));
    }
    for (const ValueId input : node.inputs) arguments.push_back(operand_text(graph, input));
    for (const auto& [name, value] : node.attributes) {
      const AttributeSpec* spec = node.op && node.op->role == OpRole::cast ? node.op->attribute(name) : nullptr;
      if (spec && spec->default_value == value) continue;  // conversions are many, and say their dtype
      arguments.push_back(name + "=" + attribute_text(value));
    }
    text += fmt::format("{} = {}({})\n", fmt::join(results, ", "), node.op ? node.op->name : "call",
                        fmt::join(arguments, ", "));
  }
  return text;
}

// The nodes of a graph after simplify, as text_of shows them.
inline std::string simplified_text(const std::string& body, bool typed = false) {
  Rewrites rewrites;
  const Module module = rewrites.simplified(body);
  REQUIRE_MESSAGE(!rewrites.diagnostics.has_errors(), rewrites.diagnostics.text(false));
  check_consistent(module.main, module.functions);
  return text_of(module.main, typed);
}

// A graph over x and z: f32[M, 8], b: f32[8], s: f32[] and i: i32[8], whose only output is y.
inline std::string simplified_nodes(const std::string& nodes, const std::string& more = "") {
  return simplified_text(
      "dims: {M: 0..64}\ninputs: {x: \"f32[M, 8]\", z: \"f32[M, 8]\", b: \"f32[8]\", s: \"f32[]\", "
      "i: \"i32[8]\"}\n" +
      more + "nodes:\n" + nodes + "outputs: [y]\n");
}

}  // namespace kgen
