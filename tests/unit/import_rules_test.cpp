// Rules of import: what is wrong with one, what the page about them says, and the table of ONNX's operators.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "generator/import/evaluate.hpp"
#include "generator/model/import_rule.hpp"
#include "tests/unit/import_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

std::string rule_problems(const std::string& text) {
  SourceMap sources;
  ImportRules rules;
  Diagnostics diagnostics;
  load_import_rules(sources.add("rules.yaml", text), shipped_ops(), rules, diagnostics);
  if (!diagnostics.has_errors()) link_import_rules(rules, diagnostics);
  std::string problems;
  for (const Diagnostic& each : diagnostics.all()) problems += fmt::format("{}: {}\n", each.where.line, each.message);
  return problems;
}

// Among ONNX's own operators in models of ONNX Runtime's, and none of them.
constexpr std::string_view added_by_runtime = "SimplifiedLayerNormalization";

std::string link_to(const std::string& op) { return fmt::format("[{0}](https://onnx.ai/onnx/operators/onnx__{0}.html)", op); }

std::string runtime_link_to(const std::string& op) {
  return fmt::format("[com.microsoft.{0}](https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.{0})", op);
}

// "| [Gemm](...) | 7 | |"
std::string table_row(const std::vector<ImportRule>& versions) {
  const ImportRule& oldest = versions.back();
  const bool own = oldest.domain.empty() && oldest.op != added_by_runtime;
  const std::string name = own                               ? link_to(oldest.op)
                           : oldest.domain == "com.microsoft" ? runtime_link_to(oldest.op)
                           : oldest.domain.empty()            ? oldest.op
                                                              : fmt::format("{}.{}", oldest.domain, oldest.op);
  const std::vector<std::string> known = evaluated_operators();
  const bool evaluated = own && std::find(known.begin(), known.end(), oldest.op) != known.end();
  std::string limits = versions.front().limits;
  if (versions.front().evaluated) limits = "where its inputs are known when the model is imported";
  const auto since = std::max<std::int64_t>(1, shipped_rules().first_version(oldest));
  return fmt::format("| {} | {} | {} | {} |\n", name, since, limits, evaluated ? "yes" : "");
}

// ONNX's own operators, and of those that are out of scope what they are for.
std::map<std::string, std::string> onnx_operators() {
  std::map<std::string, std::string> result;
  std::istringstream lines(repository::read("tests/unit/onnx_operators.txt"));
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.find(' ');
    if (!line.starts_with("#")) result[line.substr(0, space)] = space == line.npos ? "" : line.substr(space + 1);
  }
  return result;
}

// Part of the importer, with no rule of their own.
const std::map<std::string, std::string> without_rules = {
    {"Constant", "tensors and numbers"},
    {"If", "where only the run knows its condition, both branches are computed, and make results of the same types"},
    {"Loop", "where how often it runs is known when the model is imported"},
    {"Scan", "where how often it runs is known when the model is imported"}};

std::string table() {
  std::map<std::string, std::string> rows;
  for (const auto& [op, purpose] : onnx_operators()) {
    const auto known = without_rules.find(op);
    rows[op] = known != without_rules.end() ? fmt::format("| {} | 1 | {} | yes |\n", link_to(op), known->second)
               : purpose.empty()            ? fmt::format("| {} | | not supported | |\n", link_to(op))
                                            : fmt::format("| {} | | out of scope: {} | |\n", link_to(op), purpose);
  }
  for (const auto& [name, versions] : shipped_rules().rules) {
    const ImportRule& rule = versions.front();
    if (!rule.op.starts_with("_")) rows[rule.domain.empty() ? rule.op : fmt::format("{}.{}", rule.domain, rule.op)] = table_row(versions);
  }
  std::string text =
      "# ONNX's operators\n\n"
      "What `kgen import` knows, from the rules in [onnx/](onnx) ([their language](IMPORT.md)); a test keeps this page current. An\n"
      "operator that is not supported is an error that names the node. *Since*: the version of ONNX's operator set.\n"
      "*Evaluated*: computed when the model is imported, where its inputs are known, as shapes are. Functions of the model are\n"
      "written where they are called. *com.microsoft*: operators of ONNX Runtime's own.\n\n"
      "| operator | since | supported | evaluated |\n| --- | --- | --- | --- |\n";
  for (const auto& [name, row] : rows) text += row;
  return text;
}

}  // namespace

TEST_CASE("rules: what is wrong with one is said at its place") {
  CHECK(rule_problems("rules: [{onnx: A, inputs: [x], outputs: [y], steps: [{op: ad, in: [x, 1], out: y}]}]") == "1: unknown operator 'ad'\n");
  CHECK(rule_problems("rules: [{onnx: A, inputs: [x], outputs: [y], steps: [{op: add, in: [x, 1], speed: 2, out: y}]}]") == "1: 'add' has no attribute 'speed'\n");
  CHECK(rule_problems("rules:\n- {onnx: A}\n- {onnx: A}\n") == "3: 'A' has two rules without 'since'\n");
  CHECK(rule_problems("rules:\n- {onnx: A, since: 9}\n- {onnx: A, since: 9}\n") == "3: 'A' has two rules since 9\n");
  CHECK(rule_problems("rules: [{onnx: A, steps: [{onnx: B, out: y}]}]") == "1: no rule says what ONNX's 'B' is\n");
  CHECK(rule_problems("rules: [{onnx: A, inputs: [x], values: [z]}]") == "1: 'z' is no input of 'A'\n");
  CHECK(rule_problems("rules: [{onnx: A, steps: [{out: y}]}]") == "1: a step needs one of the keys op, onnx, graph, let, constant, bytes, check and if\n");
  CHECK(rule_problems("rules: [{onnx: A, steps: [{let: y, be: \"1 +\"}]}]").starts_with("1: the expression: '1 +', column 4"));
  CHECK(rule_problems("rules: [{onnx: A, step: []}]").starts_with("1: unknown key 'step' in a rule of import"));
  CHECK(rule_problems("rules: [A]") == "1: a rule of import must be a mapping, not 'A'\n");
  CHECK(rule_problems("versions: [7]\nrules: []") == "1: 'versions' must be the oldest and the newest\n");
}

TEST_CASE("rules: the examples of the page are loaded, and it has every function") {
  const std::string page = repository::read("specs/IMPORT.md");
  static const std::regex block("```yaml\n([^`]*)```");
  int examples = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), block), end; it != end; ++it, ++examples) CHECK(rule_problems((*it)[1]) == "");
  CHECK(examples >= 2);
  for (const std::string_view name : import_functions) {
    CAPTURE(name);
    CHECK(page.find("`" + std::string(name) + "(") != page.npos);
  }
}

// KGEN_UPDATE=1 writes it anew.
TEST_CASE("rules: the table of ONNX's operators is current") {
  if (std::getenv("KGEN_UPDATE")) std::ofstream(repository::root() / "specs/ONNX.md", std::ios::binary) << table();
  CHECK(repository::read("specs/ONNX.md") == table());
  const auto known = onnx_operators();
  CHECK(known.size() > 200);
  for (const auto& [name, versions] : shipped_rules().rules) {
    const ImportRule& rule = versions.front();
    if (rule.domain.empty() && !rule.op.starts_with("_") && rule.op != added_by_runtime) CHECK_MESSAGE(known.contains(rule.op), rule.op);
  }
}
