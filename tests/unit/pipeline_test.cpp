#include "generator/pipeline.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "generator/explain/explain.hpp"
#include "generator/explain/overview.hpp"
#include "tests/unit/own_folder.hpp"
#include "tests/unit/repository.hpp"

namespace kgen {
namespace {

// For a graph of this text, in the folder.
PipelineOptions options_for(const test::OwnFolder& folder, const char* graph) {
  PipelineOptions options;
  for (const std::string& path : repository::files_below("specs/ops", {".yaml"})) {
    options.spec_files.push_back((repository::root() / path).string());
  }
  options.signatures = (repository::root() / "templates" / "kgen" / "signatures.yaml").string();
  options.include_directories = {(repository::root() / "templates").string()};
  options.graph = folder.path + "/graph.yaml";
  std::ofstream(options.graph) << graph;
  return options;
}

TEST_CASE("a plan that is not as the graph expects can be explained, and is refused otherwise") {
  const test::OwnFolder folder;
  PipelineOptions options = options_for(folder, R"(graph: g
inputs: {A: "f32[8, 16]", B: "f32[16, 32]"}
nodes:
  - {op: matmul, in: [A, B], out: C}
  - {op: softmax, in: C, out: y, axis: 1}
outputs: [y]
expect_fused: [[C, y]]
)");
  for (const bool check : {false, true}) {
    options.check = check;
    options.explain = false;
    Session refused;
    CHECK_FALSE(make_plan(options, refused));
    CHECK(refused.diagnostics.has_errors());

    options.explain = true;
    Session explained;
    const auto plan = make_plan(options, explained);
    REQUIRE(plan);
    CHECK(explain(*plan).find("C -> y_shifted: apart: ") != std::string::npos);
    REQUIRE(explained.diagnostics.all().size() == 1);
    CHECK(explained.diagnostics.all()[0].message == "expect_fused: 'C' and 'y' are not computed by one stub");
  }
}

TEST_CASE("an ONNX model is no graph: what makes one of it is said") {
  const test::OwnFolder folder;
  PipelineOptions options = options_for(folder, "");
  options.graph = folder.path + "/model.onnx";
  Session session;
  CHECK_FALSE(make_plan(options, session));
  REQUIRE(session.diagnostics.all().size() == 1);
  CHECK(session.diagnostics.all()[0].message == "'" + options.graph + "' is an ONNX model, and no graph");
  CHECK(session.diagnostics.all()[0].help ==
        "write it as a graph, which is then planned: `kgen import model.onnx -o model.yaml`");
}

TEST_CASE("explain: in short, stubs that are the same stand once, and so does a function") {
  Session session;
  const test::OwnFolder folder;
  const auto plan = make_plan(options_for(folder, R"(graph: layers
inputs: {x: "f32[8, 16]"}
functions:
  layer:
    inputs: {h: "f32[8, 16]"}
    constants:
      w: {type: "f32[16, 16]", file: w.safetensors, key: "w{index}"}
      v: {type: "f32[16, 16]", file: w.safetensors, key: "v{index}"}
    nodes:
      - {op: matmul, in: [h, w], out: a}
      - {op: relu, in: a, out: b}
      - {op: matmul, in: [b, v], out: c}
      - {op: relu, in: c, out: d}
    outputs: [d]
nodes:
  - {call: layer, in: x, out: y, repeat: 5}
  - {call: layer, in: "y", out: z}
outputs: [z]
)"),
                              session);
  REQUIRE_MESSAGE(plan, session.diagnostics.text(false));
  CHECK(overview(*plan) == R"(layers: 8 operators in 2 stubs

in each call
  function layer, 5 times
    apart from function layer: a function's stubs are emitted once, for all its calls (would save 1024 bytes)
  function layer

function layer, 6 times

when the model is loaded
  stub_layer_w_panels with kgen::pack_columns, 2 times: pack_columns
    apart from stub_layer_b: operand 'panels' of kgen::packed_matmul takes no prologue (would save 2048 bytes)

in each call
  stub_layer_b with kgen::packed_matmul: packed_matmul, relu; saves 1024 bytes
    apart from stub_layer_b: another kernel's stub makes it, and a stub calls one kernel (would save 1024 bytes)
  stub_layer_b with kgen::packed_matmul: packed_matmul, relu; saves 1024 bytes

)");
}

}  // namespace
}  // namespace kgen
