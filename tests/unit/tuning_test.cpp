// Compile-time parameters of kernels: rules, what is wrong with them, and the call that they make.
#include <doctest/doctest.h>

#include <fstream>

#include "generator/emit/stub.hpp"
#include "generator/pass/lower/lower.hpp"
#include "generator/tune_graph.hpp"
#include "tests/unit/own_folder.hpp"
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
  const std::size_t begin = text.rfind("\n  kgen::") + 3;
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

TEST_CASE("tuning: the last rule that holds for every size and gives a parameter counts") {
  const std::string rules =
      "- {kernel: kgen::matmul, parameters: {TileN: 512}}\n"
      "- {kernel: kgen::matmul, when: M <= 64 && T == f32, parameters: {TileM: 48}}\n";
  CHECK(call_under(rules, "1..64") == "kgen::matmul<kgen::any_layout, kgen::any_rows, 48, 512>(a, b, c, stream)");
  CHECK(call_under(rules + "- {kernel: kgen::matmul, when: M <= 8, parameters: {TileN: 128}}\n", "1..8") ==
        "kgen::matmul<kgen::any_layout, kgen::any_rows, 48, 128>(a, b, c, stream)");
  CHECK(call_under(rules, "1..65") == "kgen::matmul<kgen::any_layout, kgen::any_rows, 96, 512>(a, b, c, stream)");
  CHECK(call_under(rules, "1..64", "bf16") == "kgen::matmul<kgen::any_layout, kgen::any_rows, 96, 512>(a, b, c, stream)");
  CHECK(call_under("- {kernel: kgen::matmul, parameters: {TileM: 96}}\n", "1..64") == "kgen::matmul(a, b, c, stream)");
}

// The line of the stub that makes the last result, for Hopper.
std::string call_of(const std::string& graph) {
  Fixture f;
  const FusedGraph fused = f.fuse_main("graph: g\n" + graph, TargetKind::cuda, Architecture::sm_90a);
  CHECK(!f.diagnostics.has_errors());
  StubTable table;
  lower(fused, f.ops, "stub_", table);
  const std::string text = emit_stub(table.take().back(), "g", "stubs", {"g.yaml", "kgen plan g.yaml"}).content;
  const std::size_t begin = text.rfind("\n  kgen::") + 3;
  return text.substr(begin, text.find(';', begin) - begin);
}

TEST_CASE("known products: how right operands lie, where the graph says it of all lines") {
  const auto product = [](const std::string& a, const std::string& b, const std::string& more = "") {
    return call_of("dims: {M: 1..64, K: 1..64}\ninputs: {a: \"" + a + "\", b: " + b + "}\nnodes:\n" + more +
                   "- {op: matmul, in: [a, " + (more.empty() ? "b" : "r") + "], out: c}\noutputs: [c]\n");
  };
  const auto matrix = [](const std::string& type) { return "\"" + type + "\""; };
  CHECK(product("bf16[M, 64]", matrix("bf16[64, 32]")) == "kgen::matmul<kgen::row_major>(a, b, c, stream)");
  CHECK(product("f16[M, 64]", matrix("f16[64, 32]")) == "kgen::matmul<kgen::row_major>(a, b, c, stream)");
  CHECK(product("bf16[3, M, 64]", matrix("bf16[64, 32]")) ==
        "kgen::matmul<kgen::row_major>(a.merge<0, 1>(), b, c.merge<0, 1>(), stream)");
  const std::string turned = "- {op: transpose, in: b, out: r, perm: [1, 0]}\n";
  CHECK(product("bf16[M, 64]", matrix("bf16[32, 64]"), turned).starts_with("kgen::matmul<kgen::column_major>("));
  // Part of a matrix, of whole vectors, which begins at one or does not, and of a part of one; a row that repeats.
  const auto part = [](const std::string& from, const std::string& columns = "32") {
    return "- {op: slice, in: b, out: r, axis: 1, begin: " + from + ", end: " + columns + " + " + from + "}\n";
  };
  CHECK(product("bf16[M, 64]", matrix("bf16[64, 80]"), part("8")).starts_with("kgen::matmul<kgen::row_major>("));
  CHECK(product("bf16[M, 64]", matrix("bf16[64, 80]"), part("9")).starts_with("kgen::matmul("));
  CHECK(product("bf16[M, 64]", matrix("bf16[64, 80]"), part("8", "33")).starts_with("kgen::matmul("));
  const std::string repeated = "- {op: broadcast_to, in: b, out: r, shape: [64, 32]}\n";
  CHECK(product("bf16[M, 64]", matrix("bf16[1, 32]"), repeated).starts_with("kgen::matmul("));
  // Lines that are no whole vectors, or may be none, of either operand; and any strides.
  CHECK(product("bf16[M, 64]", matrix("bf16[64, 33]")) == "kgen::matmul(a, b, c, stream)");
  CHECK(product("bf16[M, 60]", matrix("bf16[60, 32]")) == "kgen::matmul(a, b, c, stream)");
  CHECK(product("bf16[M, K]", matrix("bf16[K, 32]")) == "kgen::matmul(a, b, c, stream)");
  CHECK(product("bf16[M, 64]", "{type: \"bf16[64, 32]\", strided: true}") == "kgen::matmul(a, b, c, stream)");
  // Of floats there are no such kernels.
  CHECK(product("f32[M, 64]", matrix("f32[64, 32]")) == "kgen::matmul(a, b, c, stream)");
}

TEST_CASE("known products: few rows, and several right operands of which one lies otherwise") {
  const std::string weights = "b: \"bf16[64, 32]\", d: \"bf16[64, 48]\", e: \"bf16[64, 33]\"";
  const auto products = [&](const std::string& rows, const std::string& second) {
    return call_of("dims: {M: " + rows + "}\ninputs: {a: \"bf16[M, 64]\", " + weights +
                   "}\nnodes: [{op: matmul, in: [a, b], out: c}, {op: matmul, in: [a, " + second +
                   "], out: y}]\noutputs: [c, y]\n");
  };
  CHECK(products("1..16", "d").starts_with("kgen::matmul<kgen::row_major, kgen::few_rows>(a, kgen::several(b, d)"));
  CHECK(products("1..17", "d").starts_with("kgen::matmul<kgen::row_major>(a, kgen::several(b, d)"));
  CHECK(products("1..16", "e").starts_with("kgen::matmul<kgen::any_layout, kgen::few_rows>(a, kgen::several(b, e)"));
}

TEST_CASE("known products: batches, and filters of convolutions by their channels") {
  const auto call = [](const std::string& inputs, const std::string& turned, const std::string& node) {
    const std::string view = turned.empty() ? "" : "{op: transpose, in: b, out: r, perm: [" + turned + "]}, ";
    const std::string text = call_of("dims: {M: 1..64}\ninputs: {" + inputs + "}\nnodes: [" + view + "{op: " + node +
                                     ", in: [a, " + (turned.empty() ? "b" : "r") + "], out: c}]\noutputs: [c]\n");
    return text.substr(0, text.find('('));
  };
  CHECK(call("a: \"bf16[4, M, 64]\", b: \"bf16[4, 64, 32]\"", "", "matmul") == "kgen::batched_matmul<kgen::row_major>");
  CHECK(call("a: \"bf16[4, M, 64]\", b: \"bf16[4, 32, 64]\"", "0, 2, 1", "matmul") ==
        "kgen::batched_matmul<kgen::column_major>");
  CHECK(call("a: \"bf16[4, M, 64]\", b: \"bf16[64, 4, 32]\"", "1, 0, 2", "matmul") ==
        "kgen::batched_matmul<kgen::row_major>");
  CHECK(call("a: \"bf16[4, M, 64]\", b: \"bf16[4, 64, 33]\"", "", "matmul") == "kgen::batched_matmul");
  CHECK(call("a: \"bf16[4, M, 60]\", b: \"bf16[4, 60, 32]\"", "", "matmul") == "kgen::batched_matmul");

  const std::string many = "kgen::row_major, kgen::many_channels>";
  CHECK(call("a: \"bf16[M, 9, 64]\", b: \"bf16[3, 64, 32]\"", "", "conv1d") == "kgen::conv1d<" + many);
  CHECK(call("a: \"bf16[M, 9, 9, 64]\", b: \"bf16[3, 3, 64, 32]\"", "", "conv2d") == "kgen::conv2d<" + many);
  CHECK(call("a: \"bf16[M, 5, 9, 9, 64]\", b: \"bf16[3, 3, 3, 64, 32]\"", "", "conv3d") == "kgen::conv3d<" + many);
  CHECK(call("a: \"bf16[M, 9, 9, 64]\", b: \"bf16[32, 3, 3, 64]\"", "1, 2, 3, 0", "conv2d") ==
        "kgen::conv2d<kgen::column_major, kgen::many_channels>");
  // Filters, and images, whose channels are not neighbours; few channels, and some that are no whole vectors.
  CHECK(call("a: \"bf16[M, 9, 9, 64]\", b: \"bf16[32, 64, 3, 3]\"", "2, 3, 1, 0", "conv2d") ==
        "kgen::conv2d<kgen::any_layout, kgen::many_channels>");
  CHECK(call_of("inputs: {x: \"bf16[1, 64, 9, 9]\", w: \"bf16[3, 3, 64, 32]\"}\nnodes: [{op: transpose, in: x, out: a, "
                "perm: [0, 2, 3, 1]}, {op: conv2d, in: [a, w], out: c}]\noutputs: [c]\n")
            .starts_with("kgen::conv2d<kgen::any_layout, kgen::many_channels>("));
  CHECK(call("a: \"bf16[M, 9, 9, 56]\", b: \"bf16[3, 3, 56, 32]\"", "", "conv2d") == "kgen::conv2d<kgen::row_major>");
  CHECK(call("a: \"bf16[M, 9, 9, 60]\", b: \"bf16[3, 3, 60, 32]\"", "", "conv2d") == "kgen::conv2d");
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

namespace {

// The tuning of that graph with the repository's operators and kernels, for a target.
std::optional<TuningPlans> tuning_of(const std::string& graph, TargetKind target, Session& session) {
  const OwnFolder folder;
  const std::string path = folder.path + "/g.yaml";
  std::ofstream(path) << graph;
  PipelineOptions options;
  options.graph = path;
  for (const auto& entry : std::filesystem::directory_iterator(repository::root() / "specs" / "ops"))
    options.spec_files.push_back(entry.path().string());
  options.signatures = (repository::root() / "templates" / "kgen" / "signatures.yaml").string();
  options.include_directories = {(repository::root() / "templates").string()};
  options.target = target;
  options.architecture = target == TargetKind::cpu    ? Architecture::none
                         : target == TargetKind::cuda ? Architecture::sm_90a
                                                      : Architecture::gfx942;
  return plan_tuning(options, session);
}

const std::string two_products = R"(graph: mlp
dims: {M: 1..64}
inputs: {x: "f32[M, 32]", first: "f32[32, 48]", second: "bf16[48, 16]"}
nodes:
- {op: matmul, in: [x, first], out: hidden}
- {op: relu, in: hidden, out: bent}
- {op: cast, in: bent, out: narrow, to: bf16}
- {op: matmul, in: [narrow, second], out: y}
outputs: [y]
)";

}  // namespace

TEST_CASE("tune: each candidate gives every kernel the next of its tuned parameters' values") {
  Session session;
  const auto tuning = tuning_of(two_products, TargetKind::cpu, session);
  CHECK(session.diagnostics.text(false) == "");
  REQUIRE(tuning.has_value());
  const auto& [calls, candidates] = tuning->project;
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].kernel == "kgen::matmul");
  CHECK(calls[0].when == "M <= 64 && K == 32 && N == 48 && T == f32 && target == cpu");
  CHECK(calls[1].when == "M <= 64 && K == 48 && N == 16 && T == bf16 && target == cpu");
  CHECK(calls[1].steps == std::vector<std::string>{"y"});
  REQUIRE(candidates.size() == 10);  // as planned, and 3 of TileM by 3 of TileN
  CHECK(candidates[0].parameters == std::vector<std::string>{"", ""});
  CHECK(candidates[1].name == "mlp_candidate_1");
  CHECK(candidates[1].parameters == std::vector<std::string>{"TileM: 48, TileN: 128", "TileM: 48, TileN: 128"});
  for (std::size_t i = 0; i < candidates.size(); ++i) CHECK(tuning->plans[i].main.fused.graph.name == candidates[i].name);
  const auto parameters = [&](std::size_t plan) { return tuning->plans[plan].stubs.back().kernel_parameters; };
  CHECK(parameters(0).empty());
  CHECK(parameters(1) == std::vector<std::string>{"kgen::any_layout", "kgen::any_rows", "48", "128"});
  CHECK(parameters(9) == std::vector<std::string>{"kgen::any_layout", "kgen::any_rows", "192", "512"});
}

TEST_CASE("tune: a rule that it writes holds where it was made, and nowhere else") {
  Session session;
  const auto tuning = tuning_of(two_products, TargetKind::cpu, session);
  REQUIRE(tuning.has_value());
  const std::string rule = "- {kernel: kgen::matmul, when: \"" + tuning->project.calls[0].when + "\", parameters: {TileM: 48}}\n";
  const auto call = [&](const std::string& range, const std::string& columns) {
    Fixture f("tuning:\n" + rule);
    const FusedGraph fused = f.fuse_main("graph: g\ndims: {M: " + range + "}\ninputs: {a: \"f32[M, 32]\", b: \"f32[32, " +
                                         columns + "]\"}\nnodes: [{op: matmul, in: [a, b], out: c}]\noutputs: [c]\n");
    StubTable table;
    lower(fused, f.ops, "stub_", table);
    return table.take().front().kernel_parameters;
  };
  CHECK(call("1..64", "48") == std::vector<std::string>{"kgen::any_layout", "kgen::any_rows", "48"});
  CHECK(call("1..65", "48").empty());
  CHECK(call("1..64", "49").empty());
}

TEST_CASE("tune: only parameters that matter where the call is") {
  Session session;
  const auto tuning = tuning_of(two_products, TargetKind::cuda, session);
  REQUIRE(tuning.has_value());
  const auto& [calls, candidates] = tuning->project;
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].when == "M <= 64 && K == 48 && N == 16 && T == bf16 && architecture == sm_90a");
  REQUIRE(candidates.size() == 9);  // as planned, and 4 of Columns by 2 of Library
  CHECK(candidates[2].parameters == std::vector<std::string>{"Columns: 0, Library: 1"});
  CHECK(candidates[3].parameters == std::vector<std::string>{"Columns: 128, Library: 0"});
}

TEST_CASE("tune, bad: nothing to try") {
  Session session;
  CHECK(!tuning_of(two_products, TargetKind::hip, session).has_value());
  CHECK(session.diagnostics.text(false) ==
        "error: no kernel that 'mlp' calls has a parameter to try on hip\n"
        "help: a kernel says so by KGEN_TUNED; kgen explain --all names the kernels\n");
}

TEST_CASE("tune: the program has the graph's sizes, calls and candidates") {
  Session session;
  const auto tuning = tuning_of("graph: g\ndims: {M: 1..8, P: {range: 0..4, from: position}}\n"
                                "inputs: {x: \"f32[2 * M, 4]\", w: \"f32[4, 4]\", v: \"f32[M]\", position: \"i64[]\"}\n"
                                "nodes:\n- {op: matmul, in: [x, w], out: y}\n- {op: relu, in: v, out: u}\n"
                                "- {op: slice, in: w, out: part, axis: 0, begin: P, end: 4}\n- {op: relu, in: part, out: z}\n"
                                "outputs: [y, z, u]\n",
                                TargetKind::cpu, session);
  CHECK(session.diagnostics.text(false) == "");
  REQUIRE(tuning.has_value());
  const std::string program = emit_tuning_program(tuning->project, tuning->plans[0], {"g.yaml", "kgen tune g.yaml"}).content;
  CAPTURE(program);
  for (const char* line : {"#include \"g_candidate_9/g_candidate_9.hpp\"", "const std::int64_t M = sizes[0];",
                           "{.shape = {2 * M, 4}},", "{.shape = {}, .values = {P}},", "{\"P\", 0, 4},",
                           "{.graph = kgen_graph_g_candidate_0(), .parameters{\"\"}},",
                           "{.graph = kgen_graph_g_candidate_2(), .parameters{\"TileM: 48, TileN: 256\"}},"})
    CHECK(program.find(line) != std::string::npos);
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
