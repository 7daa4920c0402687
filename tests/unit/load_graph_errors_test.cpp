// Bad graphs, other than bad nodes, each beside what is printed about it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/load_fixture.hpp"

namespace kgen {

TEST_CASE("load, bad: unknown key") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
input: {x: f32[4]}
nodes:
  - {op: relu, in: 1.0, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:2:1: error: unknown key 'input' in a graph
    2 | input: {x: f32[4]}
      | ^
note: known keys: 'graph', 'doc', 'dims', 'inputs', 'constants', 'state', 'functions', 'nodes', 'outputs', 'fusion', 'expect_fused' and 'numerics'
help: did you mean 'inputs'?
)text");
}

TEST_CASE("load, bad: duplicate key") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: relu, in: x, out: y, in: x}
outputs: [y]
)yaml"),
           R"text(graph.yaml:4:31: error: duplicate key 'in'
    4 |   - {op: relu, in: x, out: y, in: x}
      |                               ^
graph.yaml:4:16: note: it was first written here
    4 |   - {op: relu, in: x, out: y, in: x}
      |                ^
help: remove one of the two
)text");
}

TEST_CASE("load, bad: missing keys") {
  CHECK_EQ(graph_messages(R"yaml(inputs: {x: f32[4]}
nodes:
  - {op: relu, in: x}
  - {in: x, out: z}
outputs: [x]
)yaml"),
           R"text(graph.yaml:1:1: error: a graph needs the key 'graph'
    1 | inputs: {x: f32[4]}
      | ^
graph.yaml:3:5: error: a node needs the key 'out'
    3 |   - {op: relu, in: x}
      |     ^
graph.yaml:4:5: error: a node needs one of the keys 'op' and 'call'
    4 |   - {in: x, out: z}
      |     ^
)text");
}

TEST_CASE("load, bad: unknown dim") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims: {Batch: 1..9}
inputs:
  x: f32[batch, 4]
  y: f32[Batch, 2*(4+Q)]
nodes:
  - {op: add, in: [x, y], out: z}
outputs: [z]
)yaml"),
           R"text(graph.yaml:4:10: error: unknown dim 'batch'
    4 |   x: f32[batch, 4]
      |          ^
note: the nearest name is 'Batch'
help: declare it: dims: {batch: 1..1024}
graph.yaml:5:22: error: unknown dim 'Q'
    5 |   y: f32[Batch, 2*(4+Q)]
      |                      ^
note: known dims: 'Batch'
help: declare it: dims: {Q: 1..1024}
)text");
}

TEST_CASE("load, bad: types that are none") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs:
  a: float32[4]
  a2: flt[4]
  b: f32
  c: f32[4
  d: f32[4, ]
  e: f32[2 3]
  f: f32[1 - 4]
  g: f32[4/0]
  h: f32[99999999999999999999]
  i: [f32, 4]
  j: f32[4] x
  k: f32[(4]
  l: f32[3d]
  m: ""
nodes:
  - {op: relu, in: 1, out: z}
outputs: [z]
)yaml"),
           R"text(graph.yaml:3:6: error: unknown dtype 'float32'
    3 |   a: float32[4]
      |      ^
note: the dtypes are 'f64', 'f32', 'f16', 'bf16', 'f8e4m3', 'f8e5m2', 'f8e4m3fnuz', 'f8e5m2fnuz', 'f8e8m0', 'f4e2m1', 'i2', 'i4', 'i8', 'i16', 'i32', 'i64', 'u2', 'u4', 'u8', 'u16', 'u32', 'u64' and 'bool'
help: write f32
graph.yaml:4:7: error: unknown dtype 'flt'
    4 |   a2: flt[4]
      |       ^
note: the dtypes are 'f64', 'f32', 'f16', 'bf16', 'f8e4m3', 'f8e5m2', 'f8e4m3fnuz', 'f8e5m2fnuz', 'f8e8m0', 'f4e2m1', 'i2', 'i4', 'i8', 'i16', 'i32', 'i64', 'u2', 'u4', 'u8', 'u16', 'u32', 'u64' and 'bool'
graph.yaml:5:9: error: expected '[' and a shape after the dtype 'f32'
    5 |   b: f32
      |         ^
help: write f32[] for a scalar
graph.yaml:6:11: error: expected ',' or ']', not the end
    6 |   c: f32[4
      |           ^
graph.yaml:7:13: error: expected a number, a dim or '(', not ']'
    7 |   d: f32[4, ]
      |             ^
graph.yaml:8:12: error: expected ',' or ']', not '3'
    8 |   e: f32[2 3]
      |            ^
graph.yaml:9:10: error: the extent -3 is negative
    9 |   f: f32[1 - 4]
      |          ^
graph.yaml:10:11: error: division by 0, which is not positive
   10 |   g: f32[4/0]
      |           ^
graph.yaml:11:10: error: the size is too large: more than 2^53
   11 |   h: f32[99999999999999999999]
      |          ^
graph.yaml:12:6: error: a type must be written as dtype[dim, dim...], not a list
   12 |   i: [f32, 4]
      |      ^
help: such as f32[B, 64]
graph.yaml:13:13: error: expected the end of the type, not 'x'
   13 |   j: f32[4] x
      |             ^
graph.yaml:14:12: error: expected ')', not ']'
   14 |   k: f32[(4]
      |            ^
graph.yaml:15:10: error: '3d' is neither a number nor a dim
   15 |   l: f32[3d]
      |          ^
graph.yaml:16:7: error: expected a dtype, not the end
   16 |   m: ""
      |       ^
)text");
}

TEST_CASE("load, bad: ranges of dims") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims:
  A: 8..1
  B: -1..4
  C: 0..9223372036854775807
  D: many
  E: 1...4
  F: {range: 1..2, form: x}
  G: {from: x}
  H: [1, 2]
inputs: {x: f32[4]}
nodes:
  - {op: relu, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:3:6: error: the range 8..1 is empty
    3 |   A: 8..1
      |      ^
help: write a range such as 1..8192, or one number
graph.yaml:4:6: error: the range -1..4 begins below 0
    4 |   B: -1..4
      |      ^
help: write a range such as 1..8192, or one number
graph.yaml:5:6: error: the range 0..9223372036854775807 exceeds 2147483647
    5 |   C: 0..9223372036854775807
      |      ^
help: write a range such as 1..8192, or one number
graph.yaml:6:6: error: 'many' is not the range of a dim
    6 |   D: many
      |      ^
help: write a range such as 1..8192, or one number
graph.yaml:7:6: error: '1...4' is not the range of a dim
    7 |   E: 1...4
      |      ^
help: write a range such as 1..8192, or one number
graph.yaml:8:20: error: unknown key 'form' in a dim
    8 |   F: {range: 1..2, form: x}
      |                    ^
note: known keys: 'range', 'from' and 'doc'
help: did you mean 'from'?
graph.yaml:10:6: error: the range of a dim must be numbers, not a list
   10 |   H: [1, 2]
      |      ^
help: write a range such as 1..8192, or one number
graph.yaml:9:13: error: the dim 'G' cannot be read from 'x': it is not an input of type i64[], i64[n], i32[] or i32[n], where n is a number, but f32[4]
    9 |   G: {from: x}
      |             ^
graph.yaml:11:10: note: it is defined here
   11 | inputs: {x: f32[4]}
      |          ^
)text");
}

TEST_CASE("load, bad: elements that dims are read from") {
  const auto messages = [](const std::string& from) {
    const std::string all = graph_messages("graph: g\ndims: {A: {from: \"" + from + R"yaml("}}
inputs: {x: f32[4], sizes: i64[3], position: i64[], far: {type: "i64[2]", strided: true}}
nodes:
  - {op: relu, in: x, out: y}
  - {op: slice, in: x, out: z, axis: 0, begin: 0, end: A}
outputs: [y, z]
)yaml");
    return all.substr(0, all.find('\n'));
  };
  const std::string rejected = "graph.yaml:2:19: error: the dim 'A' cannot be read from ";
  CHECK_EQ(messages("sizes[3]"), rejected + "'sizes[3]': it has 3 elements, counted from 0");
  CHECK_EQ(messages("sizes"), rejected + "'sizes': it has 3 elements");
  CHECK_EQ(messages("position[0]"), rejected + "'position[0]': it is a scalar");
  CHECK_EQ(messages("far[0]"), rejected + "'far[0]': it may have any strides");
  CHECK_EQ(messages("y[0]"), rejected + "'y[0]': it is not an input, but a result");
  CHECK_EQ(messages("size[0]"), "graph.yaml:2:19: error: 'size' is not defined");
  const std::string unclear = "graph.yaml:2:19: error: '";
  for (const std::string from : {"sizes[-1]", "sizes[", "sizes[]", "sizes[x]", "sizes[0", "sizes[0]]", "sizes[99999999999999999999]"})
    CHECK_EQ(messages(from), unclear + from + "' does not say which element of an input the dim is");
}

TEST_CASE("load, bad: where dims come from") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims:
  A: {range: 0..9, from: a}
  B: {range: 0..9, from: x}
  C: {range: 0..9, from: positon}
  D: 1..8
inputs: {a: "i64[]", x: "f32[D*D]", position: "i64[]"}
nodes:
  - {op: relu, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:4:26: error: the dim 'B' cannot be read from 'x': it is not an input of type i64[], i64[n], i32[] or i32[n], where n is a number, but f32[D*D]
    4 |   B: {range: 0..9, from: x}
      |                          ^
graph.yaml:7:22: note: it is defined here
    7 | inputs: {a: "i64[]", x: "f32[D*D]", position: "i64[]"}
      |                      ^
graph.yaml:5:26: error: 'positon' is not defined
    5 |   C: {range: 0..9, from: positon}
      |                          ^
note: the nearest name is 'position'
graph.yaml:6:3: error: no input says what the dim 'D' is
    6 |   D: 1..8
      |   ^
note: it would be known if an input had the extent D by itself, or a multiple such as 32*D
help: or read it from an input of type i64[]: D: {range: 1..8, from: the_input}
)text");
}

TEST_CASE("load, bad: sizes that expand to sums of too many products") {
  const auto messages = [](const std::string& type) {
    return graph_messages(fmt::format("graph: g\ndims: {{A: 1..2, B: 1..2, C: 1..2, D: 1..2, E: 1..2, F: 1..2}}\n"
                                      "inputs: {{a: \"f32[A, B, C, D, E, F]\", x: \"{}\"}}\n"
                                      "nodes: [{{op: relu, in: a, out: y}}, {{op: relu, in: x, out: z}}]\n"
                                      "outputs: [y, z]\n",
                                      type));
  };
  const std::string sum = "(A+B+C+D+E+F)";
  CHECK_EQ(messages(fmt::format("f32[{0}*{0}*{0}]", sum)), "");
  const std::string product = messages(fmt::format("f32[{0}*{0}*{0}*{0}*{0}*{0}*{0}*{0}]", sum));
  CHECK(product.find("error: the size would be a sum of more than 256 products") != product.npos);
  const std::string elements = messages(fmt::format("f32[{0}*{0}, {0}*{0}]", sum));
  CHECK(elements.find("error: the size would be a sum of more than 256 products") != elements.npos);
}

TEST_CASE("load, bad: unused") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims: {A: 1..4}
inputs: {x: f32[4], mask: f32[4]}
constants: {eps: 1.0e-5}
state: {s: f32[4]}
nodes:
  - {op: relu, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:3:21: warning: the input 'mask' is never used
    3 | inputs: {x: f32[4], mask: f32[4]}
      |                     ^
help: remove it, or use it in a node
graph.yaml:4:13: warning: the constant 'eps' is never used
    4 | constants: {eps: 1.0e-5}
      |             ^
help: remove it, or use it in a node
graph.yaml:5:9: warning: the state 's' is never used
    5 | state: {s: f32[4]}
      |         ^
help: remove it, or use it in a node
graph.yaml:2:8: warning: the dim 'A' is never used
    2 | dims: {A: 1..4}
      |        ^
)text");
}

TEST_CASE("load, bad: fusion of what is not there") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: relu, in: x, out: y}
  - {op: relu, in: y, out: z}
outputs: [z]
fusion: {forbid: [[y, zz]], force: [[x, y], [y]], pin: [stub y], keep: [y]}
expect_fused: [y, z]
)yaml"),
           R"text(graph.yaml:7:66: error: unknown key 'keep' in 'fusion'
    7 | ...n: {forbid: [[y, zz]], force: [[x, y], [y]], pin: [stub y], keep: [y]}
      |                                                                ^
note: known keys: 'forbid', 'force' and 'pin'
graph.yaml:7:23: error: 'zz' is not defined
    7 | fusion: {forbid: [[y, zz]], force: [[x, y], [y]], pin: [stub y], keep: [y]}
      |                       ^
note: the nearest name is 'z'
graph.yaml:7:38: error: no node makes 'x', so it cannot be fused
    7 | fusion: {forbid: [[y, zz]], force: [[x, y], [y]], pin: [stub y], keep: [y]}
      |                                      ^
graph.yaml:2:10: note: it is defined here
    2 | inputs: {x: f32[4]}
      |          ^
graph.yaml:7:45: error: a group of 'force' must name at least two values
    7 | fusion: {forbid: [[y, zz]], force: [[x, y], [y]], pin: [stub y], keep: [y]}
      |                                             ^
graph.yaml:7:57: error: 'stub y' cannot name a stub
    7 | fusion: {forbid: [[y, zz]], force: [[x, y], [y]], pin: [stub y], keep: [y]}
      |                                                         ^
note: a name is a letter or '_', then letters, digits or '_'
graph.yaml:8:16: error: each group of 'expect_fused' must be a list of values, not 'y'
    8 | expect_fused: [y, z]
      |                ^
help: write [[a, b]] for one group of two values
graph.yaml:8:19: error: each group of 'expect_fused' must be a list of values, not 'z'
    8 | expect_fused: [y, z]
      |                   ^
help: write [[a, b]] for one group of two values
)text");
}

TEST_CASE("load, bad: outputs missing, nodes missing") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
)yaml"),
           R"text(graph.yaml:1:8: error: a graph must have nodes
    1 | graph: g
      |        ^
help: such as: nodes: [{op: add, in: [a, b], out: c}]
graph.yaml:1:8: error: a graph must have outputs
    1 | graph: g
      |        ^
help: name the values that it returns, such as: outputs: [y]
)text");
}

TEST_CASE("load, bad: outputs empty, nodes empty") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes: []
outputs:
)yaml"),
           R"text(graph.yaml:3:8: error: a graph must have nodes
    3 | nodes: []
      |        ^
help: such as: nodes: [{op: add, in: [a, b], out: c}]
graph.yaml:4:1: error: a graph must have outputs
    4 | outputs:
      | ^
help: name the values that it returns, such as: outputs: [y]
)text");
}

TEST_CASE("load, bad: outputs") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: relu, in: x, out: y}
  - relu
outputs: [y, y, [x]]
)yaml"),
           R"text(graph.yaml:5:5: error: a node must be a mapping, such as {op: add, in: [a, b], out: c}, not 'relu'
    5 |   - relu
      |     ^
graph.yaml:6:14: error: 'y' is listed twice among the outputs
    6 | outputs: [y, y, [x]]
      |              ^
graph.yaml:6:17: error: the name of a value must be a word, not a list
    6 | outputs: [y, y, [x]]
      |                 ^
)text");
}

TEST_CASE("load, bad: constants") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims: {B: 1..4}
inputs: {x: "f32[B]"}
constants:
  a: one
  b: {type: f32[2], values: [1, 2, 3]}
  c: {type: i8[2], values: [1, 300]}
  d: {type: f32[B], values: 1}
  e: {type: f32[2]}
  f: {type: f32[2], file: w.safetensors}
  g: {type: f32[2], file: w.safetensors, key: "w.{index}"}
  h: {type: f32[2, 2], values: [[1, 2], [3]]}
  i: {type: bool[2], values: [true, 2]}
nodes:
  - {op: relu, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:5:6: error: a constant must be a number, not 'one'
    5 |   a: one
      |      ^
graph.yaml:6:29: error: 3 values for f32[2], which has 2 elements
    6 |   b: {type: f32[2], values: [1, 2, 3]}
      |                             ^
help: write every element in row-major order, or one number that all elements have
graph.yaml:7:32: error: 300 is no value of type i8
    7 |   c: {type: i8[2], values: [1, 300]}
      |                                ^
note: it holds whole numbers from -128 to 127
graph.yaml:8:13: error: the shape of a constant must be numbers; B is known only when the graph runs
    8 |   d: {type: f32[B], values: 1}
      |             ^
help: a constant of fewer axes is broadcast where it is used
graph.yaml:9:6: error: a constant needs 'values', or 'file' and 'key'
    9 |   e: {type: f32[2]}
      |      ^
graph.yaml:10:6: error: a constant from a file needs the key 'key'
   10 |   f: {type: f32[2], file: w.safetensors}
      |      ^
graph.yaml:11:48: error: '{index}' has a meaning only in the constants and state of a function
   11 |   g: {type: f32[2], file: w.safetensors, key: "w.{index}"}
      |                                                ^
note: there it stands for the number of the call
graph.yaml:12:41: error: a list of 1 does not fit axis 1 of f32[2, 2]
   12 |   h: {type: f32[2, 2], values: [[1, 2], [3]]}
      |                                         ^
graph.yaml:13:37: error: 2 is no value of type bool
   13 |   i: {type: bool[2], values: [true, 2]}
      |                                     ^
note: it holds whole numbers from 0 to 1
)text");
}

TEST_CASE("load, bad: which tensor each call reads") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: "f32[2]"}
functions:
  f:
    inputs: {x: "f32[2]"}
    constants:
      a: {type: f32[2], file: w.safetensors, key: "w.{index-1}"}
      b: {type: f32[2], file: w.safetensors, key: "w.{index"}
      c: {type: f32[2], file: w.safetensors, key: "w.{index+2}"}
    nodes: [{op: add, in: [x, a], out: s}, {op: add, in: [s, b], out: t}, {op: add, in: [t, c], out: y}]
    outputs: [y]
nodes: [{call: f, in: x, out: y}]
outputs: [y]
)yaml"),
           R"text(graph.yaml:7:52: error: 'w.{index-1}' does not say which tensor each call reads
    7 |       a: {type: f32[2], file: w.safetensors, key: "w.{index-1}"}
      |                                                    ^
help: write {index} for the number of the call, counted from 0, or {index+1} for the one behind it
graph.yaml:8:52: error: 'w.{index' does not say which tensor each call reads
    8 |       b: {type: f32[2], file: w.safetensors, key: "w.{index"}
      |                                                    ^
help: write {index} for the number of the call, counted from 0, or {index+1} for the one behind it
)text");
}

TEST_CASE("load, bad: constants of 64 bits") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: "i64[2]"}
constants:
  a: {type: "i64[2]", values: [9223372036854775807, 9223372036854775808]}
  b: {type: "u64[2]", values: [18446744073709551615, 18446744073709551616]}
nodes: [{op: add, in: [x, a], out: y}]
outputs: [y]
)yaml"),
           R"text(graph.yaml:4:53: error: 9223372036854775808 is no value of type i64
    4 |   a: {type: "i64[2]", values: [9223372036854775807, 9223372036854775808]}
      |                                                     ^
note: it holds whole numbers from -9223372036854775808 to 9223372036854775807
graph.yaml:5:54: error: 18446744073709551616 is no value of type u64
    5 |   b: {type: "u64[2]", values: [18446744073709551615, 18446744073709551616]}
      |                                                      ^
note: it holds whole numbers from 0 to 18446744073709551615
)text");
}

TEST_CASE("load, bad: state") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
state: {s: {type: f32[4], next: yy}, t: {next: y}}
nodes:
  - {op: add, in: [x, s], out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:3:41: error: a state needs the key 'type'
    3 | state: {s: {type: f32[4], next: yy}, t: {next: y}}
      |                                         ^
graph.yaml:3:33: error: 'yy' is not defined
    3 | state: {s: {type: f32[4], next: yy}, t: {next: y}}
      |                                 ^
note: the nearest name is 'y'
)text");
}

TEST_CASE("load, bad: numerics") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
numerics: exact
inputs: {x: f32[4]}
nodes:
  - {op: relu, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:2:11: error: 'numerics' cannot be 'exact'
    2 | numerics: exact
      |           ^
note: the choices are 'fast', 'match_unfused' and 'tf32'
)text");
}

TEST_CASE("load, bad: not a mapping") {
  CHECK_EQ(graph_messages(R"yaml(- graph
)yaml"),
           R"text(graph.yaml:1:1: error: a graph must be a mapping, not a list
    1 | - graph
      | ^
help: begin with: graph: name
)text");
}

TEST_CASE("load, bad: integers of too many digits") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims: {M: 1..9223372036854775808}
inputs: {x: f32[4, M]}
nodes:
  - {op: slice, in: x, out: y, axis: -9223372036854775809}
outputs: [y]
)yaml"),
           R"text(graph.yaml:2:11: error: the range 1..9223372036854775808 exceeds 2147483647
    2 | dims: {M: 1..9223372036854775808}
      |           ^
help: write a range such as 1..8192, or one number
graph.yaml:5:38: error: 'axis' is too long for an integer: '-9223372036854775809'
    5 |   - {op: slice, in: x, out: y, axis: -9223372036854775809}
      |                                      ^
note: integers are from -9223372036854775808 to 9223372036854775807
)text");
}

TEST_CASE("load, bad: sections of the wrong kind") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims: [B]
inputs: [x]
functions: [f]
nodes: {op: relu}
outputs: {y: [x]}
)yaml"),
           R"text(graph.yaml:2:7: error: 'dims' must be a mapping from names to ranges, such as {M: 1..8192}, not a list
    2 | dims: [B]
      |       ^
graph.yaml:4:12: error: 'functions' must be a mapping from names to functions, not a list
    4 | functions: [f]
      |            ^
graph.yaml:3:9: error: 'inputs' must be a mapping, such as {x: f32[64]}, not a list
    3 | inputs: [x]
      |         ^
graph.yaml:5:8: error: 'nodes' must be a list, such as [{op: add, in: [a, b], out: c}], not a mapping
    5 | nodes: {op: relu}
      |        ^
graph.yaml:6:14: error: the name of a value must be a word, not a list
    6 | outputs: {y: [x]}
      |              ^
)text");
}

}  // namespace kgen
