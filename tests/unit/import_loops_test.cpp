// Loops whose steps are known when a model is imported, and what is said of others; resized tensors of symbolic sizes.
#include <doctest/doctest.h>

#include "tests/unit/import_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// Each step doubles the state and gathers it; the condition is what `more` says.
OnnxGraph doubling(OnnxNode condition) {
  OnnxGraph body;
  body.inputs = {tensor_info("i", {}, onnx_int64), tensor_info("before", {}, onnx_bool), tensor_info("s", {2})};
  body.nodes = {node("Add", {"s", "s"}, {"twice"}), node("Identity", {"twice"}, {"each"}), std::move(condition)};
  body.outputs = {tensor_info("more", {}, onnx_bool), tensor_info("twice", {2}), tensor_info("each", {2})};
  return body;
}
OnnxNode always() { return node("Identity", {"before"}, {"more"}); }

OnnxModel loop(OnnxNode condition, std::vector<std::string> inputs, std::vector<OnnxTensor> weights = {}) {
  OnnxNode made = node("Loop", std::move(inputs), {"last", "all"}, {subgraph("body", doubling(std::move(condition)))});
  made.name = "loop";
  return model({tensor_info("x", {2}), tensor_info("n", {}, onnx_int64)}, {made}, {"last", "all"}, std::move(weights));
}

OnnxModel scan(std::vector<OnnxAttribute> attributes, OnnxValueInfo x) {
  OnnxGraph body;
  body.inputs = {tensor_info("sum", {2}), tensor_info("part", {2})};
  body.nodes = {node("Add", {"sum", "part"}, {"next"}), node("Relu", {"next"}, {"each"})};
  body.outputs = {tensor_info("next", {2}), tensor_info("each", {2})};
  attributes.push_back(subgraph("body", body));
  attributes.push_back(integer("num_scan_inputs", 1));
  return model({tensor_info("first", {2}), std::move(x)},
               {node("Scan", {"first", "x"}, {"last", "all"}, std::move(attributes))}, {"last", "all"});
}

std::string resized(OnnxValueInfo x, std::vector<OnnxTensor> weights, std::vector<OnnxAttribute> attributes = {}) {
  return section(imported(model({std::move(x)}, {node("Resize", {"x", "", "scales"}, {"y"}, std::move(attributes))},
                                {"y"}, std::move(weights))),
                 "nodes:");
}

}  // namespace

TEST_CASE("import: the steps of a Loop stand one after another, and what they gather is stacked") {
  CHECK(section(imported(loop(always(), {"two", "", "x"}, {scalar("two", 2)})), "nodes:") ==
        "nodes:\n"
        "  - {op: add, in: [x, x], out: loop_0_twice}\n"
        "  - {op: add, in: [loop_0_twice, loop_0_twice], out: last}\n"
        "  - {op: unsqueeze, in: loop_0_twice, out: all_part, axis: 0}\n"
        "  - {op: unsqueeze, in: last, out: all_part_2, axis: 0}\n"
        "  - {op: concat, in: [all_part, all_part_2], out: all, axis: 0}\n");
}

TEST_CASE("import: a Loop ends where its condition does") {
  const OnnxModel m = loop(node("Less", {"i", "two"}, {"more"}), {"", "", "x"}, {scalar("two", 2)});
  const std::string nodes = section(imported(m), "nodes:");
  CHECK(nodes.find("loop_1_twice, loop_1_twice") != nodes.npos);
  CHECK(nodes.find("loop_2_twice, loop_2_twice") == nodes.npos);
}

TEST_CASE("import: a Scan has a step for each part, in either direction") {
  const std::string nodes =
      section(imported(scan({integer_list("scan_input_directions", {1}), integer_list("scan_output_axes", {1})},
                            tensor_info("x", {2, 2}))),
              "nodes:");
  CHECK(nodes.find("index: 1") < nodes.find("index: 0"));
  CHECK(nodes.find("axis: 1}\n") != nodes.npos);
}

TEST_CASE("import: a Scan of version 8 walks the sequences of a batch one after another") {
  OnnxModel m = scan({integer_list("directions", {1})}, tensor_info("x", {2, 2, 2}));
  m.graph.inputs[0] = tensor_info("first", {2, 2});
  m.graph.nodes[0].inputs.insert(m.graph.nodes[0].inputs.begin(), "");
  m.opsets[""] = 8;
  const std::string nodes = section(imported(m), "nodes:");
  CHECK(nodes.find("in: [first_0, x_0_1]") < nodes.find("in: [first_1, x_1_1]"));
  CHECK(nodes.find("in: [first_1, x_1_1]") != nodes.npos);
  CHECK(nodes.find("out: last, axis: 0}") != nodes.npos);
  m.graph.inputs[1] = symbolic_info("x", "N", {2, 2});
  CHECK(import_problems(m) ==
        "m.onnx: the node of 'last' (Scan): it has a step for each of N parts of 'x', which is known only at run time");
  m.graph.nodes[0].inputs[0] = "first";
  CHECK(import_problems(m) ==
        "m.onnx: the node of 'last' (Scan): sequences of lengths of their own are not supported");
  m.graph.nodes[0].inputs = {""};
  CHECK(import_problems(m) == "m.onnx: the node of 'last' (Scan): it has no inputs to scan");
}

TEST_CASE("import: how often a Loop runs may be computed, as a Range is in one") {
  OnnxModel m = loop(always(), {"trips", "", "x"}, {floats("length", {}, {3.5f}), floats("step", {}, {-2})});
  const OnnxAttribute to_int64 = integer("to", onnx_int64);
  m.graph.nodes.insert(m.graph.nodes.begin(),
                       {node("Div", {"length", "step"}, {"quotient"}), node("Relu", {"quotient"}, {"none"}),
                        node("Sub", {"none", "step"}, {"two"}), node("Clip", {"two", "", "length"}, {"kept"}),
                        node("Cast", {"kept"}, {"trips"}, {to_int64})});
  const std::string nodes = section(imported(m), "nodes:");
  CHECK(nodes.find("in: [loop_0_twice, loop_0_twice], out: last") != nodes.npos);
}

TEST_CASE("import: what a graph of a node's makes stands in its rule's place") {
  OnnxGraph cap;
  cap.inputs = {tensor_info("scores", {1, 2, 3, 5})};
  cap.nodes = {node("Tanh", {"scores"}, {"bent"}), node("Mul", {"bent", "most"}, {"capped"})};
  cap.initializers = {floats("most", {}, {4})};
  cap.outputs = {tensor_info("capped", {1, 2, 3, 5})};
  OnnxNode attention = node("FlexAttention", {"q", "k", "v"}, {"y"}, {subgraph("score_mod", cap)});
  attention.domain = "ai.onnx.preview";
  OnnxModel m = model({tensor_info("q", {1, 2, 3, 4}), tensor_info("k", {1, 1, 5, 4}), tensor_info("v", {1, 1, 5, 4})},
                      {attention}, {"y"}, {}, 26);
  m.opsets["ai.onnx.preview"] = 1;
  const std::string nodes = section(imported(m), "nodes:");
  CHECK(nodes.find("{op: tanh, in: y_scores, out: y_score_mod_bent}") != nodes.npos);
  CHECK(nodes.find("{op: softmax, in: y_score_mod_capped") != nodes.npos);
  m.graph.nodes[0].attributes = {subgraph("prob_mod", cap), subgraph("score_mod", OnnxGraph{})};
  CHECK(import_problems(m) ==
        "m.onnx: the node of 'y' (ai.onnx.preview.FlexAttention): its score_mod has 0 inputs, and is given 1");
}

TEST_CASE("import: loops whose steps only the run knows") {
  CHECK(import_problems(loop(always(), {"n", "", "x"})) ==
        "m.onnx: node 'loop' (Loop): its input 'n' says shapes, axes or the like, and is known only at run time\n"
        "note: it is computed from 'n'\n"
        "help: where that is always the same, say so: --bind n=VALUE");
  CHECK(import_problems(loop(node("Equal", {"n", "n"}, {"more"}), {"", "", "x"}))
            .starts_with("m.onnx: node 'loop' (Loop): its input 'loop_0_more' says shapes, axes or the like, and is "
                         "known only at run time"));
  CHECK(import_problems(loop(always(), {"", "", "x"})) ==
        "m.onnx: node 'loop' (Loop): it has more than 10000 steps, and each is imported");
  CHECK(import_problems(loop(always(), {"none", "", "x"}, {scalar("none", 0)})) ==
        "m.onnx: node 'loop' (Loop): it gathers the results of its steps, and has no step");
  CHECK(import_problems(loop(always(), {"two", "", "x", "x"}, {scalar("two", 2)})) ==
        "m.onnx: node 'loop' (Loop): its body has 3 inputs, and it is given 4");
  CHECK(import_problems(scan({}, symbolic_info("x", "N", {2}))) ==
        "m.onnx: the node of 'last' (Scan): it has a step for each of N parts of 'x', which is known only at run time");
  CHECK(import_problems(scan({integer_list("scan_input_axes", {2})}, tensor_info("x", {2, 2}))) ==
        "m.onnx: the node of 'last' (Scan): 'x' has no axis 2");
}

TEST_CASE("import: sizes that follow from scales, of known and of symbolic extents") {
  const OnnxTensor scales = floats("scales", {3}, {1, 2, 0.5});
  CHECK(resized(symbolic_info("x", "N", {3, 5}), {scales})
            .find("resize_nearest, in: x, out: \"y\", sizes: [N, 6, 2], scales: [0, 0, 0.5]") != std::string::npos);
  CHECK(resized(symbolic_info("x", "N", {4}), {floats("scales", {2}, {1.5, 1})})
            .find("sizes: [N + N/2, 4], scales: [1.5, 0]") != std::string::npos);
  CHECK(resized(tensor_info("x", {2, 10}), {floats("scales", {2}, {1, 0.7f})}).find("sizes: [2, 7]") !=
        std::string::npos);
  const OnnxAttribute attribute{"mode", OnnxAttribute::Kind::text};
  OnnxAttribute mode = attribute;
  mode.text = "sharp";
  CHECK(import_problems(model({tensor_info("x", {4})}, {node("Resize", {"x", "", "scales"}, {"y"}, {mode})}, {"y"},
                              {floats("scales", {1}, {2})})) ==
        "m.onnx: the node of 'y' (Resize): its mode is not supported");
}

TEST_CASE("import: a Split of a shape is evaluated") {
  const std::string text =
      imported(model({symbolic_info("x", "N", {3, 4})},
                     {node("Shape", {"x"}, {"s"}), node("Split", {"s"}, {"a", "b"}, {integer("num_outputs", 2)}),
                      node("Concat", {"b", "a"}, {"t"}, {integer("axis", 0)}), node("Reshape", {"x", "t"}, {"y"})},
                     {"y"}));
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: reshape, in: x, out: \"y\", shape: [4, N, 3]}\n");
}
