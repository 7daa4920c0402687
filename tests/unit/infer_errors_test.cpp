// Every diagnostic of infer: the bad input beside its message.
#include <cmath>

#include "generator/spec/infer_number.hpp"
#include "tests/unit/infer_fixture.hpp"

namespace kgen {
namespace {

using test::problems_of;

// What is wrong with the nodes (on line 5) over these inputs; M and N are dims from 1 to 8.
std::string problems(const std::string& inputs, const std::string& nodes) {
  return problems_of("graph: g\ndims: {M: 1..8, N: 1..8}\ninputs: {" + inputs + "}\nnodes:\n- " + nodes +
                     "\noutputs: [y]\n");
}

TEST_CASE("shapes that do not broadcast") {
  CHECK(problems("x: 'f32[M, 4096]', bias: 'f32[4095]'", "{op: add, in: [x, bias], out: y}") ==
        "5: add: 'x' (f32[M, 4096]) and 'bias' (f32[4095]) do not broadcast: axis 1 is 4096 and 4095\n"
        "note: two extents broadcast where they are equal, or one of them is 1");
  CHECK(problems("x: 'f32[M, 4]', z: 'f32[N, 1]'", "{op: add, in: [x, z], out: y}") ==
        "5: add: 'x' (f32[M, 4]) and 'z' (f32[N, 1]) do not broadcast: axis 0 is M and N\n"
        "note: two extents broadcast where they are equal, or one of them is 1\n"
        "help: if they are always equal, write them with the same dims");
  // The operand that brought the extent is named, not the first.
  CHECK(problems("c: 'bool[4, 1]', z: 'f32[5]', w: 'f32[4, 6]'", "{op: where, in: [c, z, w], out: y}") ==
        "5: where: 'z' (f32[5]) and 'w' (f32[4, 6]) do not broadcast: axis 1 is 5 and 6\n"
        "note: two extents broadcast where they are equal, or one of them is 1");
}

TEST_CASE("a result whose size would be too long an expression") {
  const std::string sum = "(M+N)*(M+N)*(M+N)*(M+N)*(M+N)*(M+N)*(M+N)";  // eight products
  CHECK(problems("m: 'f32[M, N]', a: 'f32[" + sum + ", 1, 1]', b: 'f32[" + sum + ", 1]', c: 'f32[" + sum + "]'",
                 "{op: add, in: [a, b], out: ab}\n- {op: add, in: [ab, c], out: y}") ==
        "6: add: the size of 'y' would be a sum of more than 256 products");
}

TEST_CASE("one bad node is reported once, not again by those that read it") {
  CHECK(problems("x: 'f32[4]', z: 'f32[5]'", "{op: add, in: [x, z], out: a}\n- {op: relu, in: a, out: y}") ==
        "5: add: 'x' (f32[4]) and 'z' (f32[5]) do not broadcast: axis 0 is 4 and 5\n"
        "note: two extents broadcast where they are equal, or one of them is 1");
}

TEST_CASE("dtypes that an operator does not take") {
  CHECK(problems("x: 'f32[4]', z: 'bf16[4]'", "{op: add, in: [x, z], out: y}") ==
        "5: add: 'x' (f32[4]) and 'z' (bf16[4]) must have the same dtype\n"
        "help: convert one of them to the dtype of the other");
  CHECK(problems("n: 'i32[4]'", "{op: sqrt, in: n, out: y}") ==
        "5: sqrt: 'n' (i32[4]) cannot be operand 'x'\n"
        "note: its dtype must be f64, f32, f16, bf16, f8e4m3, f8e5m2, f8e4m3fnuz or f8e5m2fnuz\n"
        "help: convert it first");
  CHECK(problems("x: 'i4[3, 5]'", "{op: add, in: [x, 1], out: y}") ==
        "5: add: 'x' (i4[3, 5]) cannot be operand 'a'\n"
        "note: its dtype must be f64, f32, f16, bf16, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, i8, i16, i32, i64, u8, "
        "u16, u32 "
        "or u64\n"
        "help: convert it first");
  CHECK(problems("x: 'f16[4]'", "{op: bitcast, in: x, out: y, to: f32}") ==
        "5: bitcast: the dtypes must have as many bits\n"
        "note: that needs 16 = 32, which never holds");
  CHECK(problems("a: 'f32[4]'", "{op: logical_not, in: a, out: y}") ==
        "5: logical_not: 'a' (f32[4]) cannot be operand 'x'\n"
        "note: its dtype must be bool\n"
        "help: convert it first");
}

TEST_CASE("a constant is shown with its value") {
  CHECK(problems_of("graph: g\n"
                    "inputs: {x: 'bf16[2]'}\n"
                    "constants: {epsilon: 1.0e-5}\n"
                    "nodes: [{op: add, in: [x, epsilon], out: y}]\n"
                    "outputs: [y]\n") ==
        "4: add: 'x' (bf16[2]) and 'epsilon' (f32[] = 1e-05) must have the same dtype\n"
        "help: convert one of them to the dtype of the other");
}

TEST_CASE("numbers that the dtype of the other operands cannot hold") {
  CHECK(problems("x: 'i32[4]'", "{op: add, in: [x, 0.5], out: y}") ==
        "5: 0.5 is not a whole number, as i32 needs\nnote: it takes the dtype of 'x' (i32[4])");
  CHECK(problems("x: 'u8[4]'", "{op: add, in: [x, -1], out: y}") ==
        "5: -1 is out of the range of u8, which is 0 to 255\nnote: it takes the dtype of 'x' (u8[4])");
  CHECK(problems("x: 'f16[4]'", "{op: mul, in: [x, 1.0e+6], out: y}") ==
        "5: 1000000 is out of the range of f16, which is -65504 to 65504\nnote: it takes the dtype of 'x' (f16[4])");
  CHECK(problems("x: 'bool[4]'", "{op: logical_or, in: [x, 2], out: y}") ==
        "5: 2 is out of the range of bool, which is 0 to 1");
  CHECK(problems("x: 'i64[4]'", "{op: add, in: [x, .nan], out: y}") ==
        "5: nan is out of the range of i64, which is -9223372036854775808 to 9223372036854775807\n"
        "note: it takes the dtype of 'x' (i64[4])");
}

TEST_CASE("elements of constants that their dtype cannot hold") {
  CHECK(problems_of("graph: g\n"
                    "inputs: {x: 'f16[2]'}\n"
                    "constants:\n"
                    "  c: {type: 'f16[2]', values: [1, 70000]}\n"
                    "nodes: [{op: add, in: [x, c], out: y}]\n"
                    "outputs: [y]\n") == "4: 70000 is out of the range of f16, which is -65504 to 65504");
}

TEST_CASE("the numbers that each dtype holds") {
  CHECK_FALSE(number_problem(65519, DType::f16));  // rounds to 65504
  CHECK(number_problem(65520, DType::f16));
  CHECK_FALSE(number_problem(3.4e38, DType::f32));
  CHECK(number_problem(3.5e38, DType::f32));
  CHECK(number_problem(3.4e38, DType::bf16));
  CHECK_FALSE(number_problem(INFINITY, DType::bf16));
  CHECK_FALSE(number_problem(1e308, DType::f64));
  CHECK_FALSE(number_problem(448, DType::f8e4m3));
  CHECK(number_problem(464, DType::f8e4m3));
  CHECK(number_problem(INFINITY, DType::f8e4m3));
  CHECK_FALSE(number_problem(NAN, DType::f8e4m3));
  CHECK_FALSE(number_problem(-57344, DType::f8e5m2));
  CHECK_FALSE(number_problem(-240, DType::f8e4m3fnuz));
  CHECK(number_problem(248, DType::f8e4m3fnuz));
  CHECK(number_problem(INFINITY, DType::f8e5m2fnuz));
  CHECK_FALSE(number_problem(6.5, DType::f4e2m1));
  CHECK(number_problem(NAN, DType::f4e2m1));
  CHECK_FALSE(number_problem(0.5, DType::f8e8m0));
  CHECK(number_problem(0, DType::f8e8m0));
  CHECK(number_problem(-1, DType::f8e8m0));
  CHECK_FALSE(number_problem(-8, DType::i4));
  CHECK(number_problem(8, DType::i4) == "8 is out of the range of i4, which is -8 to 7");
  CHECK(number_problem(4, DType::u2));
  CHECK_FALSE(number_problem(-128, DType::i8));
  CHECK(number_problem(128, DType::i8));
  CHECK(number_problem(0x1p63, DType::i64));
  CHECK_FALSE(number_problem(-0x1p63, DType::i64));
  CHECK_FALSE(number_problem(0x1p63, DType::u64));
  CHECK(number_problem(0x1p64, DType::u64) ==
        "1.8446744073709552e+19 is out of the range of u64, which is 0 to 18446744073709551615");
  CHECK(number_problem(INFINITY, DType::i32));
}

TEST_CASE("axes") {
  CHECK(problems("x: 'f32[4, 5]'", "{op: sum, in: x, out: y, axes: [2]}") ==
        "5: sum: axis 2 is out of range for 'x' (f32[4, 5])\nnote: an axis is from -2 to 1");
  CHECK(problems("x: 'f32[4, 5]'", "{op: sum, in: x, out: y, axes: [1, -1]}") ==
        "5: sum: attribute 'axes' names axis 1 of 'x' (f32[4, 5]) twice");
  CHECK(problems("x: 'f32[]'", "{op: sum, in: x, out: y, axes: [0]}") ==
        "5: sum: axis 0 is out of range for 'x' (f32[])\nnote: a scalar has no axes");
  CHECK(problems("x: 'f32[M, 5]'", "{op: sum, in: x, out: y, axes: [M]}") ==
        "5: sum: attribute 'axes' lists axes, and 'M' is not a number");
  CHECK(problems("x: 'f32[M, 8]'", "{op: transpose, in: x, out: y, perm: [0, 0]}") ==
        "5: transpose: attribute 'perm' names axis 0 of 'x' (f32[M, 8]) twice");
  CHECK(problems("x: 'f32[M, 8]'", "{op: transpose, in: x, out: y, perm: [0]}") ==
        "5: transpose: attribute 'perm' lists 1 of the 2 axes of 'x' (f32[M, 8])\nhelp: list every axis once");
  CHECK(problems("x: 'f32[M, 8]'", "{op: unsqueeze, in: x, out: y, axis: 3}") ==
        "5: unsqueeze: axis 3 is out of range for 'x' (f32[M, 8])\nnote: an axis is from -3 to 2");
  CHECK(problems("x: 'f32[M, 8]'", "{op: slice, in: x, out: y, axis: 2}") ==
        "5: slice: axis 2 is out of range for 'x' (f32[M, 8])\nnote: an axis is from -2 to 1");
  CHECK(problems("x: 'f32[M, 8]'", "{op: squeeze, in: x, out: y, axis: 0}") ==
        "5: squeeze: axis 0 of 'x' (f32[M, 8]) is M, and only an axis of extent 1 can be dropped");
}

TEST_CASE("reshape and broadcast_to") {
  CHECK(problems("x: 'f32[M, 8]'", "{op: reshape, in: x, out: y, shape: [M, 9]}") ==
        "5: reshape: 'x' (f32[M, 8]) has 8*M elements, and [M, 9] has 9*M\n"
        "help: both must have the same number for every value of the dims; one extent may be -1");
  CHECK(problems("x: 'f32[M, 8]'", "{op: reshape, in: x, out: y, shape: [-1, 3]}") ==
        "5: reshape: [-1, 3] does not say what -1 stands for: the 8*M elements of 'x' (f32[M, 8]) do not divide by 3");
  CHECK(problems("x: 'f32[M, 8]'", "{op: reshape, in: x, out: y, shape: [-1, 0]}") ==
        "5: reshape: [-1, 0] does not say what -1 stands for: the 8*M elements of 'x' (f32[M, 8]) do not divide by 0");
  CHECK(problems("x: 'f32[M, 8]'", "{op: reshape, in: x, out: y, shape: [-1, -1]}") ==
        "5: reshape: two extents of [-1, -1] are -1\nhelp: only one can follow from the others");
  CHECK(problems("x: 'f32[4, 8]'", "{op: reshape, in: x, out: y, shape: [-4, -8]}") ==
        "5: reshape: the extents of [-4, -8] must not be negative\nnote: that needs 0 <= -4, which never holds");
  CHECK(problems("x: 'f32[M, 8]'", "{op: broadcast_to, in: x, out: y, shape: [8]}") ==
        "5: broadcast_to: 'x' (f32[M, 8]) has more axes than [8]");
  CHECK(problems("x: 'f32[M, 8]'", "{op: broadcast_to, in: x, out: y, shape: [2, M, 9]}") ==
        "5: broadcast_to: 'x' (f32[M, 8]) does not broadcast to [2, M, 9]: axis 1 is 8 and must be 9 or 1");
}

TEST_CASE("slices, indices and updates that are out of bounds for every value of the dims") {
  CHECK(problems("x: 'f32[M, 8]'", "{op: slice, in: x, out: y, axis: 1, end: 9}") ==
        "5: slice: the slice must end within axis 1 of x\nnote: that needs 9 <= 8, which never holds");
  CHECK(problems("x: 'f32[M, 8]'", "{op: slice, in: x, out: y, axis: 0, end: M + 1}") ==
        "5: slice: the slice must end within axis 0 of x\nnote: that needs M + 1 <= M, which never holds");
  CHECK(problems("x: 'f32[M, 8]'", "{op: slice, in: x, out: y, axis: 1, begin: 5, end: 4}") ==
        "5: slice: the slice must begin before its end\nnote: that needs 5 <= 4, which never holds");
  CHECK(problems("x: 'f32[M, 8]'", "{op: slice, in: x, out: y, axis: 1, begin: -9}") ==
        "5: slice: the slice must begin within axis 1 of x\nnote: that needs 0 <= -1, which never holds");
  CHECK(problems("x: 'f32[M, 8]'", "{op: slice, in: x, out: y, axis: 1, step: 0}") ==
        "5: slice: the step is 0\nhelp: a step is at least 1");
  CHECK(problems("x: 'f32[M, 8]'", "{op: select, in: x, out: y, axis: 1, index: 8}") ==
        "5: select: the index must be within axis 1 of x\nnote: that needs 9 <= 8, which never holds");
  CHECK(problems("x: 'f32[4, 8]', z: 'f32[4, 3]'", "{op: index_update, in: [x, z], out: y, axis: 1, begin: 6}") ==
        "5: index_update: the update must end within axis 1 of x\nnote: that needs 9 <= 8, which never holds");
}

TEST_CASE("parts that do not fit together") {
  CHECK(problems("x: 'f32[M, 8]', z: 'f32[N, 9]'", "{op: concat, in: [x, z], out: y, axis: 0}") ==
        "5: concat: 'x' (f32[M, 8]) and 'z' (f32[N, 9]) must agree on every axis but 0: axis 1 is 8 and 9");
  CHECK(problems("x: 'f32[M, 8]', z: 'f32[8]'", "{op: concat, in: [x, z], out: y, axis: 0}") ==
        "5: concat: 'x' (f32[M, 8]) has 2 axes and 'z' (f32[8]) has 1");
  CHECK(problems("x: 'f32[4, 8]', z: 'f32[3, 3]'", "{op: index_update, in: [x, z], out: y, axis: 1}") ==
        "5: index_update: 'x' (f32[4, 8]) and 'z' (f32[3, 3]) must agree on every axis but 1: axis 0 is 4 and 3");
  CHECK(problems("x: 'f32[M, 8]', z: 'f16[M, 8]'", "{op: concat, in: [x, z], out: y, axis: 0}") ==
        "5: concat: 'x' (f32[M, 8]) and 'z' (f16[M, 8]) must have the same dtype\n"
        "help: convert one of them to the dtype of the other");
}

TEST_CASE("shape patterns") {
  CHECK(problems("x: 'f32[M, 4096]', w: 'f32[4095, 8]'", "{op: matmul, in: [x, w], out: y}") ==
        "5: matmul: K is 4096 in 'x' (f32[M, 4096]) and 4095 in 'w' (f32[4095, 8])\n"
        "note: operand 'a' is [..., M, K] and operand 'b' is [..., K, N]");
  CHECK(problems("x: 'f32[M, N]', w: 'f32[M, 8]'", "{op: matmul, in: [x, w], out: y}") ==
        "5: matmul: K is N in 'x' (f32[M, N]) and M in 'w' (f32[M, 8])\n"
        "note: operand 'a' is [..., M, K] and operand 'b' is [..., K, N]\n"
        "help: if they are always equal, write them with the same dims");
  CHECK(problems("x: 'f32[M]', w: 'f32[4095, 8]'", "{op: matmul, in: [x, w], out: y}") ==
        "5: matmul: operand 'a' takes [..., M, K], but 'x' (f32[M]) has 1 axis");
  CHECK(problems("x: 'f32[2, M, 8]', w: 'f32[8]'", "{op: matmul, in: [x, w], out: y}") ==
        "5: matmul: operand 'b' takes [..., K, N], but 'w' (f32[8]) has 1 axis");
  CHECK(problems("x: 'f32[2, M, 8]', w: 'f32[3, 8, 8]'", "{op: matmul, in: [x, w], out: y}") ==
        "5: matmul: the leading axes of 'w' (f32[3, 8, 8]) do not broadcast with [2], those of the operands before it");
  CHECK(problems("q: 'f32[2, 3, 4, 8]', cos: 'f32[3, 5, 8]'", "{op: rope, in: [q, cos, cos], out: y}") ==
        "5: rope: the leading axes of 'cos' (f32[3, 5, 8]) do not broadcast with [2, 3, 4], those of the operands "
        "before it");
}

TEST_CASE("a default that only the run could work out") {
  CHECK(problems("q: 'f32[1, M, 4, N]', k: 'f32[1, M, 4, N]'", "{op: attention, in: [q, k, k], out: y}") ==
        "5: attention: attribute 'scale' must be given\n"
        "note: its default is 1 / sqrt(D), and D is N, which is known only at run time");
}

// The same with an operator of one's own, over operands q: f32[3, 4] and k: f32[M].
std::string problems_with(const std::string& op, const std::string& node) {
  static SourceMap sources;
  OpSet set;
  Diagnostics diagnostics;
  const std::string ops = "ops:\n- {op: own, doc: d, source: s, kind: composite, types: {T: any}, " + op + "}";
  load_ops(sources.add("ops.yaml", ops), set, diagnostics);
  const std::string graph = "graph: g\ndims: {M: 1..8}\ninputs: {q: 'f32[3, 4]', k: 'f32[M]'}\nnodes:\n- " + node +
                            "\noutputs: [y]\n";
  auto module = load_graph(sources.add("graph.yaml", graph), set, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.text(false));
  Diagnostics problems;
  infer(std::move(*module), set, problems);
  REQUIRE(problems.all().size() == 1);
  const Diagnostic& problem = problems.all()[0];
  return problem.message + (problem.notes.empty() ? "" : "\n" + problem.notes[0].second);
}

TEST_CASE("specifications that do not hold at a node") {
  const std::string expansion = ", expansion: [{op: own, in: x, out: out}]";
  CHECK(problems_with("operands: {x: {type: T, shape: '[..., 3]'}}, results: {out: T}" + expansion,
                      "{op: own, in: q, out: y}") ==
        "own: 'q' (f32[3, 4]) has 4 where operand 'x' takes 3, as [..., 3]");
  CHECK(problems_with("operands: {x: T}, results: {out: {type: T, shape: '[Z]'}}" + expansion,
                      "{op: own, in: q, out: y}") ==
        "own: the size of result 'out' cannot be told: no given operand says what Z is in [Z]");
  const auto with_default = [&](const std::string& type, const std::string& text) {
    return problems_with(
        "operands: {x: {type: T, shape: '[N]'}, w: {type: T, shape: '[Z]', optional: true}}, "
        "results: {out: T}, attributes: {a: {type: " +
            type + ", default: '" + text + "'}}" + expansion,
        "{op: own, in: k, out: y}");
  };
  CHECK(with_default("number", "1 / Z") ==
        "own: attribute 'a' must be given\nits default is 1 / Z, and no operand's shape says what Z is");
  CHECK(with_default("dim", "Z + 1") ==
        "own: attribute 'a' must be given\nits default, Z + 1, cannot be worked out here");
  CHECK(with_default("integer", "N + 1") ==
        "own: attribute 'a' must be given\nits default, N + 1, cannot be worked out here");
}

TEST_CASE("cycles show their path") {
  CHECK(problems("x: 'f32[4]'", "{op: add, in: [y, x], out: y}") ==
        "5: 'y' depends on itself: y -> y\n"
        "help: what one call leaves for the next is written as state, with `next`");
  CHECK(problems("x: 'f32[4]'",
                 "{op: add, in: [x, c], out: a}\n"
                 "- {op: relu, in: a, out: b}\n"
                 "- {op: relu, in: b, out: c}\n"
                 "- {op: relu, in: c, out: y}") ==
        "5: 'a' depends on itself: a -> b -> c -> a\n"
        "note: 'b' reads 'a' here\n"
        "note: 'c' reads 'b' here\n"
        "help: what one call leaves for the next is written as state, with `next`");
}

TEST_CASE("a long cycle is cut") {
  std::string nodes = "{op: add, in: [x, a19], out: a0}";
  for (int i = 1; i < 20; ++i) {
    nodes += "\n- {op: relu, in: a" + std::to_string(i - 1) + ", out: a" + std::to_string(i) + "}";
  }
  const std::string text = problems("x: 'f32[4]'", nodes + "\n- {op: relu, in: a0, out: y}");
  CHECK(text.starts_with("5: 'a0' depends on itself: a0 -> a1 -> a2 -> a3 -> a4 -> a5 -> a6 -> a7 -> a8 -> a9 -> "
                         "(10 more) -> a0\n"));
}

TEST_CASE("state keeps its type") {
  CHECK(problems_of("graph: g\n"
                    "inputs: {x: 'f32[2, 4]'}\n"
                    "state:\n"
                    "  total: {type: 'f32[4]', next: sum}\n"
                    "nodes: [{op: add, in: [x, total], out: sum}]\n"
                    "outputs: [sum]\n") ==
        "4: state 'total' (f32[4]) cannot become 'sum' (f32[2, 4])\n"
        "note: the next value of a state has the type of the state");
}

TEST_CASE("calls pass exactly the types of the function's inputs") {
  const auto call = [](const std::string& input, const std::string& node) {
    return problems_of("graph: g\ninputs: {x: '" + input +
                       "'}\n"
                       "functions:\n"
                       "  f:\n"
                       "    inputs: {a: 'f32[4]', b: 'f32[]'}\n"
                       "    nodes: [{op: sum, in: a, out: s, keepdims: true}, {op: mul, in: [s, b], out: r}]\n"
                       "    outputs: [r]\n"
                       "nodes:\n- " +
                       node + "\noutputs: [y]\n");
  };
  CHECK(call("f32[5]", "{call: f, in: [x, 1], out: y}") == "9: function 'f' takes 'a' (f32[4]), not 'x' (f32[5])");
  CHECK(call("f16[4]", "{call: f, in: [x, 1], out: y}") == "9: function 'f' takes 'a' (f32[4]), not 'x' (f16[4])");
  CHECK(call("f32[4]", "{call: f, in: [1, x], out: y}") ==
        "9: function 'f' takes 'a' (f32[4]), not 'constant_0' (f32[] = 1)");
  CHECK(call("f32[4]", "{call: f, in: [x, 1.0e+39], out: y}") ==
        "9: 1e+39 is out of the range of f32, which is -3.4028234663852886e+38 to 3.4028234663852886e+38");
  CHECK(call("f32[4]", "{call: f, in: [x, 1], out: y, repeat: 2}") ==
        "9: function 'f' cannot repeat: its output 'r' (f32[1]) is to feed its input 'a' (f32[4])\n"
        "note: with repeat, result i of one call is operand i of the next");
}

TEST_CASE("an operand that only lacks a broadcast") {
  const auto attention = [](const std::string& mask) {
    return problems_of("graph: g\n"
                       "inputs: {q: 'f32[2, 5, 4, 16]', k: 'f32[2, 7, 2, 16]', mask: '" +
                       mask + "'}\nnodes: [{op: attention, in: [q, k, k, mask], out: y}]\noutputs: [y]\n");
  };
  CHECK(attention("f32[5, 7]") ==
        "3: attention: operand 'mask' takes [B, H, S, T], but 'mask' (f32[5, 7]) has 2 axes\n"
        "help: broadcast it: {op: broadcast_to, in: mask, out: mask_everywhere, shape: [2, 4, 5, 7]}");
  CHECK(attention("f32[2, 1, 5, 7]") ==
        "3: attention: H is 4 in 'q' (f32[2, 5, 4, 16]) and 1 in 'mask' (f32[2, 1, 5, 7])\n"
        "note: operand 'q' is [B, S, H, D] and operand 'mask' is [B, H, S, T]\n"
        "help: broadcast it: {op: broadcast_to, in: mask, out: mask_everywhere, shape: [2, 4, 5, 7]}");
  CHECK(attention("f32[5, 6]") ==
        "3: attention: operand 'mask' takes [B, H, S, T], but 'mask' (f32[5, 6]) has 2 axes");
}

TEST_CASE("an operator's own conditions on sizes") {
  CHECK(problems_of("graph: g\n"
                    "inputs: {q: 'f32[1, 5, 8, 16]', k: 'f32[1, 5, 3, 16]'}\n"
                    "nodes: [{op: attention, in: [q, k, k], out: y}]\n"
                    "outputs: [y]\n") ==
        "3: attention: the number of key heads must divide the number of query heads\n"
        "note: that needs 8 <= 6, which never holds");
}

}  // namespace
}  // namespace kgen
