// ONNX models as graphs: what becomes of their names, dims, weights, shapes and nodes.
#include <doctest/doctest.h>

#include "tests/unit/import_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

TEST_CASE("import: a node is written as its rule says, with the model's names") {
  const std::string text = imported(model({tensor_info("x", {2, 3}), tensor_info("w", {3, 4}), tensor_info("bias", {4})},
                                          {node("MatMul", {"x", "w"}, {"product"}), node("Add", {"product", "bias"}, {"sum"}),
                                           node("Relu", {"sum"}, {"out"})},
                                          {"out"}));
  CHECK(text == R"(# Imported from m.onnx.
graph: m
inputs:
  x: f32[2, 3]
  w: f32[3, 4]
  bias: f32[4]
nodes:
  - {op: matmul, in: [x, w], out: product}
  - {op: add, in: [product, bias], out: sum}
  - {op: relu, in: sum, out: out}
outputs: [out]
)");
}

TEST_CASE("import: products of batches and of vectors are products of matrices") {
  const auto nodes = [](std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
    return section(imported(model({tensor_info("a", std::move(a)), tensor_info("b", std::move(b))},
                                  {node("MatMul", {"a", "b"}, {"y"})}, {"y"})),
                   "nodes:");
  };
  CHECK(nodes({2, 3, 8, 4}, {2, 3, 4, 5}) == "nodes:\n  - {op: matmul, in: [a, b], out: \"y\"}\n");
  CHECK(nodes({4}, {3, 4, 5}) ==
        "nodes:\n  - {op: unsqueeze, in: a, out: y_a, axis: 0}\n  - {op: matmul, in: [y_a, b], out: y_2}\n"
        "  - {op: squeeze, in: y_2, out: \"y\", axis: -2}\n");
}

TEST_CASE("import: names that are no identifiers become readable ones, and the model's stand beside them") {
  const std::string text = imported(model({tensor_info("input.1", {4}), tensor_info("/a/b:0", {4}), tensor_info("int", {4})},
                                          {node("Add", {"input.1", "/a/b:0"}, {"input/1"}), node("Mul", {"input/1", "int"}, {"y.out"})},
                                          {"y.out"}));
  CHECK(section(text, "inputs:") ==
        "inputs:\n"
        "  input_1: {type: \"f32[4]\", doc: \"input.1 in the model\"}\n"
        "  a_b_0: {type: \"f32[4]\", doc: \"/a/b:0 in the model\"}\n"
        "  v_int: {type: \"f32[4]\", doc: \"int in the model\"}\n");
  CHECK(section(text, "nodes:") ==
        "nodes:\n"
        "  - {op: add, in: [input_1, a_b_0], out: input_1_2}\n"
        "  - {op: mul, in: [input_1_2, v_int], out: y_out}\n");
  CHECK(section(text, "outputs:") == "outputs:\n  y_out: y_out  # y.out in the model\n");
}

TEST_CASE("import: named dims are kept, and ranges may be given") {
  const OnnxModel m = model({symbolic_info("x", "batch", {8}), symbolic_info("y", "batch", {1})}, {node("Add", {"x", "y"}, {"z"})}, {"z"});
  CHECK(section(imported(m), "dims:") == "dims:\n  batch: 1..8192\n");
  CHECK(section(imported(m), "inputs:") == "inputs:\n  x: f32[batch, 8]\n  \"y\": f32[batch, 1]\n");
  ImportOptions options;
  options.dims["batch"] = {1, 16};
  CHECK(section(imported(m, options), "dims:") == "dims:\n  batch: 1..16\n");
  options.dims["batch"] = {4, 4};
  CHECK(section(imported(m, options), "inputs:") == "inputs:\n  x: f32[4, 8]\n  \"y\": f32[4, 1]\n");
}

TEST_CASE("import: the range of a dim is found by the name that it has in the graph, too") {
  const OnnxModel m = model({symbolic_info("x", "batch size", {8}), symbolic_info("batch", "batch", {1})}, {node("Relu", {"x"}, {"z"})}, {"z"});
  ImportOptions options;
  options.dims["batch_size"] = {1, 16};
  options.dims["batch_2"] = {1, 4};
  CHECK(section(imported(m, options), "dims:") == "dims:\n  batch_size: 1..16\n  batch_2: 1..4\n");
  options.dims = {{"batch size", {7, 7}}, {"batch", {2, 4}}};
  CHECK(section(imported(m, options), "inputs:") == "inputs:\n  x: f32[7, 8]\n  batch: f32[batch_2, 1]\n");
}

TEST_CASE("import: an input that is an output too is copied") {
  const std::string text = imported(model({tensor_info("x", {2})}, {node("Relu", {"x"}, {"y"})}, {"x", "y"}));
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: relu, in: x, out: \"y\"}\n  - {op: copy, in: x, out: x_2}\n");
  CHECK(section(text, "outputs:") == "outputs:\n  x_2: x_2  # x in the model\n  \"y\": \"y\"\n");
}

TEST_CASE("import: small weights stand in the graph, large ones beside it, scalars among the operands") {
  Diagnostics diagnostics;
  const ImportResult result = import_with(model({tensor_info("x", {20})},
                                                {node("Mul", {"x", "layer.w"}, {"a"}), node("Add", {"a", "half"}, {"b"}),
                                                 node("Mul", {"b", "tail"}, {"y"})},
                                                {"y"},
                                                {floats("layer.w", {20}, std::vector<float>(20, 0.5F)), floats("half", {}, {0.1F}),
                                                 floats("tail", {1}, {3}), floats("unused", {100}, std::vector<float>(100))}),
                                          diagnostics);
  REQUIRE_MESSAGE(result.model, diagnostics.text(false));
  const std::string& text = result.model->graph;
  CHECK(section(text, "constants:") ==
        "constants:\n"
        "  layer_w: {type: \"f32[20]\", file: m.safetensors, key: \"layer.w\"}\n"
        "  tail: {type: \"f32[1]\", values: 3}\n");
  CHECK(section(text, "nodes:").find("{op: add, in: [a, 0.1], out: b}") != text.npos);
  REQUIRE(result.model->weights.size() == 1);
  CHECK(result.model->weights[0].key == "layer.w");
  CHECK(result.model->weights[0].bytes->size() == 80);
}

TEST_CASE("import: what is computed of shapes alone becomes sizes") {
  // reshape(x, [shape(x)[0] * shape(x)[1], -1]), as exporters write it
  const std::string text = imported(model({symbolic_info("x", "N", {6, 4})},
                                          {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}, {integer("axis", 0)}),
                                           node("Gather", {"s", "one"}, {"c"}), node("Mul", {"n", "c"}, {"rows"}),
                                           node("Unsqueeze", {"rows", "axes"}, {"line"}), node("Concat", {"line", "rest"}, {"shape"}, {integer("axis", 0)}),
                                           node("Reshape", {"x", "shape"}, {"flat"}), node("Relu", {"flat"}, {"y"})},
                                          {"y"}, {scalar("zero", 0), scalar("one", 1), integers("axes", {0}), integers("rest", {-1})}));
  CHECK(section(text, "nodes:") ==
        "nodes:\n"
        "  - {op: reshape, in: x, out: flat, shape: [6*N, -1]}\n"
        "  - {op: relu, in: flat, out: \"y\"}\n");
}

TEST_CASE("import: the pads of a PyTorch module, which its exporter reverses by a matrix") {
  // [left, right] of the last axis, zeros for the others, as pairs, from the last axis on, begins before ends
  const std::string text = imported(
      model({tensor_info("x", {2, 6})},
            {node("Concat", {"given", "zeros"}, {"all"}, {integer("axis", 0)}), node("Reshape", {"all", "pairs"}, {"matrix"}),
             node("Slice", {"matrix", "last", "before", "first", "last"}, {"turned"}),
             node("Transpose", {"turned"}, {"rows"}, {integer_list("perm", {1, 0})}), node("Reshape", {"rows", "line"}, {"pads"}),
             node("Pad", {"x", "pads"}, {"y"})},
            {"y"},
            {integers("given", {3, 1}), integers("zeros", {0, 0}), integers("pairs", {-1, 2}), integers("last", {-1}),
             integers("before", {-9223372036854775807}), integers("first", {0}), integers("line", {-1})}));
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: pad, in: x, out: \"y\", pads: [0, 3, 0, 1]}\n");
}

TEST_CASE("import: extents of -1 are dims of any size, and what is expanded to them keeps the extents that it has") {
  const std::string text = imported(model({tensor_info("x", {-1, 6}), tensor_info("c", {1, 6})},
                                          {node("Shape", {"x"}, {"s"}), node("Expand", {"c", "s"}, {"wide"}), node("Add", {"x", "wide"}, {"y"})}, {"y"}));
  CHECK(section(text, "inputs:") == "inputs:\n  x: f32[x_0, 6]\n  c: f32[1, 6]\n");
  CHECK(infer_good(text).type("wide") == "f32[x_0, 6]");

  const OnnxModel asked = model({symbolic_info("x", "?", {6}), symbolic_info("z", "?", {6})}, {node("Relu", {"x"}, {"y"}), node("Relu", {"z"}, {"w"})}, {"y", "w"});
  CHECK(section(imported(asked), "inputs:") == "inputs:\n  x: f32[x_0, 6]\n  z: f32[z_0, 6]\n");
}

TEST_CASE("import: slices count from the end, and go backwards") {
  const OnnxModel m = model({tensor_info("x", {10, 6})}, {node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"})}, {"y"},
                            {integers("starts", {-2, 20}), integers("ends", {-20, -20}), integers("axes", {0, 1}), integers("steps", {-3, -1})});
  CHECK(infer_good(imported(m)).type("y") == "f32[3, 6]");
  const OnnxModel symbolic = model({symbolic_info("x", "N", {6})}, {node("Slice", {"x", "starts", "ends"}, {"y"})}, {"y"},
                                   {integers("starts", {0}), integers("ends", {9223372036854775807})});
  CHECK(infer_good(imported(symbolic)).type("y") == "f32[N, 6]");
}

// PyTorch exports a group_norm as the InstanceNormalization of its groups, which scales nothing.
TEST_CASE("import: an InstanceNormalization by ones and zeros only normalises") {
  const auto nodes = [](std::vector<float> scale, std::vector<float> bias) {
    const std::vector<OnnxTensor> weights = {floats("s", {3}, std::move(scale)), floats("b", {3}, std::move(bias))};
    return section(imported(model({tensor_info("x", {2, 3, 8})},
                                  {node("InstanceNormalization", {"x", "s", "b"}, {"out"})}, {"out"}, weights)),
                   "nodes:");
  };
  const std::string statistics =
      "nodes:\n"
      "  - {op: mean_variance, in: x, out: [out_mean, out_variance], axes: [2], keepdims: true}\n"
      "  - {op: sub, in: [x, out_mean], out: out_centred}\n"
      "  - {op: add, in: [out_variance, 1.0e-05], out: out_shifted}\n"
      "  - {op: rsqrt, in: out_shifted, out: out_inverse_deviation}\n";
  CHECK(nodes({1, 1, 1}, {0, 0, 0}) ==
        statistics + "  - {op: mul, in: [out_centred, out_inverse_deviation], out: out}\n");
  for (const std::string& scaled : {nodes({1, 2, 1}, {0, 0, 0}), nodes({1, 1, 1}, {0, 0, 0.5F})}) {
    CHECK(scaled.starts_with(statistics));
    CHECK(scaled.find("{op: add, in: [out_scaled, out_bias_column], out: out}") != scaled.npos);
  }
}

TEST_CASE("import: an output that is an input, a weight or another output is a copy") {
  const std::string text = imported(model({tensor_info("x", {2})}, {node("Identity", {"x"}, {"y"}), node("Relu", {"x"}, {"r"}), node("Identity", {"r"}, {"r2"})},
                                          {"y", "r", "r2", "w"}, {floats("w", {2}, {1, 2})}));
  CHECK(section(text, "nodes:") ==
        "nodes:\n"
        "  - {op: relu, in: x, out: r}\n"
        "  - {op: copy, in: x, out: \"y\"}\n"
        "  - {op: copy, in: r, out: r2}\n"
        "  - {op: copy, in: w_2, out: w}\n");
}

TEST_CASE("import: versions of an operator have rules of their own") {
  const std::vector<OnnxNode> softmax = {node("Softmax", {"x"}, {"y"}, {integer("axis", 1)})};
  const std::vector<OnnxValueInfo> inputs = {tensor_info("x", {2, 3, 4})};
  CHECK(section(imported(model(inputs, softmax, {"y"}, {}, 13)), "nodes:") == "nodes:\n  - {op: softmax, in: x, out: \"y\", axis: 1}\n");
  const std::string old = section(imported(model(inputs, softmax, {"y"}, {}, 11)), "nodes:");
  CHECK(old.find("shape: [2, 12]") != old.npos);
}

TEST_CASE("import: functions of the model stand where they are called, with the attributes of the call") {
  OnnxModel m = model({tensor_info("x", {4})}, {node("Scale", {"x"}, {"y"}), node("Scale", {"y"}, {"z"}, {real("alpha", 0.25)})}, {"z"});
  for (OnnxNode& each : m.graph.nodes) each.domain = "own";
  m.opsets["own"] = 1;
  OnnxFunction function;
  function.domain = "own";
  function.name = "Scale";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.attributes = {};
  function.defaults = {real("alpha", 0.5)};
  function.nodes = {node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", "alpha")})};
  function.opsets[""] = 18;
  m.functions.push_back(function);
  const std::string text = imported(m);
  CHECK(text.find("0.5") != text.npos);
  CHECK(text.find("0.25") != text.npos);
  CHECK(text.find("out: z") != text.npos);
}

TEST_CASE("import: of an If whose condition is known one branch is imported") {
  OnnxGraph then, otherwise;
  then.nodes = {node("Relu", {"x"}, {"t"})};
  then.outputs = {tensor_info("t", {4})};
  otherwise.nodes = {node("Neg", {"x"}, {"e"})};
  otherwise.outputs = {tensor_info("e", {4})};
  const OnnxTensor yes = tensor<std::uint8_t>("yes", {}, {1}, onnx_bool);
  const std::string text = imported(
      model({tensor_info("x", {4})}, {node("If", {"yes"}, {"y"}, {subgraph("then_branch", then), subgraph("else_branch", otherwise)})}, {"y"}, {yes}));
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: relu, in: x, out: \"y\"}\n");
  const std::string both = imported(
      model({tensor_info("x", {4}), tensor_info("c", {1}, onnx_bool)},
            {node("If", {"c"}, {"y"}, {subgraph("then_branch", then), subgraph("else_branch", otherwise)})}, {"y"}));
  CHECK(section(both, "nodes:") ==
        "nodes:\n"
        "  - {op: relu, in: x, out: t}\n"
        "  - {op: neg, in: x, out: e}\n"
        "  - {op: reshape, in: c, out: y_condition, shape: []}\n"
        "  - {op: where, in: [y_condition, t, e], out: \"y\"}\n");
}

TEST_CASE("import: the elements of an input that says sizes are dims, where asked for") {
  const OnnxModel m = model({tensor_info("x", {6}), tensor_info("s", {2}, onnx_int64), tensor_info("n", {}, onnx_int64)},
                            {node("Mul", {"s", "n"}, {"t"}), node("Reshape", {"x", "t"}, {"y"}), node("Add", {"s", "s"}, {"z"})}, {"y", "z"});
  Diagnostics diagnostics;
  CHECK(import_with(m, diagnostics).demanded == std::vector<std::string>{"s", "n"});
  CHECK((may_be_sizes(m.graph.inputs[1]) && may_be_sizes(m.graph.inputs[2]) && !may_be_sizes(m.graph.inputs[0])));
  ImportOptions options;
  options.sizes = {"s", "n"};
  options.dims["s_1"] = {0, 7};
  const std::string text = imported(m, options);
  CHECK(section(text, "dims:") ==
        "dims:\n  s_0: {range: 0..8192, from: \"s[0]\"}\n  s_1: {range: 0..7, from: \"s[1]\"}\n"
        "  n_value: {range: 0..8192, from: \"n\"}\n");
  const std::string nodes = section(text, "nodes:");
  CHECK(nodes.find("{op: reshape, in: x, out: \"y\", shape: [n_value*s_0, n_value*s_1]}") != nodes.npos);
  CHECK(nodes.find("dim: 2*s_1}") != nodes.npos);
}

TEST_CASE("import: an input that says axes is bound to its value") {
  OnnxModel m = model({tensor_info("x", {2, 3}), tensor_info("axes", {1}, onnx_int64)}, {node("ReduceSum", {"x", "axes"}, {"y"}, {integer("keepdims", 0)})}, {"y"});
  Diagnostics diagnostics;
  CHECK(import_with(m, diagnostics).demanded == std::vector<std::string>{"axes"});
  ImportOptions options;
  options.bound["axes"] = Content{DType::i64, {1}, {Dim(1)}};
  const std::string text = imported(m, options);
  CHECK(section(text, "inputs:") == "inputs:\n  x: f32[2, 3]\n");
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: sum, in: x, out: \"y\", axes: [1]}\n");
}

TEST_CASE("import: what no output needs is left out") {
  const std::string text = imported(model({tensor_info("x", {2})}, {node("Exp", {"x"}, {"unread"}), node("Relu", {"x"}, {"y"})}, {"y"}));
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: relu, in: x, out: \"y\"}\n");
}

TEST_CASE("import: a split without sizes is into as many parts as the node has outputs") {
  const auto split = [](std::int64_t version, std::vector<OnnxAttribute> attributes) {
    return section(imported(model({tensor_info("x", {7})}, {node("Split", {"x"}, {"a", "b"}, std::move(attributes))}, {"b"}, {}, version)), "nodes:");
  };
  const std::string text = "nodes:\n  - {op: slice, in: x, out: b, axis: 0, begin: 4, end: 7}\n";
  CHECK(split(18, {integer("num_outputs", 2)}) == text);
  CHECK(split(13, {}) == text);
}

TEST_CASE("import: sizes and fills may be floats, and lists of one number") {
  const OnnxModel hot = model({tensor_info("i", {3}, onnx_int64), tensor_info("values", {2})}, {node("OneHot", {"i", "depth", "values"}, {"y"})}, {"y"},
                              {floats("depth", {1}, {4})});
  CHECK(infer_good(imported(hot)).type("y") == "f32[3, 4]");
  const OnnxModel padded = model({tensor_info("x", {3})}, {node("Pad", {"x", "pads", "fill"}, {"y"})}, {"y"}, {integers("pads", {0, 2}), floats("fill", {1}, {0.5F})});
  CHECK(section(imported(padded), "nodes:").find("value: 0.5") != std::string::npos);
}

TEST_CASE("import: DequantizeLinear without a zero point, of bytes and of others, for all and for blocks") {
  constexpr std::int32_t of_u8 = 2, of_i8 = 3, of_i32 = 6, of_f8e4m3 = 17;
  const auto nodes = [](std::int32_t type, std::vector<std::int64_t> scale, std::vector<OnnxAttribute> attributes) {
    const std::string text = imported(model({tensor_info("x", {4, 32}, type), tensor_info("s", std::move(scale))},
                                            {node("DequantizeLinear", {"x", "s"}, {"y"}, std::move(attributes))}, {"y"}));
    return section(text, "nodes:");
  };
  for (const std::int32_t type : {of_i8, of_u8}) {
    CHECK(nodes(type, {}, {}).find("{op: dequantize_linear, in: [x, s, ") != std::string::npos);
  }
  for (const std::int32_t type : {of_i32, of_f8e4m3}) {
    CHECK(nodes(type, {}, {}) == "nodes:\n  - {op: dequantize_linear, in: [x, s], out: \"y\"}\n");
  }
  const std::string blocks = nodes(of_i8, {4, 4}, {integer("axis", 1), integer("block_size", 8)});
  CHECK(blocks.find("{op: dequantize_linear, in: [y_blocks, y_scale], ") != std::string::npos);
}

TEST_CASE("import: floats of 8 bits saturate or not, as the cast says") {
  const auto cast = [](std::int32_t to, std::int64_t saturate) {
    return section(imported(model({tensor_info("x", {3})}, {node("Cast", {"x"}, {"y"}, {integer("to", to), integer("saturate", saturate)}), node("Cast", {"y"}, {"z"}, {integer("to", 1)})}, {"z"})), "nodes:");
  };
  CHECK(cast(17, 1).find("{op: cast, in: x, out: \"y\", to: f8e4m3}") != std::string::npos);
  CHECK(cast(17, 0).find("{op: cast, in: x, out: \"y\", to: f8e4m3, saturate: false}") != std::string::npos);
  CHECK(cast(20, 0).find("{op: cast, in: x, out: \"y\", to: f8e5m2fnuz, saturate: false}") != std::string::npos);
  CHECK(cast(24, 1).find("{op: cast, in: x, out: \"y\", to: f8e8m0, round: up}") != std::string::npos);
}
