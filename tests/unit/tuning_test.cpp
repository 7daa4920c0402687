// Compile-time parameters of kernels: rules, what is wrong with them, and the call that they make.
#include <doctest/doctest.h>

#include "generator/emit/stub.hpp"
#include "generator/pass/lower/lower.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// The line of the stub that calls kgen::matmul on a [M, 64] matrix of that dtype.
std::string call_under(const std::string& rules, const std::string& range, const std::string& dtype = "f32") {
  Fixture f("tuning:\n" + rules);
  const FusedGraph fused = f.fuse_main("graph: g\ndims: {M: " + range + "}\ninputs: {a: \"" + dtype + "[M, 64]\", b: \"" +
                                       dtype + "[64, 32]\"}\nnodes: [{op: matmul, in: [a, b], out: c}]\noutputs: [c]\n");
  StubTable table;
  lower(fused, f.ops, "stub_", table);
  const std::string text = emit_stub(table.take().front(), "g", "stubs", {"g.yaml", "kgen plan g.yaml"}).content;
  const std::size_t begin = text.find("kgen::matmul");
  return text.substr(begin, text.find(';', begin) - begin);
}

std::string messages(const std::string& rules) {
  SourceMap sources;
  OpSet ops;
  Diagnostics diagnostics;
  const std::filesystem::path root = repository::root();
  for (const auto& entry : std::filesystem::directory_iterator(root / "specs" / "ops")) {
    load_ops(*sources.read(entry.path().string(), diagnostics), ops, diagnostics);
  }
  load_ops(sources.add("tuned.yaml", rules), ops, diagnostics);
  load_signatures(sources.add("kernels.yaml", R"(kernels:
- kernel: mine::product
  header: product.hpp
  operator: matmul
  kind: structured
  operands: [{name: a, rank: 2, types: float}, {name: b, rank: 2, types: float}]
  results: [{name: c, rank: 2}]
  parameters: [{name: Tile, values: [2, 4], default: 2}]
)"),
                  ops, diagnostics);
  load_signatures(*sources.read((root / "templates" / "kgen" / "signatures.yaml").string(), diagnostics), ops, diagnostics);
  link_ops(ops, diagnostics);
  return diagnostics.text(false);
}

}  // namespace

TEST_CASE("tuning: the last rule that holds for every size gives the kernel its parameters") {
  const std::string rules =
      "- {kernel: kgen::matmul, parameters: {TileN: 512}}\n"
      "- {kernel: kgen::matmul, when: M <= 64 && T == f32, parameters: {TileM: 48}}\n";
  CHECK(call_under(rules, "1..64") == "kgen::matmul<48>(a, b, c, stream)");
  CHECK(call_under(rules, "1..65") == "kgen::matmul<96, 512>(a, b, c, stream)");
  CHECK(call_under(rules, "1..64", "bf16") == "kgen::matmul<96, 512>(a, b, c, stream)");
  CHECK(call_under("- {kernel: kgen::matmul, parameters: {TileM: 96}}\n", "1..64") == "kgen::matmul(a, b, c, stream)");
}

TEST_CASE("tuning: calls with other parameters are other stubs") {
  Fixture f("tuning: [{kernel: kgen::matmul, when: N == 32, parameters: {TileM: 48}}]\n");
  const FusedGraph fused = f.fuse_main(R"(graph: g
inputs: {a: "f32[8, 64]", b: "f32[64, 32]", c: "f32[64, 16]", d: "f32[64, 24]"}
nodes:
- {op: matmul, in: [a, b], out: tuned}
- {op: matmul, in: [a, c], out: plain}
- {op: matmul, in: [a, d], out: plain_too}
outputs: [tuned, plain, plain_too]
fusion: {forbid: [[tuned, plain], [tuned, plain_too], [plain, plain_too]]}
)");
  StubTable table;
  CHECK(lower(fused, f.ops, "stub_", table) == std::vector<std::uint32_t>{0, 1, 1});
}

TEST_CASE("tuning, bad: kernels, parameters and values that there are not") {
  CHECK(messages(R"(tuning:
- {kernel: mine::prodct, parameters: {Tile: 2}}
- {kernel: mine::product, parameters: {Tlie: 2}}
- {kernel: mine::product, when: M < 4, parameters: {Tile: 3}}
)") == R"(tuned.yaml:2:12: error: unknown kernel 'mine::prodct'
    2 | - {kernel: mine::prodct, parameters: {Tile: 2}}
      |            ^
note: the nearest name is 'mine::product'
tuned.yaml:3:40: error: 'mine::product' has no parameter 'Tlie'
    3 | - {kernel: mine::product, parameters: {Tlie: 2}}
      |                                        ^
note: the nearest name is 'Tile'
tuned.yaml:4:53: error: 'Tile' of 'mine::product' cannot be 3
    4 | - {kernel: mine::product, when: M < 4, parameters: {Tile: 3}}
      |                                                     ^
kernels.yaml:8:16: note: it may be one of 2, 4
    8 |   parameters: [{name: Tile, values: [2, 4], default: 2}]
      |                ^
)");
}

TEST_CASE("tuning, bad: a condition on what the kernel's operator does not have") {
  const std::string text = messages("tuning: [{kernel: mine::product, when: Q < 4, parameters: {Tile: 4}}]\n");
  CHECK(text.starts_with(
      "tuned.yaml:1:40: error: the condition of a rule for 'mine::product' has no meaning: 'Q' is no size, type or switch "
      "of 'matmul'\n"));
  CHECK(text.find("note: 'matmul' has 'M', 'K', 'N' and 'T'\n") != std::string::npos);
}

TEST_CASE("tuning, bad: rules that are none") {
  CHECK(messages(R"(tuning:
- 3
- {kernel: mine::product}
- {parameters: {Tile: 2}}
- {kernel: mine::product, parameters: 4}
- {kernel: mine::product, parameters: {Tile: wide}}
- {kernel: mine::product, when: "M <", parameters: {Tile: 4}}
- {kernel: mine::product, tile: 4, parameters: {Tile: 4}}
)") == R"(tuned.yaml:2:3: error: a rule of tuning must be a mapping, not '3'
    2 | - 3
      |   ^
tuned.yaml:3:3: error: a rule of tuning needs the key 'parameters'
    3 | - {kernel: mine::product}
      |   ^
tuned.yaml:4:3: error: a rule of tuning needs the key 'kernel'
    4 | - {parameters: {Tile: 2}}
      |   ^
tuned.yaml:5:39: error: 'parameters' must be a mapping, such as {TileM: 48}, not '4'
    5 | - {kernel: mine::product, parameters: 4}
      |                                       ^
tuned.yaml:6:46: error: 'Tile' must be an integer, not 'wide'
    6 | - {kernel: mine::product, parameters: {Tile: wide}}
      |                                              ^
tuned.yaml:7:34: error: the condition of a rule for 'mine::product' has no meaning: 'M <', column 4: expected a number, a name or '('
    7 | - {kernel: mine::product, when: "M <", parameters: {Tile: 4}}
      |                                  ^
tuned.yaml:8:27: error: unknown key 'tile' in a rule of tuning
    8 | - {kernel: mine::product, tile: 4, parameters: {Tile: 4}}
      |                           ^
note: known keys: 'kernel', 'when', 'parameters' and 'doc'
)");
  CHECK(messages("tuning: 3\n") == R"(tuned.yaml:1:9: error: 'tuning' must be a list of rules, not '3'
    1 | tuning: 3
      |         ^
)");
}
