// Bad nodes and calls, each beside what is printed about it.
#include <doctest/doctest.h>

#include "tests/unit/load_fixture.hpp"

namespace kgen {

TEST_CASE("load, bad: unknown operator") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: rlu, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:4:10: error: unknown operator 'rlu'
    4 |   - {op: rlu, in: x, out: y}
      |          ^
note: the nearest name is 'relu'
help: write the name of an operator, or add this one with --specs
)text");
}

TEST_CASE("load, bad: unknown operator, unlike any other") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: frobnicate, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:4:10: error: unknown operator 'frobnicate'
    4 |   - {op: frobnicate, in: x, out: y}
      |          ^
note: known operators: 'add', 'relu', 'cast', 'sum', 'reshape', 'slice', 'concat', 'attention' and 'mean_variance'
help: write the name of an operator, or add this one with --specs
)text");
}

TEST_CASE("load, bad: an operator by the name that another library has for it") {
  Diagnostics diagnostics;
  const SourceText source{"ops.yaml", std::string(test_operators) + R"yaml(- op: concat2
  other_names: [cat, stack]
  kind: elementwise
  operands: {x: f32}
  results: {out: f32}
  kernel: kgen::Concat2
- op: concat3
  other_names: [cat]
  kind: elementwise
  operands: {x: f32}
  results: {out: f32}
  kernel: kgen::Concat3
)yaml"};
  OpSet ops;
  load_ops(source, ops, diagnostics);
  CHECK(diagnostics.text(false) == "");
  CHECK(ops.called_elsewhere("Cat") == std::vector<std::string>{"concat2", "concat3"});
  CHECK(ops.called_elsewhere("concat2").empty());
  const SourceText graph{"graph.yaml",
                         "graph: g\ninputs: {x: f32[4]}\nnodes: [{op: STACK, in: x, out: y}]\noutputs: [y]\n"};
  CHECK_FALSE(load_graph(graph, ops, diagnostics));
  CHECK(diagnostics.text(false) == R"text(graph.yaml:3:14: error: unknown operator 'STACK'
    3 | nodes: [{op: STACK, in: x, out: y}]
      |              ^
note: what others call 'STACK' is 'concat2' here
help: write the name of an operator, or add this one with --specs
)text");
}

TEST_CASE("load, bad: wrong number of operands") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: add, in: x, out: y}
  - {op: attention, in: [x], out: z}
  - {op: concat, in: [], out: w, axis: 0}
  - {op: relu, out: v}
outputs: [y]
)yaml"),
           R"text(graph.yaml:4:19: error: 'add' takes 2 operands (a, b), not 1
    4 |   - {op: add, in: x, out: y}
      |                   ^
ops.yaml:2:7: note: it is defined here
    2 | - op: add
      |       ^
graph.yaml:5:25: error: 'attention' takes 2 to 3 operands (q, k, mask), not 1
    5 |   - {op: attention, in: [x], out: z}
      |                         ^
ops.yaml:59:7: note: it is defined here
   59 | - op: attention
      |       ^
graph.yaml:6:22: error: 'concat' takes at least 1 operand (parts), not 0
    6 |   - {op: concat, in: [], out: w, axis: 0}
      |                      ^
ops.yaml:52:7: note: it is defined here
   52 | - op: concat
      |       ^
graph.yaml:7:10: error: 'relu' takes 1 operand (x), not 0
    7 |   - {op: relu, out: v}
      |          ^
ops.yaml:11:7: note: it is defined here
   11 | - op: relu
      |       ^
)text");
}

TEST_CASE("load, bad: wrong number of results") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: mean_variance, in: x, out: m}
  - {op: relu, in: x, out: [a, b]}
outputs: [m]
)yaml"),
           R"text(graph.yaml:4:37: error: 'mean_variance' has 2 results, not 1
    4 |   - {op: mean_variance, in: x, out: m}
      |                                     ^
note: it makes 'mean' and 'variance'
graph.yaml:5:28: error: 'relu' has 1 result, not 2
    5 |   - {op: relu, in: x, out: [a, b]}
      |                            ^
note: it makes 'out'
)text");
}

TEST_CASE("load, bad: unknown attribute") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: sum, in: x, out: y, axis: 0}
  - {op: relu, in: x, out: z, slope: 0.1}
outputs: [y]
)yaml"),
           R"text(graph.yaml:4:30: error: 'sum' has no attribute 'axis'
    4 |   - {op: sum, in: x, out: y, axis: 0}
      |                              ^
note: the nearest name is 'axes'
graph.yaml:5:31: error: 'relu' has no attribute 'slope'
    5 |   - {op: relu, in: x, out: z, slope: 0.1}
      |                               ^
note: there are no attributes
)text");
}

TEST_CASE("load, bad: missing attribute") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: reshape, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:4:10: error: 'reshape' needs the attribute 'shape'
    4 |   - {op: reshape, in: x, out: y}
      |          ^
note: shape: The shape of the result.
)text");
}

TEST_CASE("load, bad: attributes of the wrong type") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims: {B: 1..4}
inputs: {x: "f32[B, 4]", n: "i64[]"}
nodes:
  - {op: sum, in: x, out: a, keepdims: yes, axes: [0, {}]}
  - {op: slice, in: x, out: b, axis: last, begin: [1], step: 0.5}
  - {op: cast, in: x, out: c, to: bfloat16}
  - {op: attention, in: [x, x], out: d, scale: "2", mode: casual}
outputs: [a]
)yaml"),
           R"text(graph.yaml:5:40: error: 'keepdims' must be true or false, not 'yes'
    5 |   - {op: sum, in: x, out: a, keepdims: yes, axes: [0, {}]}
      |                                        ^
graph.yaml:5:55: error: each item of 'axes' must be a number or an expression over dims, not a mapping
    5 |   - {op: sum, in: x, out: a, keepdims: yes, axes: [0, {}]}
      |                                                       ^
graph.yaml:6:38: error: 'axis' must be an integer, not 'last'
    6 |   - {op: slice, in: x, out: b, axis: last, begin: [1], step: 0.5}
      |                                      ^
graph.yaml:6:51: error: 'begin' must be a number or an expression over dims, not a list
    6 |   - {op: slice, in: x, out: b, axis: last, begin: [1], step: 0.5}
      |                                                   ^
graph.yaml:6:62: error: 'step' must be an integer, not '0.5'
    6 | ... - {op: slice, in: x, out: b, axis: last, begin: [1], step: 0.5}
      |                                                                ^
graph.yaml:7:35: error: unknown dtype 'bfloat16'
    7 |   - {op: cast, in: x, out: c, to: bfloat16}
      |                                   ^
note: the dtypes are 'f64', 'f32', 'f16', 'bf16', 'f8e4m3', 'f8e5m2', 'f8e4m3fnuz', 'f8e5m2fnuz', 'f8e8m0', 'f4e2m1', 'i2', 'i4', 'i8', 'i16', 'i32', 'i64', 'u2', 'u4', 'u8', 'u16', 'u32', 'u64' and 'bool'
help: write bf16
graph.yaml:8:49: error: 'scale' must be a number, not '2'
    8 |   - {op: attention, in: [x, x], out: d, scale: "2", mode: casual}
      |                                                 ^
graph.yaml:8:59: error: 'mode' cannot be 'casual'
    8 |   - {op: attention, in: [x, x], out: d, scale: "2", mode: casual}
      |                                                           ^
note: the choices are 'full' and 'causal'
help: did you mean 'causal'?
)text");
}

TEST_CASE("load, bad: undefined value") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims: {N: 1..9}
inputs: {hidden: "f32[N]"}
nodes:
  - {op: add, in: [hiden, N], out: y}
outputs: [z]
)yaml"),
           R"text(graph.yaml:5:20: error: 'hiden' is not defined
    5 |   - {op: add, in: [hiden, N], out: y}
      |                    ^
note: the nearest name is 'hidden'
graph.yaml:5:27: error: 'N' is a dim, and only values may stand here
    5 |   - {op: add, in: [hiden, N], out: y}
      |                           ^
graph.yaml:2:8: note: it is declared here
    2 | dims: {N: 1..9}
      |        ^
graph.yaml:6:11: error: 'z' is not defined
    6 | outputs: [z]
      |           ^
note: known values: 'hidden' and 'y'
)text");
}

TEST_CASE("load, bad: undefined value in a function") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
functions:
  f:
    inputs: {h: f32[4]}
    nodes:
      - {op: add, in: [h, x], out: y}
    outputs: [y]
nodes:
  - {call: f, in: x, out: z}
outputs: [z]
)yaml"),
           R"text(graph.yaml:7:27: error: 'x' is not defined
    7 |       - {op: add, in: [h, x], out: y}
      |                           ^
note: known values: 'h' and 'y'
help: a function sees no values but its own; pass others as operands
)text");
}

TEST_CASE("load, bad: redefined value") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims: {N: 1..9}
inputs: {x: "f32[N]"}
functions:
  f: {inputs: {a: "f32[N]"}, nodes: [{op: relu, in: a, out: b}], outputs: [b]}
nodes:
  - {op: relu, in: x, out: y}
  - {op: relu, in: y, out: x}
  - {op: relu, in: y, out: N}
  - {call: f, in: y, out: f}
outputs: [y]
)yaml"),
           R"text(graph.yaml:8:28: error: 'x' is defined twice
    8 |   - {op: relu, in: y, out: x}
      |                            ^
graph.yaml:3:10: note: it was first defined here
    3 | inputs: {x: "f32[N]"}
      |          ^
help: give one of the two another name
graph.yaml:9:28: error: 'N' is defined twice
    9 |   - {op: relu, in: y, out: N}
      |                            ^
graph.yaml:2:8: note: it was first defined here
    2 | dims: {N: 1..9}
      |        ^
help: give one of the two another name
graph.yaml:10:27: error: 'f' is defined twice
   10 |   - {call: f, in: y, out: f}
      |                           ^
graph.yaml:5:3: note: it was first defined here
    5 |   f: {inputs: {a: "f32[N]"}, nodes: [{op: relu, in: a, out: b}], outputs: [b]}
      |   ^
help: give one of the two another name
)text");
}

TEST_CASE("load, bad: calls") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
functions:
  first: {inputs: {a: f32[4]}, nodes: [{call: second, in: a, out: b}], outputs: [b]}
  second: {inputs: {a: f32[4]}, nodes: [{call: second, in: a, out: b}], outputs: [b]}
nodes:
  - {call: secnd, in: x, out: y}
  - {call: second, in: [x, x], out: z, repeat: 0}
  - {call: second, in: x, out: w, repeat: many}
  - {call: second, in: x, out: [u, v], times: 3}
outputs: [y]
)yaml"),
           R"text(graph.yaml:4:47: error: the function 'second' is called before it is written
    4 |   first: {inputs: {a: f32[4]}, nodes: [{call: second, in: a, out: b}], outputs: [b]}
      |                                               ^
help: move it above its caller
graph.yaml:5:48: error: the function 'second' calls itself
    5 |   second: {inputs: {a: f32[4]}, nodes: [{call: second, in: a, out: b}], outputs: [b]}
      |                                                ^
help: repeat: n calls a function n times in a row
graph.yaml:7:12: error: unknown function 'secnd'
    7 |   - {call: secnd, in: x, out: y}
      |            ^
note: the nearest name is 'second'
graph.yaml:8:48: error: 'repeat' must be from 1 to 1000000, not 0
    8 |   - {call: second, in: [x, x], out: z, repeat: 0}
      |                                                ^
graph.yaml:9:43: error: 'repeat' must be an integer, not 'many'
    9 |   - {call: second, in: x, out: w, repeat: many}
      |                                           ^
graph.yaml:10:40: error: unknown key 'times' in a call
   10 |   - {call: second, in: x, out: [u, v], times: 3}
      |                                        ^
note: known keys: 'call', 'in', 'out' and 'repeat'
graph.yaml:10:32: error: 'second' has 1 result, not 2
   10 |   - {call: second, in: x, out: [u, v], times: 3}
      |                                ^
note: it makes 'b'
graph.yaml:8:24: error: the function 'second' takes 1 operand (a), not 2
    8 |   - {call: second, in: [x, x], out: z, repeat: 0}
      |                        ^
graph.yaml:5:3: note: it is defined here
    5 |   second: {inputs: {a: f32[4]}, nodes: [{call: second, in: a, out: b}], outputs: [b]}
      |   ^
)text");
}

TEST_CASE("load, bad: repeated call with too many results") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
functions:
  f: {inputs: {a: f32[4]}, nodes: [{op: mean_variance, in: a, out: [m, v]}], outputs: [m, v]}
nodes:
  - {call: f, in: x, out: [y, z], repeat: 2}
outputs: [y]
)yaml"),
           R"text(graph.yaml:6:12: error: 'f' cannot be repeated: it has more results (2) than operands (1)
    6 |   - {call: f, in: x, out: [y, z], repeat: 2}
      |            ^
note: each result becomes the operand at its place in the next call
)text");
}

TEST_CASE("load, bad: too many calls") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
functions:
  f: {inputs: {a: f32[4]}, nodes: [{op: relu, in: a, out: b}], outputs: [b]}
  g2: {inputs: {a: f32[4]}, nodes: [{call: f, in: a, out: b, repeat: 10000}], outputs: [b]}
nodes:
  - {call: g2, in: x, out: y, repeat: 10000}
outputs: [y]
)yaml"),
           R"text(graph.yaml:5:44: error: the function 'f' is called more than 1000000 times in all
    5 |   g2: {inputs: {a: f32[4]}, nodes: [{call: f, in: a, out: b, repeat: 10000}], outputs: [b]}
      |                                            ^
)text");
}

TEST_CASE("load, bad: an operand left out") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
inputs: {x: f32[4]}
nodes:
  - {op: add, in: [x, ~], out: y}
  - {op: add, in: [x, [x]], out: z}
  - {op: relu, call: relu, in: x, out: w}
outputs: [y]
)yaml"),
           R"text(graph.yaml:6:5: error: a node needs one of the keys 'op' and 'call'
    6 |   - {op: relu, call: relu, in: x, out: w}
      |     ^
graph.yaml:4:23: error: only an optional operand may be left out
    4 |   - {op: add, in: [x, ~], out: y}
      |                       ^
graph.yaml:5:23: error: each item of 'in' must be a name, not a list
    5 |   - {op: add, in: [x, [x]], out: z}
      |                       ^
)text");
}

}  // namespace kgen
