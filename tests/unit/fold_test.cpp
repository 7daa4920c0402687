// Graphs whose layers are written out, imported once more: what repeats is written once.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "generator/base/source.hpp"
#include "generator/import/fold_graph.hpp"
#include "generator/import_file.hpp"
#include "generator/load/load_graph.hpp"
#include "tests/unit/import_fixture.hpp"
#include "tests/unit/own_folder.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

std::string layer(int number, const std::string& before, int key) {
  const std::string own = "layers_" + std::to_string(number) + "_", w = std::to_string(key);
  return "- {op: matmul, in: [" + before + ", " + own + "w], out: " + own + "up}\n" +
         "- {op: add, in: [" + own + "up, " + own + "kept], out: " + own + "all}\n" +
         "- {op: leaky_relu, in: " + own + "all, out: " + own + "act, alpha: 0.2}\n" +
         "- {op: maximum, in: [" + own + "act, -0.5], out: " + own + "limited}\n" +
         "- {op: matmul, in: [" + own + "limited, " + own + "v], out: layers_" + std::to_string(number) + "}\n";
}

// `count` layers with weights and state, whose keys are numbered from `first` on.
std::string written_out(int count, int first, const std::string& more = "") {
  std::string constants, state, nodes, before = "x";
  for (int i = 0; i < count; ++i) {
    const std::string own = "layers_" + std::to_string(i) + "_", key = "layers." + std::to_string(first + i) + ".";
    for (const char* each : {"w", "v"})
      constants += "  " + own + each + ": {type: \"f32[8, 8]\", file: g.safetensors, key: " + key + each + "}\n";
    state += "  " + own + "kept: {type: \"f32[4, 8]\", next: " + own + "all}\n";
    nodes += layer(i, before, first + i);
    before = "layers_" + std::to_string(i);
  }
  return "graph: g\ndoc: Layers.\ninputs: {x: \"f32[4, 8]\"}\nconstants:\n" + constants + "state:\n" + state + "nodes:\n" + nodes +
         "- {op: tanh, in: " + before + ", out: \"y\"}\noutputs: [\"y\"]\n" + more;
}

std::string folded(const std::string& text) {
  const SourceText source{"graph.yaml", text};
  Diagnostics diagnostics;
  const auto module = load_graph(source, shipped_ops(), diagnostics);
  const auto result = module ? fold_graph(*module, shipped_ops(), diagnostics) : std::nullopt;
  return result ? *result : diagnostics.text(false);
}

}  // namespace

TEST_CASE("fold: layers with weights and state of their own are a function, called once for all") {
  CHECK(folded(written_out(3, 0)) == R"(graph: g
doc: "Layers."
inputs:
  x: f32[4, 8]
functions:
  layers:
    doc: "3 times in the model, to make 'layers_0' up to 'layers_2'."
    inputs:
      out_before: f32[4, 8]
    constants:
      w: {type: "f32[8, 8]", file: g.safetensors, key: "layers.{index}.w"}
      v: {type: "f32[8, 8]", file: g.safetensors, key: "layers.{index}.v"}
    state:
      kept: {type: "f32[4, 8]", next: all}
    nodes:
      - {op: matmul, in: [out_before, w], out: up}
      - {op: add, in: [up, kept], out: all}
      - {op: leaky_relu, in: all, out: act, alpha: 0.2}
      - {op: maximum, in: [act, -0.5], out: limited}
      - {op: matmul, in: [limited, v], out: out}
    outputs: [out]
nodes:
  - {call: layers, in: x, out: layers_2, repeat: 3}
  - {op: tanh, in: layers_2, out: "y"}
outputs: ["y"]
)");
}

TEST_CASE("fold: weights that are numbered from another number on keep their keys") {
  CHECK(folded(written_out(2, 5)).find("key: \"layers.{index+5}.w\"") != std::string::npos);
}

TEST_CASE("fold: a graph without layers stays as it is, its state too") {
  const std::string text = folded(written_out(1, 0));
  CHECK(text.find("functions:") == std::string::npos);
  CHECK(section(text, "state:") == "state:\n  layers_0_kept: {type: \"f32[4, 8]\", next: layers_0_all}\n");
  CHECK(folded(text) == text);
}

TEST_CASE("fold: state that is read outside its layer is the graph's") {
  std::string text = written_out(2, 0);
  text.replace(text.find("outputs: ["), std::string::npos, "- {op: neg, in: layers_1_kept, out: z}\noutputs: [\"y\", z]\n");
  CHECK(section(folded(text), "state:") ==
        "state:\n"
        "  layers_0_kept: {type: \"f32[4, 8]\", next: layers_0_all}\n"
        "  layers_1_kept: {type: \"f32[4, 8]\", next: layers_1_all}\n");
}

TEST_CASE("fold: inputs with any strides, and dims that a run is told, stay so") {
  const std::string text = folded(R"(graph: g
dims: {P: {range: 0..4, from: at}, M: 1..8}
inputs: {x: {type: "f32[M, 8]", strided: true}, at: "i64[]"}
nodes:
- {op: slice, in: x, out: part, axis: 1, begin: 0, end: P}
- {op: neg, in: part, out: y}
outputs: [y]
)");
  CHECK(text.find("  P: {range: 0..4, from: at}\n") != std::string::npos);
  CHECK(text.find("  x: {type: \"f32[M, 8]\", strided: true}\n") != std::string::npos);
}

TEST_CASE("fold: a file is replaced by one whose layers are written once") {
  const OwnFolder folder;
  ImportFileOptions options;
  options.model = options.output = folder.path + "/graph.yaml";
  std::ofstream(options.model) << written_out(3, 0);
  {
    Session session;
    session.ops = shipped_ops();
    const auto report = import_file(options, session);
    REQUIRE_MESSAGE(report, session.diagnostics.text(false));
    CHECK(report->nodes == 16);
    CHECK(report->weights == 6);
  }
  std::ifstream written(options.output);
  CHECK(std::string(std::istreambuf_iterator<char>(written), {}).find("repeat: 3}") != std::string::npos);
  Session session;
  session.ops = shipped_ops();
  options.dims = {"M=1..4"};
  CHECK_FALSE(import_file(options, session));
  CHECK(session.diagnostics.text(false) == "error: --bind, --dim and --example are for models of ONNX\n"
                                           "help: say in the graph what is known of its inputs and dims\n");
}

TEST_CASE("fold: what cannot be written once more is said") {
  const std::string text = written_out(2, 0);
  CHECK(folded(text + "numerics: match_unfused\n").find("graph.yaml:1:8: error: the graph says how its numbers are rounded") == 0);
  CHECK(folded(text + "expect_fused: [[layers_0_up, layers_0_all]]\n")
            .find("graph.yaml:1:8: error: the graph says which values are computed together") == 0);
  CHECK(folded(folded(text)).find("graph.yaml:1:8: error: the graph has functions already") == 0);
  std::string two_files = text;
  two_files.replace(two_files.find("g.safetensors"), 13, "h.safetensors");
  CHECK(folded(two_files).find("error: weights of several files: 'h.safetensors' and 'g.safetensors'") != std::string::npos);
  CHECK(folded("graph: g\ninputs: {x: \"f32[4]\"}\nnodes:\n- {op: neg, in: z, out: \"y\"}\n- {op: exp, in: x, out: z}\noutputs: [\"y\"]\n")
            .find("error: it reads 'z', which a node behind it makes") != std::string::npos);
}
