// What may name a graph, a dim or a value, and what the messages say where it may not.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/load_fixture.hpp"

namespace kgen {

TEST_CASE("load, bad: what a state begins as") {
  CHECK_EQ(graph_messages(R"yaml(graph: g
dims: {B: 1..4}
inputs: {x: "f32[B]"}
state:
  a: {type: "f32[2]", values: [1, 2, 3]}
  b: {type: "f32[B]", values: [1]}
  c: {type: "f32[B]", file: w.safetensors, key: c}
  d: {type: "f32[2]", key: d}
  e: {type: "f32[2]", file: w.safetensors, key: "{index}"}
  f: {type: "f32[2]", file: w.safetensors, values: 1}
nodes:
  - {op: relu, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:5:31: error: 3 values for f32[2], which has 2 elements
    5 |   a: {type: "f32[2]", values: [1, 2, 3]}
      |                               ^
help: write every element in row-major order, or one number that all elements have
graph.yaml:6:14: error: the shape of a state that begins as given elements must be numbers; B is known only when the graph runs
    6 |   b: {type: "f32[B]", values: [1]}
      |              ^
help: one number, `values: 1.0`, is what all elements of any shape begin as
graph.yaml:7:14: error: the shape of a state that begins as given elements must be numbers; B is known only when the graph runs
    7 |   c: {type: "f32[B]", file: w.safetensors, key: c}
      |              ^
help: one number, `values: 1.0`, is what all elements of any shape begin as
graph.yaml:8:6: error: a state with a 'key' needs the key 'file'
    8 |   d: {type: "f32[2]", key: d}
      |      ^
graph.yaml:9:50: error: '{index}' has a meaning only in the constants and state of a function
    9 |   e: {type: "f32[2]", file: w.safetensors, key: "{index}"}
      |                                                  ^
note: there it stands for the number of the call
graph.yaml:10:6: error: a state begins as its 'values' or as what is in a 'file', not both
   10 |   f: {type: "f32[2]", file: w.safetensors, values: 1}
      |      ^
)text");
}

TEST_CASE("load, bad: names") {
  CHECK_EQ(graph_messages(R"yaml(graph: namespace
dims: {2B: 1..4}
inputs: {x: f32[4], my-input: f32[4]}
nodes:
  - {op: relu, in: x, out: float}
  - {op: relu, in: x, out: x.y}
outputs: [x]
)yaml"),
           R"text(graph.yaml:1:8: error: 'namespace' cannot name a graph: C++ reserves the word
    1 | graph: namespace
      |        ^
help: write 'namespace_', say
graph.yaml:2:8: error: '2B' cannot name a dim
    2 | dims: {2B: 1..4}
      |        ^
note: a name is a letter or '_', then letters, digits or '_'
graph.yaml:3:21: error: 'my-input' cannot name a value
    3 | inputs: {x: f32[4], my-input: f32[4]}
      |                     ^
note: a name is a letter or '_', then letters, digits or '_'
graph.yaml:5:28: error: 'float' cannot name a value: C++ reserves the word
    5 |   - {op: relu, in: x, out: float}
      |                            ^
help: write 'float_', say
graph.yaml:6:28: error: 'x.y' cannot name a value
    6 |   - {op: relu, in: x, out: x.y}
      |                            ^
note: a name is a letter or '_', then letters, digits or '_'
)text");
}

TEST_CASE("load, bad: names that headers, or the files beside a graph's, have already") {
  CHECK_EQ(graph_messages(R"yaml(graph: stubs
dims: {INT_MAX: 1..4, stub_y: 1..4}
inputs: {x: "f32[4]", M_PI: "f32[4]", _Wide: "f32[4]"}
nodes:
  - {op: relu, in: x, out: y}
outputs: [y]
)yaml"),
           R"text(graph.yaml:1:8: error: 'stubs' cannot name a graph: stubs.hpp is another file that kgen writes
    1 | graph: stubs
      |        ^
help: write 'stubs_graph', say
graph.yaml:2:8: error: 'INT_MAX' cannot name a dim: it is a macro of the headers that emitted source includes
    2 | dims: {INT_MAX: 1..4, stub_y: 1..4}
      |        ^
help: write 'INT_MAX_', say
graph.yaml:2:23: error: 'stub_y' cannot name a dim: kgen names its stubs so
    2 | dims: {INT_MAX: 1..4, stub_y: 1..4}
      |                       ^
help: give the dim another name
graph.yaml:3:23: error: 'M_PI' cannot name a value: it is a macro of the headers that emitted source includes
    3 | inputs: {x: "f32[4]", M_PI: "f32[4]", _Wide: "f32[4]"}
      |                       ^
help: write 'M_PI_', say
graph.yaml:3:39: error: '_Wide' cannot name a value: C++ leaves names that begin so to compilers
    3 | inputs: {x: "f32[4]", M_PI: "f32[4]", _Wide: "f32[4]"}
      |                                       ^
help: begin it with a letter
)text");
  for (const char* name : {"INT_MAX", "M_PI", "EOF", "SIZE_MAX", "KGEN_FN", "KGEN_ANYTHING", "__x86_64__", "_Complex",
                           "errno", "cudaStreamLegacy", "NULL", "while"}) {
    INFO(name);
    const std::string text = graph_messages(
        fmt::format("graph: g\ninputs: {{{0}: \"f32[4]\"}}\nnodes: [{{op: relu, in: {0}, out: y}}]\noutputs: [y]\n", name));
    CHECK(text.find(fmt::format("'{}' cannot name a value: ", name)) != text.npos);
  }
}

TEST_CASE("load: graphs, values and dims that are called as functions and types of the global namespace are") {
  for (const char* name : {"log", "exp", "tanh", "index", "time", "remove", "printf", "malloc", "std", "kgen", "all",
                           "clean", "install", "help", "ALL_BUILD", "main", "size_t", "I", "E", "INT", "cuda"}) {
    CHECK_EQ(graph_messages(fmt::format("graph: {0}\ndims: {{{0}: 1..4}}\ninputs: {{x: \"f32[{0}]\"}}\n"
                                        "nodes: [{{op: relu, in: x, out: y}}]\noutputs: [y]\n",
                                        name)),
             "");
  }
}

}  // namespace kgen
