// Layers of ONNX models, which a graph holds once, as a function.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "generator/import/numbered_names.hpp"
#include "generator/import/repeated_runs.hpp"
#include "tests/unit/import_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

struct Layers {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> weights;
  std::string last = "x";

  OnnxTensor& weight(std::string name, std::vector<std::int64_t> shape, float value) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    std::vector<float> values(static_cast<std::size_t>(elements), value);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<float>(i);
    weights.push_back(floats(std::move(name), std::move(shape), values));
    return weights.back();
  }

  // x + relu(x w + b) v
  void add_layer(int number, double alpha = 0.1) {
    const std::string start = "/layers." + std::to_string(number) + "/",
                      weight_start = "layers." + std::to_string(number) + ".";
    const auto offset = static_cast<float>(number);
    weight(weight_start + "w", {8, 8}, offset);
    weight(weight_start + "b", {8}, offset);
    weight("onnx::MatMul_" + std::to_string(100 + 7 * number), {8, 8}, offset + 0.5F);
    nodes.push_back(node("MatMul", {last, weight_start + "w"}, {start + "up"}));
    nodes.push_back(node("Add", {start + "up", weight_start + "b"}, {start + "biased"}));
    nodes.push_back(node("LeakyRelu", {start + "biased"}, {start + "act"}, {real("alpha", alpha)}));
    nodes.push_back(
        node("MatMul", {start + "act", "onnx::MatMul_" + std::to_string(100 + 7 * number)}, {start + "down"}));
    nodes.push_back(node("Add", {last, start + "down"}, {start + "out"}));
    last = start + "out";
  }

  OnnxModel model_of(std::vector<OnnxValueInfo> inputs = {tensor_info("x", {4, 8})},
                     std::vector<std::string> outputs = {"y"}) {
    nodes.push_back(node("Tanh", {last}, {"y"}));
    return model(std::move(inputs), nodes, std::move(outputs), weights);
  }
};

}  // namespace

TEST_CASE("import: layers that follow each other are a function, called once for all") {
  Layers layers;
  for (int i = 0; i < 3; ++i) layers.add_layer(i);
  Diagnostics diagnostics;
  const ImportResult result = import_with(layers.model_of(), diagnostics);
  REQUIRE_MESSAGE(result.model, diagnostics.text(false));
  CHECK(result.model->graph == R"(# Imported from m.onnx.
graph: m
inputs:
  x: f32[4, 8]
functions:
  layers:
    doc: "3 times in the model, to make '/layers.0/out' up to '/layers.2/out'."
    inputs:
      out_before: f32[4, 8]
    constants:
      w: {type: "f32[8, 8]", file: m.safetensors, key: "layers.{index}.w"}
      b: {type: "f32[8]", file: m.safetensors, key: "layers.{index}.b"}
      down_weight: {type: "f32[8, 8]", file: m.safetensors, key: "layers.{index}.down_weight"}
    nodes:
      - {op: matmul, in: [out_before, w], out: up}
      - {op: add, in: [up, b], out: biased}
      - {op: leaky_relu, in: biased, out: act, alpha: 0.1}
      - {op: matmul, in: [act, down_weight], out: down}
      - {op: add, in: [out_before, down], out: out}
    outputs: [out]
nodes:
  - {call: layers, in: x, out: layers_2_out, repeat: 3}
  - {op: tanh, in: layers_2_out, out: "y"}
outputs: ["y"]
)");
  infer_good(result.model->graph);
  REQUIRE(result.model->weights.size() == 9);
  for (const StoredTensor& each : result.model->weights) {
    const auto from = std::find_if(layers.weights.begin(), layers.weights.end(),
                                   [&](const OnnxTensor& tensor) { return *tensor.bytes == *each.bytes; });
    REQUIRE(from != layers.weights.end());
    const std::string number = each.key.substr(7, 1);
    CHECK(
        from->name ==
        (each.key.ends_with("down_weight") ? "onnx::MatMul_" + std::to_string(100 + 7 * std::stoi(number)) : each.key));
  }
}

// The first layer has one tensor where the others have two.
TEST_CASE("import: weights that one layer shares are those that each layer has") {
  Layers layers;
  for (int i = 0; i < 3; ++i) layers.add_layer(i);
  for (OnnxNode& each : layers.nodes) {
    if (each.inputs.back() == "onnx::MatMul_100") each.inputs[1] = "layers.0.w";
  }
  const std::string text = imported(layers.model_of());
  CHECK(count(text, "      - {op: matmul, in: [out_before, w], out: up}\n") == 1);
  CHECK(count(text, "      - {op: matmul, in: [act, up_weight], out: down}\n") == 1);
  CHECK(count(text, "{call: layers, in: x, out: layers_2_out, repeat: 3}") == 1);
}

// As quantisers write them: what weights stand for, all of it in front.
TEST_CASE("import: what is made of a layer's weights alone is made in the layer") {
  Layers layers;
  for (int i = 0; i < 3; ++i) layers.add_layer(i);
  std::vector<OnnxNode> nodes;
  for (OnnxNode& each : layers.nodes) {
    if (each.op != "MatMul") continue;
    nodes.push_back(node("Softmax", {each.inputs[1]}, {each.outputs[0] + "_spread"}));
    each.inputs[1] = each.outputs[0] + "_spread";
  }
  layers.nodes.insert(layers.nodes.begin(), nodes.begin(), nodes.end());
  const std::string text = imported(layers.model_of());
  CHECK(count(text, "op: softmax") == 2);
  CHECK(count(text, "{call: layers, in: x, out: layers_2_out, repeat: 3}") == 1);
}

TEST_CASE("import: layers that differ in an attribute, a shape, a number or their wiring are no function") {
  const auto functions = [](auto change) {
    Layers layers;
    layers.add_layer(0);
    layers.add_layer(1);
    change(layers);
    return count(imported(layers.model_of()), "{call: ");
  };
  CHECK(functions([](Layers&) {}) == 1);
  CHECK(functions([](Layers& layers) { layers.nodes[7].attributes[0].real = 0.2; }) == 0);
  CHECK(functions([](Layers& layers) { layers.nodes[7] = node("Relu", {"/layers.1/biased"}, {"/layers.1/act"}); }) ==
        0);
  CHECK(functions([](Layers& layers) { layers.nodes[9].inputs[0] = "/layers.1/act"; }) == 0);
  CHECK(functions([](Layers& layers) {
          layers.weights.push_back(floats("row", {1, 8}, std::vector<float>(8)));
          layers.nodes[6].inputs[1] = "row";
        }) == 0);
}

TEST_CASE("import: what reads one input side by side is no layer") {
  // three heads
  Layers heads;
  for (const std::string name : {"q", "k", "v"}) {
    heads.weight(name + ".w", {8, 8}, 1);
    heads.nodes.push_back(node("MatMul", {"x", name + ".w"}, {name}));
    heads.nodes.push_back(node("Relu", {name}, {name + "_relu"}));
    heads.nodes.push_back(node("Neg", {name + "_relu"}, {name + "_out"}));
  }
  heads.nodes.push_back(node("Sum", {"q_out", "k_out", "v_out"}, {"sum"}));
  heads.last = "sum";
  CHECK(count(imported(heads.model_of()), "{call: ") == 0);
}

TEST_CASE("import: what the first layer computes for all of them stands in front of it") {
  Layers layers;
  for (int i = 0; i < 3; ++i) {
    const std::string biased = layers.last;
    layers.add_layer(i);
    if (i == 0) {
      layers.nodes.insert(layers.nodes.begin() + 1, node("Exp", {"m"}, {"grown"}));
      layers.nodes.insert(layers.nodes.begin() + 3, node("Neg", {"grown"}, {"mask"}));
    }
    layers.nodes.push_back(node("Mul", {layers.last, "mask"}, {"/layers." + std::to_string(i) + "/masked"}));
    layers.last = "/layers." + std::to_string(i) + "/masked";
  }
  const std::string text = imported(layers.model_of({tensor_info("x", {4, 8}), tensor_info("m", {4, 1})}));
  CHECK(section(text, "nodes:") ==
        "nodes:\n"
        "  - {op: exp, in: m, out: grown}\n"
        "  - {op: neg, in: grown, out: mask}\n"
        "  - {call: layers, in: [x, mask], out: layers_2_masked, repeat: 3}\n"
        "  - {op: tanh, in: layers_2_masked, out: \"y\"}\n");
}

TEST_CASE("import: what each layer computes alike from what all of them read is computed once") {
  Layers layers;
  for (int i = 0; i < 3; ++i) {
    layers.add_layer(i);
    const std::string start = "/layers." + std::to_string(i) + "/";
    layers.nodes.push_back(node("Exp", {"m"}, {start + "grown"}));
    layers.nodes.push_back(node("Mul", {layers.last, start + "grown"}, {start + "masked"}));
    layers.last = start + "masked";
  }
  const std::string text = imported(layers.model_of({tensor_info("x", {4, 8}), tensor_info("m", {4, 1})}));
  CHECK(section(text, "nodes:") ==
        "nodes:\n"
        "  - {op: exp, in: m, out: layers_0_grown}\n"
        "  - {call: layers, in: [x, layers_0_grown], out: layers_2_masked, repeat: 3}\n"
        "  - {op: tanh, in: layers_2_masked, out: \"y\"}\n");
}

TEST_CASE("import: layers with inputs and outputs of their own are called one by one") {
  Layers layers;
  std::vector<OnnxValueInfo> inputs = {tensor_info("x", {4, 8})};
  std::vector<std::string> outputs = {"y"};
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    layers.add_layer(i);
    layers.nodes.push_back(node("Add", {layers.last, "cache." + number}, {"present." + number}));
    layers.nodes.push_back(node("Relu", {"present." + number}, {"end." + number}));
    layers.last = "end." + number;
    inputs.push_back(tensor_info("cache." + number, {4, 8}));
    outputs.push_back("present." + number);
  }
  const std::string text = imported(layers.model_of(inputs, outputs));
  CHECK(section(text, "nodes:") ==
        "nodes:\n"
        "  - {call: layers, in: [x, cache_0], out: [present_0, end_0]}\n"
        "  - {call: layers, in: [end_0, cache_1], out: [present_1, end_1]}\n"
        "  - {call: layers, in: [end_1, cache_2], out: [present_2, end_2]}\n"
        "  - {op: tanh, in: end_2, out: \"y\"}\n");
}

TEST_CASE("import: a function that the model calls several times is one of the graph, by its name") {
  OnnxModel m = model({tensor_info("x", {4, 8})},
                      {node("Layer", {"x", "w0"}, {"a"}), node("Neg", {"a"}, {"b"}), node("Layer", {"b", "w1"}, {"c"}),
                       node("Layer", {"c", "w2"}, {"y"})},
                      {"y"},
                      {floats("w0", {8, 8}, std::vector<float>(64, 1)), floats("w1", {8, 8}, std::vector<float>(64, 2)),
                       floats("w2", {8, 8}, std::vector<float>(64, 3))});
  OnnxFunction function;
  function.domain = "own";
  function.name = "Layer";
  function.inputs = {"a", "w"};
  function.outputs = {"b"};
  function.nodes = {node("MatMul", {"a", "w"}, {"product"}), node("Relu", {"product"}, {"act"}),
                    node("Add", {"a", "act"}, {"b"})};
  m.functions.push_back(function);
  for (const std::size_t i : {0, 2, 3}) m.graph.nodes[i].domain = "own";
  m.opsets["own"] = 1;
  const std::string text = imported(m);
  CHECK(section(text, "functions:").find("  Layer:\n") != std::string::npos);
  CHECK(section(text, "nodes:") ==
        "nodes:\n"
        "  - {call: Layer, in: x, out: a}\n"
        "  - {op: neg, in: a, out: b}\n"
        "  - {call: Layer, in: b, out: c}\n"
        "  - {call: Layer, in: c, out: \"y\"}\n");
}

TEST_CASE("import: numbers in names") {
  const auto common = numbered_name({"/layers.0/mlp.0/fc", "/layers.11/mlp.0/fc"});
  REQUIRE(common);
  CHECK(common->before == "/layers.");
  CHECK(common->after == "/mlp.0/fc");
  CHECK_FALSE(numbered_name({"a.0.b", "a.1.c"}));
  CHECK_FALSE(numbered_name({"a.0", "a.0"}));
  CHECK_FALSE(numbered_name({"a.0"}));
  CHECK(indexed_key({"l.0.w", "l.1.w", "l.2.w"}) == "l.{index}.w");
  CHECK(indexed_key({"l.1.w", "l.2.w"}) == "l.{index+1}.w");
  CHECK(indexed_key({"2", "3", "4"}) == "{index+2}");
  CHECK_FALSE(indexed_key({"l.1.w", "l.3.w"}));
  CHECK_FALSE(indexed_key({"l.99999999999.w", "l.100000000000.w"}));
  CHECK_FALSE(indexed_key({"l.0.w", "l.01.w"}));
  CHECK_FALSE(indexed_key({"{index}.0.w", "{index}.1.w"}));
}

TEST_CASE("import: runs that repeat") {
  const auto runs = [](std::vector<std::uint64_t> sequence) { return repeated_runs(sequence, 2); };
  CHECK(runs({9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 7})[0] == RepeatedRun{1, 11, 3});
  CHECK(runs({1, 2, 3, 4, 5}).empty());
  CHECK(runs({}).empty());
  // an element that occurs several times in a period
  CHECK(runs({1, 1, 2, 1, 3, 1, 1, 2, 1, 3})[0] == RepeatedRun{0, 10, 5});
}

// Random, all alike, a word of which each part occurs at many distances, and layers.
TEST_CASE("import: of 200,000 elements the runs are found in linear time") {
  constexpr std::size_t size = 200'000;
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> few(size), same(size, 5), fibonacci{1, 0}, layers(size);
  for (auto& each : few) each = random() % 2;
  for (std::size_t before = 1; fibonacci.size() < size;) {
    const std::size_t now = fibonacci.size();
    for (std::size_t i = 0; i < before; ++i) fibonacci.push_back(fibonacci[i]);
    before = now;
  }
  for (std::size_t i = 0; i < size; ++i) layers[i] = i % 1000 * 1000;
  for (const auto* sequence : {&few, &same, &fibonacci}) {
    for (const RepeatedRun& run : repeated_runs(*sequence, 3)) {
      REQUIRE(run.end <= sequence->size());
      REQUIRE(run.end - run.begin >= 2 * run.period);
    }
  }
  CHECK(repeated_runs(layers, 3)[0] == RepeatedRun{0, size, 1000});
}
