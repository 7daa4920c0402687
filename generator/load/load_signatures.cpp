// The YAML form of what a kernel's declaration says. Introspection prints the same.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "generator/load/fields.hpp"
#include "generator/load/load_ops.hpp"
#include "generator/load/read_expressions.hpp"
#include "generator/load/yaml.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {
namespace {

constexpr std::int64_t most_joint_results = 16;

// The items of a list under `key` that are mappings; those that are not are reported.
std::vector<Yaml> mappings_of(Yaml entry, std::string_view key, Diagnostics& diagnostics) {
  std::vector<Yaml> result;
  const Yaml list = entry.find(key);
  if (!list) return result;
  if (!list.is_sequence()) {
    report_mismatch(list, fmt::format("'{}'", key), "a list of mappings", diagnostics);
    return result;
  }
  for (const Yaml item : list.items()) {
    if (item.is_mapping()) {
      result.push_back(item);
    } else {
      report_mismatch(item, fmt::format("each item of '{}'", key), "a mapping", diagnostics);
    }
  }
  return result;
}

std::string require_text(Yaml entry, std::string_view key, std::string_view what, Diagnostics& diagnostics) {
  const Yaml value = require_key(entry, key, what, diagnostics);
  if (!value) return "";
  return std::string(read_text(value, fmt::format("'{}'", key), diagnostics).value_or(""));
}

// Where the declaration stands: "line:column" of the header under `at`, whose text is not known here, or else `entry`.
SourceLocation read_place(Yaml entry, SourceLocation otherwise, Diagnostics& diagnostics) {
  const Yaml at = entry.find("at");
  if (!at) return otherwise;
  const std::string_view text = at.text();
  const std::size_t colon = text.find(':');
  const auto line = integer_from_text(text.substr(0, colon));
  const auto column = integer_from_text(colon == text.npos ? "" : text.substr(colon + 1));
  constexpr std::int64_t most = 1'000'000'000;
  if (!line || !column || *line < 1 || *column < 1 || *line > most || *column > most) {
    report_mismatch(at, "'at'", "line:column", diagnostics);
    return otherwise;
  }
  return {nullptr, static_cast<std::uint32_t>(*line), static_cast<std::uint32_t>(*column)};
}

// The number under `key`, from 1 to `most`; 1 where there is none.
int read_count(Yaml entry, std::string_view key, std::string_view things, std::int64_t most, Diagnostics& diagnostics) {
  const Yaml value = entry.find(key);
  if (!value) return 1;
  const std::int64_t count = read_integer(value, fmt::format("'{}'", key), diagnostics).value_or(1);
  if (count >= 1 && count <= most) return static_cast<int>(count);
  report_mismatch(value, fmt::format("'{}'", key), fmt::format("a number of {} from 1 to {}", things, most),
                  diagnostics);
  return 1;
}

// The text of an expression, which add_kernels parses; empty where there is none.
Expression read_plain(Yaml entry, std::string_view key, Diagnostics& diagnostics) {
  Expression expression;
  if (const Yaml value = entry.find(key)) {
    expression.text = read_text(value, fmt::format("'{}'", key), diagnostics).value_or("");
    expression.where = value.where();
  }
  return expression;
}

std::vector<Evaluations> read_evaluations(Yaml entry, std::string_view key, Diagnostics& diagnostics) {
  const std::string item = fmt::format("an item of '{}'", key);
  std::vector<Evaluations> evaluations;
  for (const Yaml each : mappings_of(entry, key, diagnostics)) {
    validate_keys(each, {"times", "when"}, item, diagnostics);
    require_key(each, "times", item, diagnostics);
    evaluations.push_back({read_plain(each, "times", diagnostics), read_plain(each, "when", diagnostics)});
  }
  return evaluations;
}

KernelOperand read_operand(Yaml entry, std::string_view what, Diagnostics& diagnostics) {
  validate_keys(entry,
                {"name", "rank", "types", "accepts", "element", "optional", "struct", "joint", "several", "memory",
                 "evaluations", "rows", "statistics", "at"},
                what, diagnostics);
  KernelOperand operand;
  operand.where = read_place(entry, entry.where(), diagnostics);
  operand.name = require_text(entry, "name", what, diagnostics);
  if (const Yaml rank = entry.find("rank")) {
    operand.rank = static_cast<int>(read_integer(rank, "'rank'", diagnostics).value_or(-1));
  }
  if (const Yaml types = entry.find("types")) {
    operand.dtypes = read_dtypes(types, diagnostics).value_or(std::vector<DType>{});
  }
  if (const Yaml accepts = entry.find("accepts")) {
    operand.accepts = read_enumerator<Accepts>(accepts, "'accepts'", diagnostics).value_or(operand.accepts);
  }
  if (const Yaml element = entry.find("element")) {
    operand.element = read_dtype(element, diagnostics);
  }
  if (const Yaml optional = entry.find("optional")) {
    operand.optional = read_boolean(optional, "'optional'", diagnostics).value_or(false);
  }
  operand.joint = read_count(entry, "joint", "results", most_joint_results, diagnostics);
  operand.several = read_count(entry, "several", "operands", most_siblings, diagnostics);
  if (const Yaml structure = entry.find("struct")) {
    operand.structure = read_text(structure, "'struct'", diagnostics).value_or("");
  }
  operand.memory = read_plain(entry, "memory", diagnostics);
  operand.evaluations = read_evaluations(entry, "evaluations", diagnostics);
  operand.rows = read_evaluations(entry, "rows", diagnostics);
  operand.statistics = read_plain(entry, "statistics", diagnostics);
  return operand;
}

KernelAttribute read_attribute(Yaml entry, Diagnostics& diagnostics) {
  validate_keys(entry, {"name", "type", "values", "at"}, "an attribute", diagnostics);
  KernelAttribute attribute;
  attribute.where = read_place(entry, entry.where(), diagnostics);
  attribute.name = require_text(entry, "name", "an attribute", diagnostics);
  attribute.type = require_text(entry, "type", "an attribute", diagnostics);
  if (const Yaml values = entry.find("values")) {
    for (const Yaml each : read_list(values, "'values'", diagnostics).value_or(std::vector<Yaml>{})) {
      attribute.values.emplace_back(each.text());
    }
  }
  return attribute;
}

KernelParameter read_parameter(Yaml entry, Diagnostics& diagnostics) {
  validate_keys(entry, {"name", "values", "names", "default", "tuned", "layout", "known", "at"}, "a parameter",
                diagnostics);
  KernelParameter parameter;
  parameter.where = read_place(entry, entry.where(), diagnostics);
  parameter.name = require_text(entry, "name", "a parameter", diagnostics);
  if (const Yaml values = require_key(entry, "values", "a parameter", diagnostics)) {
    for (const Yaml each : read_list(values, "'values'", diagnostics).value_or(std::vector<Yaml>{})) {
      parameter.values.push_back(read_integer(each, "a value", diagnostics).value_or(0));
    }
  }
  if (const Yaml value = require_key(entry, "default", "a parameter", diagnostics)) {
    parameter.default_value = read_integer(value, "'default'", diagnostics).value_or(0);
  }
  if (const Yaml names = entry.find("names")) {
    for (const Yaml each : read_list(names, "'names'", diagnostics).value_or(std::vector<Yaml>{})) {
      parameter.names.emplace_back(read_text(each, "a name", diagnostics).value_or(""));
    }
  }
  parameter.tuned_when = read_plain(entry, "tuned", diagnostics);
  parameter.tuned = !parameter.tuned_when.text.empty();
  if (parameter.tuned_when.text == "always") parameter.tuned_when = {};
  if (const Yaml operand = entry.find("layout")) {
    parameter.layout_of = std::string(read_text(operand, "'layout'", diagnostics).value_or(""));
    parameter.layout_when = read_plain(entry, "known", diagnostics);
    if (parameter.layout_when.text == "always") parameter.layout_when = {};
  }
  return parameter;
}

// A call takes several of one operand at most, and gives each of them sinks.
void validate_several(const KernelSignature& kernel, Diagnostics& diagnostics) {
  const auto several = several_operand(kernel);
  const auto refuse = [&](const KernelOperand& at, const std::string& message) {
    diagnostics.error(at.where, message).advise("`several` is for one operand of a kernel whose results are sinks");
  };
  for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
    if (!several || i == *several || kernel.operands[i].several == 1) continue;
    refuse(kernel.operands[i], fmt::format("'{}' may be given several times, and '{}' too", kernel.operands[i].name,
                                           kernel.operands[*several].name));
  }
  for (const KernelOperand& each : kernel.results) {
    if (each.several > 1) refuse(each, fmt::format("'{}' is a result, and no operand", each.name));
    const bool own_sink = each.accepts == Accepts::sink && each.joint == 1;
    if (several && !own_sink) {
      refuse(each, fmt::format("'{}' is no sink that each of several '{}' could have", each.name,
                               kernel.operands[*several].name));
    }
  }
}

KernelSignature read_signature(Yaml entry, Yaml name, Diagnostics& diagnostics) {
  KernelSignature kernel;
  kernel.name = name.text();
  kernel.where = read_place(entry, name.where(), diagnostics);
  kernel.header = require_text(entry, "header", "a kernel", diagnostics);
  kernel.op = require_text(entry, "operator", "a kernel", diagnostics);
  if (const Yaml kind = require_key(entry, "kind", "a kernel", diagnostics)) {
    kernel.kind = read_enumerator<KernelKind>(kind, "'kind'", diagnostics).value_or(kernel.kind);
  }
  for (const Yaml each : mappings_of(entry, "operands", diagnostics)) {
    kernel.operands.push_back(read_operand(each, "an operand", diagnostics));
  }
  for (const Yaml each : mappings_of(entry, "results", diagnostics)) {
    add_result(kernel, read_operand(each, "a result", diagnostics));
  }
  for (const Yaml each : mappings_of(entry, "attributes", diagnostics)) {
    kernel.attributes.push_back(read_attribute(each, diagnostics));
  }
  for (const Yaml each : mappings_of(entry, "parameters", diagnostics)) {
    kernel.parameters.push_back(read_parameter(each, diagnostics));
  }
  kernel.when = read_plain(entry, "when", diagnostics);
  validate_several(kernel, diagnostics);
  if (const Yaml doc = entry.find("doc")) kernel.doc = read_text(doc, "'doc'", diagnostics).value_or("");
  return kernel;
}

void validate_parameter(const KernelParameter& parameter, const KernelSignature& kernel, Diagnostics& diagnostics) {
  const std::vector<std::int64_t>& values = parameter.values;
  if (std::find(values.begin(), values.end(), parameter.default_value) == values.end()) {
    diagnostics.error(parameter.where, fmt::format("the default of '{}' is none of its values", parameter.name))
        .advise("name one of them");
  }
  const bool are_names = (parameter.names.empty() || parameter.names.size() == values.size()) &&
                         std::all_of(parameter.names.begin(), parameter.names.end(), is_qualified_name);
  if (!are_names) {
    diagnostics
        .error(parameter.where, fmt::format("the names of '{}' are no C++ names, one for each value", parameter.name))
        .advise("write qualified names of constants, such as kgen::row_major, or leave `names` out");
  }
  if (parameter.layout_of.empty()) return;
  if (const auto problem = layout_problem(kernel, parameter, parameter.layout_of)) {
    diagnostics.error(parameter.where, problem->text).advise(problem->help);
  }
}

// What of a kernel stands in emitted C++ as it is.
void validate_emitted_text(const KernelSignature& kernel, Diagnostics& diagnostics) {
  validate_header_name(kernel.header, kernel.where, diagnostics);
  if (!is_qualified_name(kernel.name)) {
    diagnostics.error(kernel.where, fmt::format("'{}' cannot name a kernel", kernel.name))
        .advise("write the qualified C++ name of a struct or a function, such as kgen::matmul");
  }
  for (const KernelParameter& parameter : kernel.parameters) validate_parameter(parameter, kernel, diagnostics);
  for (const KernelAttribute& attribute : kernel.attributes) {
    if (attribute.values.empty()) continue;  // of a type that operators know
    const bool good = is_qualified_name(attribute.type) &&
                      std::all_of(attribute.values.begin(), attribute.values.end(), is_identifier);
    if (!good) diagnostics.error(attribute.where, fmt::format("'{}' is no enumeration of words", attribute.type));
  }
}

std::vector<HeaderFile> read_headers(Yaml headers, Diagnostics& diagnostics) {
  std::vector<HeaderFile> result;
  if (!headers.is_mapping()) report_mismatch(headers, "'headers'", "a mapping of headers to hashes", diagnostics);
  for (const Yaml::Entry entry : headers.entries()) {
    const std::string_view digits = entry.value.text();
    HeaderFile header{std::string(entry.name())};
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), header.hash, 16);
    if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
      report_mismatch(entry.value, "the hash of a header", "16 hexadecimal digits", diagnostics);
    }
    result.push_back(std::move(header));
  }
  return result;
}

}  // namespace

KernelLibrary read_signatures(const SourceText& source, Diagnostics& diagnostics) {
  KernelLibrary library;
  const auto tree = parse_yaml(source, diagnostics);
  if (!tree || !validate_keys(tree->root(), {"headers", "kernels"}, "a file of kernels", diagnostics)) return library;
  if (!require_key(tree->root(), "kernels", "a file of kernels", diagnostics)) return library;
  if (const Yaml headers = tree->root().find("headers")) library.headers = read_headers(headers, diagnostics);
  for (const Yaml entry : mappings_of(tree->root(), "kernels", diagnostics)) {
    validate_keys(entry,
                  {"kernel", "header", "at", "operator", "when", "kind", "operands", "results", "attributes",
                   "parameters", "doc"},
                  "a kernel", diagnostics);
    const Yaml name = require_key(entry, "kernel", "a kernel", diagnostics);
    if (!name || !read_text(name, "'kernel'", diagnostics)) continue;
    library.kernels.push_back(read_signature(entry, name, diagnostics));
  }
  return library;
}

namespace {
void parse_expressions(KernelSignature& kernel, Diagnostics& diagnostics) {
  const auto parse = [&](Expression& expression, const std::string& what) {
    if (expression.text.empty()) return;
    expression = expression_of(expression.text, expression.where, what, node_functions(), diagnostics);
  };
  const auto parse_evaluations = [&](std::vector<Evaluations>& list, const KernelOperand& operand) {
    for (Evaluations& each : list) {
      parse(each.times, evaluations_of(kernel, operand));
      parse(each.when, condition_of(kernel, operand));
    }
  };
  parse(kernel.when, condition_of(kernel));
  for (KernelOperand& operand : kernel.operands) {
    parse(operand.memory, condition_of(kernel, operand));
    parse_evaluations(operand.evaluations, operand);
  }
  for (KernelParameter& each : kernel.parameters) {
    parse(each.tuned_when, condition_of(kernel, each));
    parse(each.layout_when, condition_of(kernel, each));
  }
  for (KernelOperand& result : kernel.results) {
    parse_evaluations(result.rows, result);
    parse(result.statistics, condition_of(kernel, result));
  }
}
}  // namespace

void add_kernels(std::vector<KernelSignature> kernels, OpSet& set, Diagnostics& diagnostics) {
  for (KernelSignature& kernel : kernels) {
    validate_emitted_text(kernel, diagnostics);
    parse_expressions(kernel, diagnostics);
    const auto [place, is_new] = set.kernel_index.emplace(kernel.name, set.kernels.size());
    if (is_new) {
      set.kernels.push_back(std::move(kernel));
    } else {
      diagnostics.error(kernel.where, fmt::format("the kernel '{}' is declared twice", kernel.name))
          .note(set.kernels[place->second].where, "it was first declared here");
    }
  }
}

void load_signatures(const SourceText& source, OpSet& set, Diagnostics& diagnostics) {
  add_kernels(read_signatures(source, diagnostics).kernels, set, diagnostics);
}

}  // namespace kgen
