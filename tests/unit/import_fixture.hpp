// Small ONNX models, made as data or as the bytes of a file, and imported with the operators and rules that kgen ships.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/import/import_model.hpp"
#include "generator/load/load_import_rules.hpp"
#include "tests/unit/infer_fixture.hpp"

namespace kgen::test {

inline constexpr std::int32_t onnx_float = 1, onnx_int64 = 7, onnx_bool = 9, onnx_string = 8, onnx_complex64 = 14;

// The rules of specs/onnx, loaded once.
inline const ImportRules& shipped_rules() {
  static SourceMap sources;
  static const ImportRules set = [] {
    ImportRules rules;
    Diagnostics diagnostics;
    for (const std::string& path : repository::files_below("specs/onnx", {".yaml"})) {
      load_import_rules(sources.add(path, repository::read(path)), shipped_ops(), rules, diagnostics);
    }
    link_import_rules(rules, diagnostics);
    REQUIRE_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
    return rules;
  }();
  return set;
}

// ---- models as data --------------------------------------------------------------------------------------------------

inline OnnxValueInfo tensor_info(std::string name, std::vector<std::int64_t> shape, std::int32_t type = onnx_float) {
  OnnxValueInfo info{std::move(name), true, type, std::vector<OnnxValueInfo::Dim>{}};
  for (const std::int64_t extent : shape) info.shape->push_back({extent, ""});
  return info;
}

// With an extent that has a name.
inline OnnxValueInfo symbolic_info(std::string name, std::string dim, std::vector<std::int64_t> rest) {
  OnnxValueInfo info = tensor_info(std::move(name), rest);
  info.shape->insert(info.shape->begin(), {std::nullopt, std::move(dim)});
  return info;
}

template <class Element>
OnnxTensor tensor(std::string name, std::vector<std::int64_t> dims, const std::vector<Element>& elements, std::int32_t type) {
  OnnxTensor result{std::move(name), type, std::move(dims)};
  std::string bytes(elements.size() * sizeof(Element), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  result.bytes = std::make_shared<const std::string>(std::move(bytes));
  return result;
}
inline OnnxTensor integers(std::string name, std::vector<std::int64_t> elements) {
  const auto count = static_cast<std::int64_t>(elements.size());
  return tensor(std::move(name), {count}, elements, onnx_int64);
}
inline OnnxTensor scalar(std::string name, std::int64_t value) { return tensor<std::int64_t>(std::move(name), {}, {value}, onnx_int64); }
inline OnnxTensor floats(std::string name, std::vector<std::int64_t> dims, std::vector<float> elements) {
  return tensor(std::move(name), std::move(dims), elements, onnx_float);
}

inline OnnxAttribute integer(std::string name, std::int64_t value) {
  OnnxAttribute attribute{std::move(name), OnnxAttribute::Kind::integer};
  attribute.integer = value;
  return attribute;
}
inline OnnxAttribute integer_list(std::string name, std::vector<std::int64_t> values) {
  OnnxAttribute attribute{std::move(name), OnnxAttribute::Kind::integers};
  attribute.integers = std::move(values);
  return attribute;
}
inline OnnxAttribute real(std::string name, double value) {
  OnnxAttribute attribute{std::move(name), OnnxAttribute::Kind::real};
  attribute.real = value;
  return attribute;
}
inline OnnxAttribute word(std::string name, std::string value) {
  OnnxAttribute attribute{std::move(name), OnnxAttribute::Kind::text};
  attribute.text = std::move(value);
  return attribute;
}
inline OnnxAttribute reference(std::string name, std::string to) {
  OnnxAttribute attribute{std::move(name), OnnxAttribute::Kind::real};
  attribute.reference = std::move(to);
  return attribute;
}
inline OnnxAttribute subgraph(std::string name, OnnxGraph graph) {
  OnnxAttribute attribute{std::move(name), OnnxAttribute::Kind::graph};
  attribute.graph = std::make_shared<const OnnxGraph>(std::move(graph));
  return attribute;
}

inline OnnxNode node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs, std::vector<OnnxAttribute> attributes = {}) {
  return {"", std::move(op), "", "", std::move(inputs), std::move(outputs), std::move(attributes)};
}

inline OnnxModel model(std::vector<OnnxValueInfo> inputs, std::vector<OnnxNode> nodes, std::vector<std::string> outputs,
                       std::vector<OnnxTensor> initializers = {}, std::int64_t version = 18) {
  OnnxModel result;
  result.ir_version = 8;
  result.opsets[""] = version;
  result.graph.inputs = std::move(inputs);
  result.graph.nodes = std::move(nodes);
  result.graph.initializers = std::move(initializers);
  for (std::string& each : outputs) result.graph.outputs.push_back({std::move(each), true, onnx_float, std::nullopt});
  return result;
}

// ---- importing -------------------------------------------------------------------------------------------------------

inline ImportResult import_with(const OnnxModel& model, Diagnostics& diagnostics, ImportOptions options = {}) {
  if (options.model.empty()) options.model = "m.onnx";
  options.graph_name = "m";
  options.weights_file = "m.safetensors";
  return import_model(model, shipped_rules(), shipped_ops(), options, diagnostics);
}

// The text of the graph, which has no errors and can be loaded and typed.
inline std::string imported(const OnnxModel& model, ImportOptions options = {}) {
  Diagnostics diagnostics;
  const ImportResult result = import_with(model, diagnostics, std::move(options));
  REQUIRE_MESSAGE(result.model, diagnostics.text(false));
  infer_good(result.model->graph);
  return result.model->graph;
}

// What follows a key of the text: "nodes:" gives its lines.
inline std::string section(const std::string& text, const std::string& key) {
  const auto begin = text.find("\n" + key);
  if (begin == text.npos) return "";
  auto end = text.find('\n', begin + 1);
  while (end != text.npos && end + 1 < text.size() && text[end + 1] == ' ') end = text.find('\n', end + 1);
  return text.substr(begin + 1, end - begin);
}

inline std::string import_problems(const OnnxModel& model, ImportOptions options = {}) {
  Diagnostics diagnostics;
  const ImportResult result = import_with(model, diagnostics, std::move(options));
  CHECK_FALSE(result.model);
  std::string text;
  for (const Diagnostic& each : diagnostics.all()) {
    if (!text.empty()) text += '\n';
    text += each.message;
    for (const auto& [where, note] : each.notes) text += "\nnote: " + note;
    if (!each.help.empty()) text += "\nhelp: " + each.help;
  }
  return text;
}

}  // namespace kgen::test
