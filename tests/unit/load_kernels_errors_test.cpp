// Bad expansions and kernels, and operators that do not fit them, each beside what is printed about it.
#include <doctest/doctest.h>

#include "tests/unit/load_fixture.hpp"

namespace kgen {

TEST_CASE("load, bad: expansions") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: composite
  operands: {a: f32}
  results: {out: f32}
  attributes: {axis: {type: integer}}
  expansion:
  - {op: g, in: b, out: c, axis: $axes}
  - {op: g, in: [c, $scale, 1.5], out: a, other: [0, $axis]}
  - {in: c, out: c}
)yaml"),
           R"text(ops.yaml:8:17: error: 'b' is neither an operand of 'f' nor made by an earlier node
    8 |   - {op: g, in: b, out: c, axis: $axes}
      |                 ^
note: known values so far: 'a'
ops.yaml:8:34: error: '$axes' is no attribute of 'f'
    8 |   - {op: g, in: b, out: c, axis: $axes}
      |                                  ^
note: the nearest name is 'axis'
ops.yaml:9:21: error: '$scale' is no attribute of 'f'
    9 |   - {op: g, in: [c, $scale, 1.5], out: a, other: [0, $axis]}
      |                     ^
note: known attributes: 'axis'
ops.yaml:9:40: error: 'a' is already defined in this expansion
    9 |   - {op: g, in: [c, $scale, 1.5], out: a, other: [0, $axis]}
      |                                        ^
ops.yaml:10:5: error: a node needs the key 'op'
   10 |   - {in: c, out: c}
      |     ^
ops.yaml:10:18: error: 'c' is already defined in this expansion
   10 |   - {in: c, out: c}
      |                  ^
ops.yaml:8:3: error: no node of the expansion makes 'out', a result of 'f'
    8 |   - {op: g, in: b, out: c, axis: $axes}
      |   ^
)text");
}

TEST_CASE("load, bad: choices of expansions") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: composite
  operands: {a: f32}
  results: {out: f32}
  expansion:
  - nodes: [{op: f, in: a, out: out}]
  - when: extent(a, 0) < 4
    nodes: [{op: f, in: a, out: out}]
)yaml"),
           R"text(ops.yaml:7:5: error: a choice without 'when' leaves the later ones without effect
    7 |   - nodes: [{op: f, in: a, out: out}]
      |     ^
ops.yaml:8:11: error: the last choice of an expansion must not have a condition
    8 |   - when: extent(a, 0) < 4
      |           ^
help: add a choice without 'when' that is right for all other cases
)text");
}

TEST_CASE("load, bad: keys and choices") {
  CHECK_EQ(ops_messages(R"yaml(ops: []
)yaml",
                        R"yaml(kernels:
- {kernel: k, header: k.hpp, operator: add, kind: elementwize, operand: []}
- {header: k.hpp}
- {kernel: k2, header: k.hpp, operator: add, kind: opaque, operands: {a: 1}, results: [out],
   attributes: [{name: a}], parameters: [{name: T, values: [1, x], default: 1}]}
- {kernel: k3, header: k.hpp, operator: add, kind: opaque,
   operands: [{name: a, rank: two, types: numbers, accepts: sinks, element: f31, optional: 1}], results: []}
)yaml"),
           R"text(kernels.yaml:2:64: error: unknown key 'operand' in a kernel
    2 | ...kernel: k, header: k.hpp, operator: add, kind: elementwize, operand: []}
      |                                                                ^
note: known keys: 'kernel', 'header', 'at', 'operator', 'when', 'kind', 'operands', 'results', 'attributes', 'parameters' and 'doc'
help: did you mean 'operands'?
kernels.yaml:2:51: error: 'kind' cannot be 'elementwize'
    2 | - {kernel: k, header: k.hpp, operator: add, kind: elementwize, operand: []}
      |                                                   ^
note: the choices are 'elementwise', 'view', 'reduction', 'structured' and 'opaque'
help: did you mean 'elementwise'?
kernels.yaml:3:3: error: a kernel needs the key 'kernel'
    3 | - {header: k.hpp}
      |   ^
kernels.yaml:4:70: error: 'operands' must be a list of mappings, not a mapping
    4 | ...: k2, header: k.hpp, operator: add, kind: opaque, operands: {a: 1}, results: [out],
      |                                                                ^
kernels.yaml:4:88: error: each item of 'results' must be a mapping, not 'out'
    4 | ...p, operator: add, kind: opaque, operands: {a: 1}, results: [out],
      |                                                                ^
kernels.yaml:5:17: error: an attribute needs the key 'type'
    5 |    attributes: [{name: a}], parameters: [{name: T, values: [1, x], default: 1}]}
      |                 ^
kernels.yaml:5:64: error: a value must be an integer, not 'x'
    5 | ...attributes: [{name: a}], parameters: [{name: T, values: [1, x], default: 1}]}
      |                                                                ^
kernels.yaml:7:31: error: 'rank' must be an integer, not 'two'
    7 |    operands: [{name: a, rank: two, types: numbers, accepts: sinks, element: f31, optional: 1}], resu...
      |                               ^
kernels.yaml:7:43: error: unknown class of dtypes 'numbers'
    7 |    operands: [{name: a, rank: two, types: numbers, accepts: sinks, element: f31, optional: 1}], resu...
      |                                           ^
note: the classes are 'any', 'number', 'float', 'integer' and 'signed'
help: or write the dtypes: [f32, bf16]
kernels.yaml:7:61: error: 'accepts' cannot be 'sinks'
    7 |    operands: [{name: a, rank: two, types: numbers, accepts: sinks, element: f31, optional: 1}], resu...
      |                                                             ^
note: the choices are 'view', 'source', 'sink' and 'line'
help: did you mean 'sink'?
kernels.yaml:7:77: error: unknown dtype 'f31'
    7 | ...ame: a, rank: two, types: numbers, accepts: sinks, element: f31, optional: 1}], results: []}
      |                                                                ^
note: the dtypes are 'f64', 'f32', 'f16', 'bf16', 'f8e4m3', 'f8e5m2', 'f8e4m3fnuz', 'f8e5m2fnuz', 'f8e8m0', 'f4e2m1', 'i2', 'i4', 'i8', 'i16', 'i32', 'i64', 'u2', 'u4', 'u8', 'u16', 'u32', 'u64' and 'bool'
kernels.yaml:7:92: error: 'optional' must be true or false, not '1'
    7 | ...wo, types: numbers, accepts: sinks, element: f31, optional: 1}], results: []}
      |                                                                ^
)text");
}

TEST_CASE("load, bad: declared twice") {
  CHECK_EQ(ops_messages(R"yaml(ops: []
)yaml",
                        R"yaml(kernels:
- {kernel: k, header: k.hpp, operator: add, kind: opaque, operands: [], results: []}
- {kernel: k, header: k.hpp, operator: add, kind: opaque, operands: [], results: []}
)yaml"),
           R"text(kernels.yaml:3:12: error: the kernel 'k' is declared twice
    3 | - {kernel: k, header: k.hpp, operator: add, kind: opaque, operands: [], results: []}
      |            ^
kernels.yaml:2:12: note: it was first declared here
    2 | - {kernel: k, header: k.hpp, operator: add, kind: opaque, operands: [], results: []}
      |            ^
)text");
}

TEST_CASE("load, bad: kernels that are not there") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- {op: f, kind: opaque, operands: {a: f32}, results: {out: f32}, kernel: kgen::fn}
)yaml",
                        R"yaml(kernels:
- {kernel: kgen::fm, header: k.hpp, operator: g, kind: opaque, operands: [{name: a}], results: [{name: out}]}
)yaml"),
           R"text(ops.yaml:2:8: error: 'f' names the unknown kernel 'kgen::fn'
    2 | - {op: f, kind: opaque, operands: {a: f32}, results: {out: f32}, kernel: kgen::fn}
      |        ^
note: the nearest name is 'kgen::fm'
kernels.yaml:2:12: error: 'kgen::fm' implements the unknown operator 'g'
    2 | - {kernel: kgen::fm, header: k.hpp, operator: g, kind: opaque, operands: [{name: a}], results: [{nam...
      |            ^
note: known operators: 'f'
)text");
}

TEST_CASE("kernels: what would be no C++ where it is emitted") {
  CHECK_EQ(ops_messages(std::string(test_operators), R"yaml(kernels:
- {kernel: "f(); g", header: "a\nb.hpp", operator: add, kind: opaque, operands: [], results: [],
   attributes: [{name: mode, type: "M; }", values: [full, causal]}]}
)yaml"),
           R"text(kernels.yaml:2:13: error: #include cannot name the header 'a
b.hpp'
    2 | - {kernel: "f(); g", header: "a\nb.hpp", operator: add, kind: opaque, operands: [], results: [],
      |             ^
help: give the file a name without quotes, backslashes and line ends
kernels.yaml:2:13: error: 'f(); g' cannot name a kernel
    2 | - {kernel: "f(); g", header: "a\nb.hpp", operator: add, kind: opaque, operands: [], results: [],
      |             ^
help: write the qualified C++ name of a struct or a function, such as kgen::matmul
kernels.yaml:3:17: error: 'M; }' is no enumeration of words
    3 |    attributes: [{name: mode, type: "M; }", values: [full, causal]}]}
      |                 ^
)text");
}

TEST_CASE("kernels: parameters whose values have no names, or cannot say how an operand lies") {
  CHECK_EQ(ops_messages(std::string(test_operators), R"yaml(kernels:
- {kernel: k, header: k.hpp, operator: add, kind: opaque, operands: [{name: a, rank: 2}], results: [],
   parameters: [
    {name: P, values: [0, 1], names: ["my::none", "2x"], default: 2},
    {name: Q, values: [0, 1, 2], default: 0, layout: b},
    {name: R, values: [0, 1], default: 0, layout: a}]}
)yaml"),
           R"text(kernels.yaml:4:5: error: the default of 'P' is none of its values
    4 |     {name: P, values: [0, 1], names: ["my::none", "2x"], default: 2},
      |     ^
help: name one of them
kernels.yaml:4:5: error: the names of 'P' are no C++ names, one for each value
    4 |     {name: P, values: [0, 1], names: ["my::none", "2x"], default: 2},
      |     ^
help: write qualified names of constants, such as kgen::row_major, or leave `names` out
kernels.yaml:5:5: error: 'b' is no matrix among the operands of 'k'
    5 |     {name: Q, values: [0, 1, 2], default: 0, layout: b},
      |     ^
help: name an operand of two axes or more
kernels.yaml:6:5: error: 'R' cannot say how an operand lies
    6 |     {name: R, values: [0, 1], default: 0, layout: a}]}
      |     ^
help: give it the values 0 (not known, its default), 1 (row-major) and 2 (column-major)
)text");
}

TEST_CASE("load, bad: operators and kernels that disagree") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: structured
  types: {T: float}
  operands: {a: {type: T, shape: "[M, N, K]"}, b: {type: T, optional: true}}
  results: {out: {type: T, shape: "[..., M, N]"}, other: T}
  attributes: {scale: {type: number}, axes: {type: dims}, mode: {type: boolean}}
  kernel: k
)yaml",
                        R"yaml(kernels:
- kernel: k
  header: k.hpp
  operator: f
  kind: structured
  operands: [{name: a, rank: 2, types: [f32, f64, f16]}, {name: b}, {name: c}]
  results: [{name: out, rank: 1}]
  attributes: [{name: scale, type: bool}, {name: axes, type: int}, {name: bias, type: float}]
)yaml"),
           R"text(ops.yaml:2:7: error: 'f' has no operand 'c', but its kernel 'k' has
    2 | - op: f
      |       ^
kernels.yaml:6:69: note: it is declared here
    6 | ...ds: [{name: a, rank: 2, types: [f32, f64, f16]}, {name: b}, {name: c}]
      |                                                                ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:6:51: error: the kernel 'k' of 'f' has no result 'other'
    6 |   results: {out: {type: T, shape: "[..., M, N]"}, other: T}
      |                                                   ^
kernels.yaml:2:11: note: it is declared here
    2 | - kernel: k
      |           ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:5:14: error: 'a' may be 'bf16', 'f8e4m3', 'f8e5m2', 'f8e4m3fnuz' and 'f8e5m2fnuz', which the kernel 'k' does not take
    5 |   operands: {a: {type: T, shape: "[M, N, K]"}, b: {type: T, optional: true}}
      |              ^
kernels.yaml:6:14: note: it is declared here
    6 |   operands: [{name: a, rank: 2, types: [f32, f64, f16]}, {name: b}, {name: c}]
      |              ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:5:14: error: 'a' has 3 axes, but 2 in the kernel 'k'
    5 |   operands: {a: {type: T, shape: "[M, N, K]"}, b: {type: T, optional: true}}
      |              ^
kernels.yaml:6:14: note: it is declared here
    6 |   operands: [{name: a, rank: 2, types: [f32, f64, f16]}, {name: b}, {name: c}]
      |              ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:5:48: error: 'b' is optional for 'f', but not for 'k'
    5 |   operands: {a: {type: T, shape: "[M, N, K]"}, b: {type: T, optional: true}}
      |                                                ^
kernels.yaml:6:58: note: it is declared here
    6 |   operands: [{name: a, rank: 2, types: [f32, f64, f16]}, {name: b}, {name: c}]
      |                                                          ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:6:13: error: 'out' has 2 or more axes, but 1 in the kernel 'k'
    6 |   results: {out: {type: T, shape: "[..., M, N]"}, other: T}
      |             ^
kernels.yaml:7:13: note: it is declared here
    7 |   results: [{name: out, rank: 1}]
      |             ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:7:16: error: the attribute 'scale' cannot be passed to the kernel 'k' as bool
    7 |   attributes: {scale: {type: number}, axes: {type: dims}, mode: {type: boolean}}
      |                ^
kernels.yaml:8:16: note: it is declared here
    8 |   attributes: [{name: scale, type: bool}, {name: axes, type: int}, {name: bias, type: float}]
      |                ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:7:39: error: the attribute 'axes' cannot be passed to the kernel 'k' as int
    7 |   attributes: {scale: {type: number}, axes: {type: dims}, mode: {type: boolean}}
      |                                       ^
kernels.yaml:8:43: note: it is declared here
    8 |   attributes: [{name: scale, type: bool}, {name: axes, type: int}, {name: bias, type: float}]
      |                                           ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:2:7: error: 'f' has no attribute 'bias', but its kernel 'k' has
    2 | - op: f
      |       ^
kernels.yaml:8:68: note: it is declared here
    8 | ...butes: [{name: scale, type: bool}, {name: axes, type: int}, {name: bias, type: float}]
      |                                                                ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:7:59: error: the kernel 'k' of 'f' has no attribute 'mode'
    7 |   attributes: {scale: {type: number}, axes: {type: dims}, mode: {type: boolean}}
      |                                                           ^
kernels.yaml:2:11: note: it is declared here
    2 | - kernel: k
      |           ^
help: correct the operator or its kernel, whichever is wrong
)text");
}

TEST_CASE("load, bad: lists and words that a kernel does not take") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: opaque
  operands: {x: f32}
  results: {out: f32}
  attributes:
    pads: {type: dims, count: 4}
    any: {type: dims}
    mode: {type: text, allowed: [open, shut]}
    free: {type: text}
  kernel: k
)yaml",
                        R"yaml(kernels:
- kernel: k
  header: k.hpp
  operator: f
  kind: opaque
  operands: [{name: x}]
  results: [{name: out}]
  attributes:
  - {name: pads, type: "kgen::Index<2>"}
  - {name: any, type: "kgen::Index"}
  - {name: mode, type: Edge, values: [open, closed]}
  - {name: free, type: Edge, values: [open, closed]}
)yaml"),
           R"text(ops.yaml:7:5: error: the attribute 'pads' cannot be passed to the kernel 'k' as kgen::Index<2>
    7 |     pads: {type: dims, count: 4}
      |     ^
kernels.yaml:9:5: note: it is declared here
    9 |   - {name: pads, type: "kgen::Index<2>"}
      |     ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:9:5: error: the attribute 'mode' cannot be passed to the kernel 'k' as Edge, which is one of 'open' and 'closed'
    9 |     mode: {type: text, allowed: [open, shut]}
      |     ^
kernels.yaml:11:5: note: it is declared here
   11 |   - {name: mode, type: Edge, values: [open, closed]}
      |     ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:10:5: error: the attribute 'free' cannot be passed to the kernel 'k' as Edge, which is one of 'open' and 'closed'
   10 |     free: {type: text}
      |     ^
kernels.yaml:12:5: note: it is declared here
   12 |   - {name: free, type: Edge, values: [open, closed]}
      |     ^
help: correct the operator or its kernel, whichever is wrong
)text");
}

TEST_CASE("load, bad: operands under other names, a kernel of another kind") {
  const auto messages = [](const std::string& kernel) {
    return ops_messages(R"yaml(ops:
- {op: f, kind: structured, operands: {a: f32, b: f32}, results: {x: f32, y: f32}, kernel: k}
)yaml",
                        "kernels:\n- {kernel: k, header: k.hpp, " + kernel + "}\n");
  };
  CHECK_EQ(messages("operator: f, kind: structured, operands: [{name: a}, {name: c}], results: [{name: y}, {name: x}]"), R"text(ops.yaml:2:48: error: operand 2 of 'f' is called 'b', but 'c' in its kernel 'k'
    2 | - {op: f, kind: structured, operands: {a: f32, b: f32}, results: {x: f32, y: f32}, kernel: k}
      |                                                ^
kernels.yaml:2:83: note: it is declared here
    2 | ...k.hpp, operator: f, kind: structured, operands: [{name: a}, {name: c}], results: [{name: y}, {name: ...
      |                                                                ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:2:67: error: result 1 of 'f' is called 'x', but 'y' in its kernel 'k'
    2 | ... f, kind: structured, operands: {a: f32, b: f32}, results: {x: f32, y: f32}, kernel: k}
      |                                                                ^
kernels.yaml:2:105: note: it is declared here
    2 | ...nd: structured, operands: [{name: a}, {name: c}], results: [{name: y}, {name: x}]}
      |                                                                ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:2:75: error: result 2 of 'f' is called 'y', but 'x' in its kernel 'k'
    2 | ...: structured, operands: {a: f32, b: f32}, results: {x: f32, y: f32}, kernel: k}
      |                                                                ^
kernels.yaml:2:116: note: it is declared here
    2 | ...red, operands: [{name: a}, {name: c}], results: [{name: y}, {name: x}]}
      |                                                                ^
help: correct the operator or its kernel, whichever is wrong
)text");
  CHECK_EQ(messages("operator: f, kind: elementwise"), R"text(ops.yaml:2:8: error: 'f' is structured, but its kernel 'k' is elementwise
    2 | - {op: f, kind: structured, operands: {a: f32, b: f32}, results: {x: f32, y: f32}, kernel: k}
      |        ^
kernels.yaml:2:12: note: it is declared here
    2 | - {kernel: k, header: k.hpp, operator: f, kind: elementwise}
      |            ^
help: correct the operator or its kernel, whichever is wrong
)text");
}

TEST_CASE("load, bad: several of an operand, and sinks for them") {
  const std::string messages = ops_messages("ops: []\n", R"yaml(kernels:
- kernel: k
  header: k.hpp
  operator: f
  kind: structured
  operands: [{name: a, several: 2}, {name: b, several: 3}, {name: c, several: 17}]
  results: [{name: x, accepts: view}, {name: y, accepts: sink, several: 2}, {name: z, accepts: sink, joint: 17}]
)yaml");
  for (const char* said :
       {"kernels.yaml:6:37: error: 'b' may be given several times, and 'a' too\n",
        "error: 'several' must be a number of operands from 1 to 16, not ",
        "error: 'x' is no sink that each of several 'a' could have\n", "error: 'y' is a result, and no operand\n",
        "error: 'joint' must be a number of results from 1 to 16, not "}) {
    CHECK_MESSAGE(messages.find(said) != std::string::npos, messages);
  }
}

TEST_CASE("load, bad: expansions into what is not there, or not so") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: composite
  operands: {a: f32}
  results: {out: f32}
  expansion:
  - {op: g, in: a, out: b}
  - {op: h, in: [a, b], out: [out, c], step: 2}
- op: h
  kind: composite
  operands: {x: f32}
  results: {out: f32}
  attributes: {axis: {type: integer}}
  expansion:
  - {op: f, in: x, out: out}
)yaml",
                        R"yaml(kernels: []
)yaml"),
           R"text(ops.yaml:7:10: error: unknown operator 'g'
    7 |   - {op: g, in: a, out: b}
      |          ^
note: known operators: 'f' and 'h'
ops.yaml:8:10: error: wrong number of operands for 'h': 2 instead of 1
    8 |   - {op: h, in: [a, b], out: [out, c], step: 2}
      |          ^
ops.yaml:9:7: note: it is defined here
    9 | - op: h
      |       ^
ops.yaml:8:10: error: wrong number of results for 'h': 2 instead of 1
    8 |   - {op: h, in: [a, b], out: [out, c], step: 2}
      |          ^
ops.yaml:9:7: note: it is defined here
    9 | - op: h
      |       ^
ops.yaml:8:10: error: 'h' has no attribute 'step'
    8 |   - {op: h, in: [a, b], out: [out, c], step: 2}
      |          ^
ops.yaml:9:7: note: it is defined here
    9 | - op: h
      |       ^
ops.yaml:8:10: error: 'h' needs the attribute 'axis'
    8 |   - {op: h, in: [a, b], out: [out, c], step: 2}
      |          ^
ops.yaml:13:16: note: it is declared here
   13 |   attributes: {axis: {type: integer}}
      |                ^
ops.yaml:15:10: error: the expansion of 'f' contains 'f' itself
   15 |   - {op: f, in: x, out: out}
      |          ^
ops.yaml:2:7: note: it is defined here
    2 | - op: f
      |       ^
)text");
}

}  // namespace kgen
