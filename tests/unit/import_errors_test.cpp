// What cannot be imported, and what is said of it.
#include <doctest/doctest.h>

#include "tests/unit/import_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

TEST_CASE("import: every operator without a rule is reported, each once, and every node that cannot be written") {
  OnnxNode named = node("Frobnicate", {"x"}, {"a"});
  named.name = "first";
  const OnnxModel m = model({tensor_info("x", {2, 3})},
                            {named, node("Frobnicate", {"a"}, {"b"}), node("Gargle", {"b"}, {"c"}), node("Relu", {"c"}, {"d"}),
                             node("MatMul", {"x", "x"}, {"e"})},
                            {"d", "e"});
  CHECK(import_problems(m) ==
        "m.onnx: the node of 'e' (MatMul): matmul: K is 3 in 'x' (f32[2, 3]) and 2 in 'x' (f32[2, 3])\n"
        "note: operand 'a' is [..., M, K] and operand 'b' is [..., K, N]\n"
        "m.onnx: kgen has no operator for Frobnicate, in node 'first' (Frobnicate) and 1 more\n"
        "help: specs/onnx holds the rules of import: one entry adds an operator; --rules FILE reads yours\n"
        "m.onnx: kgen has no operator for Gargle, in the node of 'c' (Gargle)\n"
        "help: specs/onnx holds the rules of import: one entry adds an operator; --rules FILE reads yours");
}

TEST_CASE("import: versions that are too old, or newer than an operator's rule") {
  CHECK(import_problems(model({tensor_info("x", {2})}, {node("Relu", {"x"}, {"y"})}, {"y"}, {}, 6)) ==
        "m.onnx: Relu is supported since version 7 of its operator set, in the node of 'y' (Relu)\n"
        "help: convert the model: onnx.version_converter.convert_version(model, 28)");
  imported(model({tensor_info("x", {2}, onnx_bool)}, {node("Not", {"x"}, {"y"})}, {"y"}, {}, 1));
  CHECK(import_problems(model({tensor_info("x", {2, 4}), tensor_info("s", {2}), tensor_info("b", {2})},
                              {node("GroupNormalization", {"x", "s", "b"}, {"y"}, {integer("num_groups", 2)})}, {"y"}, {}, 17)) ==
        "m.onnx: GroupNormalization is supported since version 18 of its operator set, in the node of 'y' (GroupNormalization)\n"
        "help: convert the model: onnx.version_converter.convert_version(model, 28)");
}

TEST_CASE("import: cycles, values that nothing makes, and values that are made twice") {
  CHECK(import_problems(model({tensor_info("x", {2})}, {node("Add", {"x", "b"}, {"a"}), node("Relu", {"a"}, {"b"})}, {"b"})) ==
        "m.onnx: the node of 'a' (Add): it reads 'b', which is made after it, or of it: the nodes are out of order or a cycle");
  CHECK(import_problems(model({tensor_info("x", {2})}, {node("Add", {"x", "missing"}, {"a"})}, {"a"})) ==
        "m.onnx: the node of 'a' (Add): it reads 'missing', which nothing makes");
  CHECK(import_problems(model({tensor_info("x", {2})}, {node("Relu", {"x"}, {"a"}), node("Exp", {"x"}, {"a"})}, {"a"})) ==
        "m.onnx: the node of 'a' (Exp): 'a' is made twice");
  CHECK(import_problems(model({tensor_info("x", {2})}, {node("Relu", {"x"}, {"a"})}, {"nothing"})) ==
        "m.onnx: its output 'nothing' is made by no node");
}

TEST_CASE("import: types and shapes that kgen has not") {
  CHECK(import_problems(model({tensor_info("x", {2}, onnx_complex64)}, {node("Identity", {"x"}, {"y"})}, {"y"})) ==
        "m.onnx: input 'x': kgen has no type like ONNX's complex64 (14)");
  CHECK(import_problems(model({tensor_info("x", {2}, 99)}, {node("Identity", {"x"}, {"y"})}, {"y"})) ==
        "m.onnx: input 'x': kgen has no type like ONNX's unknown (99)");
  OnnxValueInfo unknown_rank = tensor_info("x", {});
  unknown_rank.shape.reset();
  CHECK(import_problems(model({unknown_rank}, {node("Relu", {"x"}, {"y"})}, {"y"})) == "m.onnx: input 'x' does not say how many axes it has");
  OnnxValueInfo sequence = tensor_info("x", {});
  sequence.is_tensor = false;
  CHECK(import_problems(model({sequence}, {node("Relu", {"x"}, {"y"})}, {"y"})) == "m.onnx: input 'x' is no tensor");
  const std::int64_t wide = std::int64_t{1} << 30;
  CHECK(import_problems(model({tensor_info("x", {wide, wide, wide})}, {node("Relu", {"x"}, {"y"})}, {"y"})) ==
        "m.onnx: input 'x' may have more than 2^60 elements\nhelp: say how large its dims may be: --dim NAME=1..64");
  CHECK(import_problems(model({tensor_info("x", {-3})}, {node("Relu", {"x"}, {"y"})}, {"y"})) == "m.onnx: input 'x' has an extent of -3");
}

TEST_CASE("import: a word that the operator does not know") {
  CHECK(import_problems(model({tensor_info("x", {2}), tensor_info("i", {2}, onnx_int64)},
                              {node("ScatterElements", {"x", "i", "x"}, {"y"}, {word("reduction", "and")})}, {"y"}, {}, 18)) ==
        "m.onnx: the node of 'y' (ScatterElements): 'reduction' of 'scatter' cannot be 'and'\n"
        "note: the choices are 'none', 'add', 'mul', 'max' and 'min'");
}

TEST_CASE("import: a range of a dim that the model has not") {
  OnnxModel m = model({symbolic_info("x", "batch size", {8})}, {node("Relu", {"x"}, {"y"})}, {"y"});
  ImportOptions options;
  options.dims["sequence"] = {1, 16};
  CHECK(import_problems(m, options) == "m.onnx: it has no dim 'sequence'\nnote: its dims are 'batch size' and 'batch_size'");
  m.graph.inputs = {tensor_info("x", {8})};
  CHECK(import_problems(m, options) == "m.onnx: it has no dim 'sequence'\nnote: none of its inputs has a dim without a number");
}

TEST_CASE("import: weights whose data do not fit") {
  OnnxTensor small = floats("w", {4}, {1, 2});
  CHECK(import_problems(model({tensor_info("x", {4})}, {node("Add", {"x", "w"}, {"y"})}, {"y"}, {small})) ==
        "m.onnx: initializer 'w': it has 8 bytes of data, and its type and shape need 16");
  small.dims = {-1};
  CHECK(import_problems(model({tensor_info("x", {4})}, {node("Add", {"x", "w"}, {"y"})}, {"y"}, {small})) ==
        "m.onnx: initializer 'w': its shape, [-1], is impossible");
  small.dims = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  CHECK(import_problems(model({tensor_info("x", {4})}, {node("Add", {"x", "w"}, {"y"})}, {"y"}, {small})) ==
        "m.onnx: initializer 'w': its shape, [1099511627776, 1099511627776], is impossible");
}

TEST_CASE("import: an output is listed once") {
  CHECK(import_problems(model({tensor_info("x", {2})}, {node("Relu", {"x"}, {"y"})}, {"y", "y"})) ==
        "m.onnx: its output 'y' is listed twice");
}

TEST_CASE("import: what depends on data names the value, and how to bind it") {
  CHECK(import_problems(model({tensor_info("x", {6}), tensor_info("s", {2}, onnx_int64)},
                              {node("Mul", {"s", "s"}, {"twice"}), node("Reshape", {"x", "twice"}, {"y"})}, {"y"})) ==
        "m.onnx: the node of 'y' (Reshape): its input 'twice' says shapes, axes or the like, and is known only at run time\n"
        "note: it is computed from 's'\n"
        "help: where that is always the same, say so: --bind s=VALUE");
  ImportOptions options;
  options.bound["nobody"] = Content{DType::i64, {}, {Dim(1)}};
  CHECK(import_problems(model({tensor_info("x", {2})}, {node("Relu", {"x"}, {"y"})}, {"y"}), options) == "m.onnx: it has no input 'nobody' to bind");
  options.bound = {{"x", Content{DType::i64, {2}, {Dim(1), Dim(2)}}}};
  CHECK(import_problems(model({tensor_info("x", {2})}, {node("Relu", {"x"}, {"y"})}, {"y"}), options) ==
        "m.onnx: input 'x' is of type f32, and is bound to i64");
}

TEST_CASE("import: inputs, attributes and axes that an operator does not take") {
  const std::vector<OnnxValueInfo> inputs = {tensor_info("x", {2, 3})};
  CHECK(import_problems(model(inputs, {node("Relu", {}, {"y"})}, {"y"})) == "m.onnx: the node of 'y' (Relu): its input 'x' is missing");
  CHECK(import_problems(model(inputs, {node("Relu", {"x", "x"}, {"y"})}, {"y"})) ==
        "m.onnx: the node of 'y' (Relu): it has 2 inputs, and at most 1 are supported");
  CHECK(import_problems(model(inputs, {node("Relu", {"x"}, {"y"}, {integer("speed", 3)})}, {"y"})) ==
        "m.onnx: the node of 'y' (Relu): its attribute 'speed' is not supported");
  CHECK(import_problems(model(inputs, {node("Softmax", {"x"}, {"y"}, {integer("axis", 7)})}, {"y"})) ==
        "m.onnx: the node of 'y' (Softmax): its axis is none of its input");
  CHECK(import_problems(model(inputs, {node("Relu", {"x"}, {"y", "z"})}, {"y", "z"})) ==
        "m.onnx: the node of 'y' (Relu): its output 2 is not supported");
}

TEST_CASE("import: functions that call themselves, and conditions that only the run knows") {
  OnnxModel m = model({tensor_info("x", {4})}, {node("Loop", {"x"}, {"y"})}, {"y"});
  m.graph.nodes[0].domain = "own";
  OnnxFunction function;
  function.domain = "own";
  function.name = "Loop";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.nodes = {node("Loop", {"a"}, {"b"})};
  function.nodes[0].domain = "own";
  m.functions.push_back(function);
  CHECK(import_problems(m) == "m.onnx: the node of 'b' (own.Loop): functions call each other without end, or too deeply");
  OnnxGraph branch;
  branch.nodes = {node("Relu", {"x"}, {"t"})};
  branch.outputs = {tensor_info("t", {4})};
  OnnxGraph other = branch;
  other.nodes = {node("Concat", {"x", "x"}, {"t"}, {integer("axis", 0)})};
  const std::string problems = import_problems(
      model({tensor_info("x", {4}), tensor_info("c", {}, onnx_bool)},
            {node("If", {"c"}, {"y"}, {subgraph("then_branch", branch), subgraph("else_branch", other)})}, {"y"}));
  CHECK(problems.find("only the run knows its condition, and its branches make 'y' f32[4] and f32[8]") !=
        problems.npos);
  CHECK(problems.find("its input 'c' says shapes, axes or the like, and is known only at run time") != problems.npos);
}
