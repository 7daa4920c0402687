// The model that good operators and kernels give; and the repository's own must load.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "generator/base/source_map.hpp"
#include "tests/unit/load_fixture.hpp"
#include "tests/unit/repository.hpp"

namespace kgen {
namespace {

std::string pattern_text(const std::optional<std::vector<PatternAxis>>& pattern) {
  if (!pattern) return "any";
  std::string text;
  for (const PatternAxis& axis : *pattern) {
    text += text.empty() ? "" : " ";
    text += axis.ellipsis ? "..." : axis.name.empty() ? std::to_string(axis.constant) : axis.name;
  }
  return "[" + text + "]";
}

}  // namespace

TEST_CASE("load: operators") {
  const OpSet& set = test_set();
  REQUIRE_EQ(set.ops.size(), 9);

  const OpSpec& add = *set.find("add");
  CHECK_EQ(add.doc, "Sum.");
  CHECK_EQ(add.kind, OpKind::elementwise);
  CHECK_EQ(add.kernel, "kgen::Add");
  CHECK_EQ(add.definition.text, "a + b");
  REQUIRE_EQ(add.operands.size(), 2);
  CHECK_EQ(add.operands[1].name, "b");
  CHECK_EQ(add.operands[1].type, "T");
  CHECK_EQ(add.types.at("T").size(), 16);  // all but bool
  CHECK(add.algebra.commutative);
  CHECK_FALSE(add.algebra.idempotent);
  CHECK_EQ(add.algebra.identity, std::map<std::size_t, Number>{{1, 0.0}});
  CHECK_EQ(short_text(add.where), "ops.yaml:2");

  const OpSpec& attention = *set.find("attention");
  CHECK_EQ(attention.types.at("T"), std::vector<DType>{DType::f32, DType::bf16});
  CHECK_EQ(pattern_text(attention.operands[0].pattern), "[B S H 128]");
  CHECK_EQ(attention.operands[0].doc, "Queries.");
  CHECK_EQ(pattern_text(attention.operands[2].pattern), "any");
  CHECK(attention.operands[2].optional);
  CHECK_EQ(pattern_text(attention.results[0].pattern), "[... H]");
  CHECK_EQ(attention.attributes[0].default_expression.text, "1 / sqrt(H)");
  CHECK_FALSE(attention.attributes[0].default_value);
  CHECK_FALSE(attention.attributes[0].required());
  CHECK_EQ(attention.attributes[1].allowed, std::vector<std::string>{"full", "causal"});
  CHECK_EQ(std::get<std::string>(*attention.attributes[1].default_value), "full");

  const OpSpec& slice = *set.find("slice");
  REQUIRE(slice.view);
  CHECK_EQ(slice.view->form, ViewRule::Form::slice);
  CHECK_EQ(slice.view->parameters.at("end"), "end");
  CHECK(slice.attribute("axis")->required());
  CHECK_EQ(std::get<Dim>(*slice.attribute("end")->default_value), Dim(9223372036854775807));
  CHECK_EQ(std::get<std::int64_t>(*slice.attribute("step")->default_value), 1);
  CHECK(std::get<std::vector<Dim>>(*set.find("sum")->attribute("axes")->default_value).empty());

  CHECK(set.find("concat")->operands[0].variadic);
  CHECK_EQ(set.find("cast")->results[0].type, "$to");
  CHECK_EQ(set.with_role(OpRole::cast), set.find("cast"));
}

TEST_CASE("load: expansions") {
  const SourceText source{"ops.yaml", R"yaml(ops:
- op: softmax
  kind: composite
  operands: {x: f32}
  results: {out: f32}
  attributes: {axis: {type: integer, default: -1}}
  expansion:
  - when: extent(x, axis) <= 65536
    nodes:
    - {op: max, in: x, out: maximum, axes: [$axis], keepdims: true}
    - {op: sub, in: [x, maximum, -0.5, $axis], out: out, end: D / 2}
  - nodes: [{op: whole, in: [x], out: [out]}]
)yaml"};
  OpSet set;
  Diagnostics diagnostics;
  load_ops(source, set, diagnostics);
  CHECK_EQ(diagnostics.text(false), "");
  const OpSpec& softmax = *set.find("softmax");
  REQUIRE_EQ(softmax.expansions.size(), 2);
  CHECK_EQ(softmax.expansions[0].when.text, "extent(x, axis) <= 65536");
  CHECK_EQ(softmax.expansions[1].when.text, "");
  const ExpansionNode& max = softmax.expansions[0].nodes[0];
  const auto given = [](const ExpansionNode& node) {
    std::string text;
    for (const auto& [name, value] : node.attributes)
      text += fmt::format("{}: {} ({}); ", name, value.text, value.items.size());
    return text;
  };
  CHECK_EQ(max.op, "max");
  CHECK_EQ(max.outputs, std::vector<std::string>{"maximum"});
  CHECK_EQ(given(max), "axes: [$axis] (1); keepdims: true (1); ");
  CHECK_EQ(max.attributes[0].second.items[0].variables, std::vector<std::string>{"axis"});
  CHECK_EQ(short_text(max.where), "ops.yaml:10");
  const ExpansionNode& sub = softmax.expansions[0].nodes[1];
  std::vector<std::string> inputs;
  for (const Expression& input : sub.inputs) inputs.push_back(input.text);
  CHECK_EQ(inputs, std::vector<std::string>{"x", "maximum", "-0.5", "$axis"});
  CHECK_EQ(given(sub), "end: D / 2 (1); ");
}

TEST_CASE("load: kernels") {
  const SourceText source{"kernels.yaml", R"yaml(kernels:
- {kernel: kgen::Clamp, header: kgen/ops/arithmetic.hpp, operator: clamp, kind: elementwise,
   operands: [{name: x, types: number}], results: [{name: out, types: [bool]}],
   attributes: [{name: minimum, type: float}]}
- kernel: kgen::matmul
  header: kgen/matmul.hpp
  operator: matmul
  kind: structured
  operands: [{name: a, rank: 2, types: float, accepts: source}, {name: b, rank: 2, optional: true}]
  results: [{name: c, rank: 2, accepts: sink, element: f64}]
  attributes: []
  parameters: [{name: TileM, values: [48, 96], default: 96}]
  doc: A product.
)yaml"};
  OpSet set;
  Diagnostics diagnostics;
  load_signatures(source, set, diagnostics);
  CHECK_EQ(diagnostics.text(false), "");
  REQUIRE_EQ(set.kernels.size(), 2);
  const KernelSignature& clamp = set.kernels[set.kernel_index.at("kgen::Clamp")];
  CHECK_EQ(clamp.header, "kgen/ops/arithmetic.hpp");
  CHECK_EQ(clamp.op, "clamp");
  CHECK_EQ(clamp.operands[0].dtypes.size(), 16);
  CHECK_EQ(clamp.operands[0].rank, -1);
  CHECK_EQ(clamp.results[0].dtypes, std::vector<DType>{DType::boolean});
  CHECK_EQ(clamp.attributes[0].name, "minimum");
  CHECK_EQ(clamp.attributes[0].type, "float");
  const KernelSignature& matmul = set.kernels[1];
  CHECK_EQ(matmul.kind, KernelKind::structured);
  CHECK_EQ(matmul.operands[0].accepts, Accepts::source);
  CHECK_EQ(matmul.operands[0].rank, 2);
  CHECK_EQ(matmul.operands[1].accepts, Accepts::view);
  CHECK(matmul.operands[1].optional);
  CHECK(matmul.operands[1].dtypes.empty());
  CHECK_EQ(matmul.results[0].accepts, Accepts::sink);
  CHECK_EQ(matmul.results[0].element, DType::f64);
  CHECK_EQ(matmul.parameters[0].values, std::vector<std::int64_t>{48, 96});
  CHECK_EQ(matmul.parameters[0].default_value, 96);
  CHECK_EQ(matmul.doc, "A product.");
  CHECK_EQ(short_text(matmul.where), "kernels.yaml:5");
}

TEST_CASE("load: the repository's operators, kernels and example graphs") {
  namespace fs = std::filesystem;
  const fs::path root = repository::root();
  SourceMap texts;
  OpSet set;
  Diagnostics diagnostics;
  for (const auto& file : fs::directory_iterator(root / "specs" / "ops")) {
    load_ops(*texts.read(file.path().string(), diagnostics), set, diagnostics);
  }
  load_signatures(*texts.read((root / "templates/kgen/signatures.yaml").string(), diagnostics), set, diagnostics);
  link_ops(set, diagnostics);
  CHECK_EQ(diagnostics.text(false), "");
  CHECK(set.ops.size() > 50);
  CHECK(set.with_role(OpRole::copy));
  CHECK(set.with_role(OpRole::cast));
  for (const OpSpec& op : set.ops) {
    for (const std::string& name : op.other_names) {
      INFO(op.name, " is elsewhere ", name);
      CHECK_FALSE(set.find(name));
      CHECK(std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
    }
  }
  for (const auto& file : fs::directory_iterator(root / "specs" / "graphs")) {
    if (file.path().extension() != ".yaml") continue;
    const SourceText* text = texts.read(file.path().string(), diagnostics);
    const auto module = load_graph(*text, set, diagnostics);
    CHECK_EQ(diagnostics.text(false), "");
    REQUIRE(module);
    CHECK_EQ(module->main.name, file.path().stem().string());
  }
}

}  // namespace kgen
