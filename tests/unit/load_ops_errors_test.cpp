// Bad operators, each beside what is printed about it.
#include <doctest/doctest.h>

#include "tests/unit/load_fixture.hpp"

namespace kgen {

TEST_CASE("load, bad: keys, kinds and roles") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: add
  kind: elementwse
  operand: {a: f32}
- kind: view
- op: [a]
- 3
- op: f
  kind: view
  role: cst
)yaml"),
           R"text(ops.yaml:4:3: error: unknown key 'operand' in an operator
    4 |   operand: {a: f32}
      |   ^
note: known keys: 'op', 'doc', 'source', 'other_names', 'kind', 'role', 'types', 'operands', 'results', 'attributes', 'kernel', 'conditions', 'sizes', 'definition', 'algebra', 'view', 'contraction', 'expansion', 'prepared' and 'spellings'
help: did you mean 'operands'?
ops.yaml:3:9: error: 'kind' cannot be 'elementwse'
    3 |   kind: elementwse
      |         ^
note: the choices are 'elementwise', 'view', 'reduction', 'structured', 'opaque' and 'composite'
help: did you mean 'elementwise'?
ops.yaml:2:7: error: 'add' is of kind elementwise and needs at least one result
    2 | - op: add
      |       ^
ops.yaml:2:7: error: 'add' is of kind elementwise and needs a kernel
    2 | - op: add
      |       ^
ops.yaml:5:3: error: an operator needs the key 'op'
    5 | - kind: view
      |   ^
ops.yaml:6:7: error: 'op' must be text, not a list
    6 | - op: [a]
      |       ^
ops.yaml:7:3: error: an operator must be a mapping, not '3'
    7 | - 3
      |   ^
ops.yaml:10:9: error: 'role' cannot be 'cst'
   10 |   role: cst
      |         ^
note: the choices are 'none', 'copy' and 'cast'
help: did you mean 'cast'?
ops.yaml:8:7: error: 'f' is of kind view and needs at least one result
    8 | - op: f
      |       ^
ops.yaml:8:7: error: 'f' is of kind view and needs 'view', an operand and one result
    8 | - op: f
      |       ^
)text");
}

TEST_CASE("load, bad: a list of numbers that holds a word") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: structured
  operands: {x: f32}
  results: {out: f32}
  attributes: {scales: {type: numbers, default: [1, twice]}}
  kernel: k
)yaml"),
           R"text(ops.yaml:6:53: error: each item of 'default' must be a number, not 'twice'
    6 |   attributes: {scales: {type: numbers, default: [1, twice]}}
      |                                                     ^
)text");
}

TEST_CASE("load, bad: bounds of attributes, sizes and conditions") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: structured
  operands: {x: f32}
  results: {out: {type: f32, shape: "[M]", extents: "extent(x, i)"}}
  attributes: {scale: {type: number, count: 2, least: 0}, pads: {type: dims, least: few}}
  conditions: [{equal: M, meaning: both}]
  sizes: {9M: "1"}
  kernel: k
)yaml"),
           R"text(ops.yaml:6:45: error: 'count' is for attributes of type dims or numbers
    6 |   attributes: {scale: {type: number, count: 2, least: 0}, pads: {type: dims, least: few}}
      |                                             ^
ops.yaml:6:55: error: 'least' is for attributes of type integer, dim or dims
    6 |   attributes: {scale: {type: number, count: 2, least: 0}, pads: {type: dims, least: few}}
      |                                                       ^
ops.yaml:6:85: error: 'least' must be an integer, not 'few'
    6 | ...ype: number, count: 2, least: 0}, pads: {type: dims, least: few}}
      |                                                                ^
ops.yaml:5:13: error: 'out' has both 'shape' and 'extents'
    5 |   results: {out: {type: f32, shape: "[M]", extents: "extent(x, i)"}}
      |             ^
help: 'shape' names the axes; 'extents' is the size of each axis i of the first operand
ops.yaml:7:24: error: 'equal' must be a list, not 'M'
    7 |   conditions: [{equal: M, meaning: both}]
      |                        ^
ops.yaml:8:11: error: '9M' cannot name a size
    8 |   sizes: {9M: "1"}
      |           ^
note: a name is a letter or '_', then letters, digits or '_'
)text");
}

TEST_CASE("load, bad: what a result updates") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: structured
  operands: {cache: f32, part: {type: f32, optional: true}}
  results: {out: {type: f32, updates: cash}, other: {type: f32, updates: part}}
  kernel: k
- op: g
  kind: elementwise
  operands: {cache: f32}
  results: {out: {type: f32, updates: cache}}
  kernel: k
)yaml"),
           R"text(ops.yaml:5:39: error: 'cash' is no operand that each call of a kernel has
    5 |   results: {out: {type: f32, updates: cash}, other: {type: f32, updates: part}}
      |                                       ^
ops.yaml:5:74: error: 'part' is no operand that each call of a kernel has
    5 | ...ut: {type: f32, updates: cash}, other: {type: f32, updates: part}}
      |                                                                ^
ops.yaml:10:39: error: 'cache' is no operand that each call of a kernel has
   10 |   results: {out: {type: f32, updates: cache}}
      |                                       ^
)text");
}

TEST_CASE("load, bad: defined twice") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- {op: relu, kind: elementwise, operands: {x: f32}, results: {out: f32}, kernel: k}
- {op: relu, kind: elementwise, operands: {x: f32}, results: {out: f32}, kernel: k}
)yaml"),
           R"text(ops.yaml:3:8: error: the operator 'relu' is defined twice
    3 | - {op: relu, kind: elementwise, operands: {x: f32}, results: {out: f32}, kernel: k}
      |        ^
ops.yaml:2:8: note: it was first defined here
    2 | - {op: relu, kind: elementwise, operands: {x: f32}, results: {out: f32}, kernel: k}
      |        ^
help: give this one another name; another kernel for that operator is declared with the kernels alone
)text");
}

TEST_CASE("load, bad: types") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: composite
  types: {T: numbers, U: [f32, f31], f32: any}
  operands: {x: V, y: {type: f32, shape: "M, N"}, z: {shape: "[...,  ...]"}, x2: {type: f32, shape: "[a-b]"}}
  results: {out: $to}
  expansion: [{op: f, in: x, out: out}]
)yaml"),
           R"text(ops.yaml:4:14: error: unknown class of dtypes 'numbers'
    4 |   types: {T: numbers, U: [f32, f31], f32: any}
      |              ^
note: the classes are 'any', 'number', 'float', 'integer' and 'signed'
help: or write the dtypes: [f32, bf16]
ops.yaml:4:32: error: unknown dtype 'f31'
    4 |   types: {T: numbers, U: [f32, f31], f32: any}
      |                                ^
note: the dtypes are 'f64', 'f32', 'f16', 'bf16', 'f8e4m3', 'f8e5m2', 'f8e4m3fnuz', 'f8e5m2fnuz', 'f8e8m0', 'f4e2m1', 'i2', 'i4', 'i8', 'i16', 'i32', 'i64', 'u2', 'u4', 'u8', 'u16', 'u32', 'u64' and 'bool'
ops.yaml:4:38: error: 'f32' cannot name a type variable
    4 |   types: {T: numbers, U: [f32, f31], f32: any}
      |                                      ^
ops.yaml:5:17: error: unknown type 'V'
    5 |   operands: {x: V, y: {type: f32, shape: "M, N"}, z: {shape: "[...,  ...]"}, x2: {type: f32, shape: ...
      |                 ^
note: known types: 'f64', 'f32', 'f16', 'bf16', 'f8e4m3', 'f8e5m2', 'f8e4m3fnuz', 'f8e5m2fnuz', 'f8e8m0', 'f4e2m1', 'i2', 'i4', 'i8', 'i16', 'i32', 'i64', 'u2', 'u4', 'u8', 'u16', 'u32', 'u64' and 'bool'
help: declare it: types: {V: number}
ops.yaml:5:43: error: 'M, N' is not a shape pattern
    5 |   operands: {x: V, y: {type: f32, shape: "M, N"}, z: {shape: "[...,  ...]"}, x2: {type: f32, shape: ...
      |                                           ^
help: write names, sizes and at most one '...', such as "[..., M, 4]"
ops.yaml:5:54: error: an operand needs the key 'type'
    5 |   operands: {x: V, y: {type: f32, shape: "M, N"}, z: {shape: "[...,  ...]"}, x2: {type: f32, shape: ...
      |                                                      ^
ops.yaml:5:63: error: '[...,  ...]' is not a shape pattern
    5 | ...operands: {x: V, y: {type: f32, shape: "M, N"}, z: {shape: "[...,  ...]"}, x2: {type: f32, shape: "[...
      |                                                                ^
help: write names, sizes and at most one '...', such as "[..., M, 4]"
ops.yaml:5:102: error: '[a-b]' is not a shape pattern
    5 | ..."M, N"}, z: {shape: "[...,  ...]"}, x2: {type: f32, shape: "[a-b]"}}
      |                                                                ^
help: write names, sizes and at most one '...', such as "[..., M, 4]"
ops.yaml:6:18: error: '$to' names no attribute of type dtype
    6 |   results: {out: $to}
      |                  ^
)text");
}

TEST_CASE("load, bad: what a kind needs") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- {op: a, kind: elementwise, operands: {x: f32}}
- {op: b, kind: view, operands: {x: f32}, results: {out: f32}}
- {op: c, kind: reduction, operands: {x: f32}, results: {out: f32}, kernel: k, attributes: {axes: {type: integer}}}
- {op: d, kind: composite, operands: {x: f32}, results: {out: f32}}
- {op: e, kind: elementwise, role: cast, operands: {x: f32}, results: {out: f32}, kernel: k}
)yaml"),
           R"text(ops.yaml:2:8: error: 'a' is of kind elementwise and needs at least one result
    2 | - {op: a, kind: elementwise, operands: {x: f32}}
      |        ^
ops.yaml:2:8: error: 'a' is of kind elementwise and needs a kernel
    2 | - {op: a, kind: elementwise, operands: {x: f32}}
      |        ^
ops.yaml:3:8: error: 'b' is of kind view and needs 'view', an operand and one result
    3 | - {op: b, kind: view, operands: {x: f32}, results: {out: f32}}
      |        ^
ops.yaml:4:8: error: 'c' is of kind reduction and needs the attribute 'axes' of type dims
    4 | - {op: c, kind: reduction, operands: {x: f32}, results: {out: f32}, kernel: k, attributes: {axes: {t...
      |        ^
ops.yaml:4:8: error: 'c' is of kind reduction and needs the attribute 'keepdims' of type boolean
    4 | - {op: c, kind: reduction, operands: {x: f32}, results: {out: f32}, kernel: k, attributes: {axes: {t...
      |        ^
ops.yaml:5:8: error: 'd' is of kind composite and needs an expansion
    5 | - {op: d, kind: composite, operands: {x: f32}, results: {out: f32}}
      |        ^
ops.yaml:6:8: error: 'e' is of kind elementwise and needs the attribute 'to' for its role
    6 | - {op: e, kind: elementwise, role: cast, operands: {x: f32}, results: {out: f32}, kernel: k}
      |        ^
)text");
  CHECK_EQ(
      ops_messages(R"yaml(ops:
- op: a
  kind: elementwise
  operands: {x: f32}
  results: {out: f32}
  kernel: k
  expansion: [{op: b, in: x, out: out}]
- op: b
  kind: elementwise
  role: cast
  operands: {x: f32}
  results: {out: $to}
  attributes: {to: {type: dtype}, other: {type: boolean}}
  kernel: k
)yaml"),
      R"text(ops.yaml:2:7: error: 'a' is of kind elementwise and needs `when` in every choice of its expansion, as its kernel computes what none holds for
    2 | - op: a
      |       ^
ops.yaml:8:7: error: 'b' is of kind elementwise and needs a default for every attribute but 'to', for its role
    8 | - op: b
      |       ^
)text");
}

TEST_CASE("load, bad: attributes") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: elementwise
  operands: {x: f32}
  results: {out: f32}
  kernel: k
  attributes:
    a: {type: integr}
    b: {default: 1}
    c: {type: boolean, default: 1}
    d: {type: text, default: left, allowed: [up, down]}
    e: {type: integer, allowed: [1, 2]}
    in: {type: integer}
    x: {type: integer}
    g: 3
)yaml"),
           R"text(ops.yaml:8:15: error: 'type' cannot be 'integr'
    8 |     a: {type: integr}
      |               ^
note: the choices are 'boolean', 'integer', 'number', 'text', 'dtype', 'dim', 'dims' and 'numbers'
help: did you mean 'integer'?
ops.yaml:9:8: error: an attribute needs the key 'type'
    9 |     b: {default: 1}
      |        ^
ops.yaml:10:33: error: 'default' must be true or false, not '1'
   10 |     c: {type: boolean, default: 1}
      |                                 ^
ops.yaml:11:30: error: 'default' cannot be 'left'
   11 |     d: {type: text, default: left, allowed: [up, down]}
      |                              ^
note: the choices are 'up' and 'down'
ops.yaml:12:33: error: 'allowed' is for attributes of type text
   12 |     e: {type: integer, allowed: [1, 2]}
      |                                 ^
ops.yaml:13:5: error: 'in' is a key of every node and no attribute
   13 |     in: {type: integer}
      |     ^
ops.yaml:15:8: error: an attribute must be a mapping, not '3'
   15 |     g: 3
      |        ^
ops.yaml:4:14: error: 'x' already names an operand or an attribute
    4 |   operands: {x: f32}
      |              ^
)text");
}

TEST_CASE("load, bad: operands") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: opaque
  operands: {a: {type: f32, variadic: true}, b: f32, c: {type: f32, optional: true}, d: f32, default: f32}
  results: {out: f32}
  kernel: k
)yaml"),
           R"text(ops.yaml:4:46: error: no operand may follow a variadic one
    4 |   operands: {a: {type: f32, variadic: true}, b: f32, c: {type: f32, optional: true}, d: f32, default...
      |                                              ^
ops.yaml:4:86: error: a required operand may not follow an optional one
    4 | ...2, variadic: true}, b: f32, c: {type: f32, optional: true}, d: f32, default: f32}
      |                                                                ^
ops.yaml:4:94: error: 'default' cannot name an operand: C++ reserves the word
    4 | ...dic: true}, b: f32, c: {type: f32, optional: true}, d: f32, default: f32}
      |                                                                ^
help: write 'default_', say
)text");
}

TEST_CASE("load, bad: algebra and views") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: view
  operands: {a: f32}
  results: {out: f32}
  attributes: {axis: {type: integer}}
  algebra: {identity: {c: 0, a: zero}, absorbing: 1}
  view: {form: slice, axis: axis, begin: start, stop: axis}
- op: g
  kind: view
  operands: {a: f32}
  results: {out: f32}
  view: {form: roll}
)yaml"),
           R"text(ops.yaml:7:40: error: unknown key 'absorbing' in 'algebra'
    7 |   algebra: {identity: {c: 0, a: zero}, absorbing: 1}
      |                                        ^
note: known keys: 'commutative', 'idempotent', 'involution', 'one_element', 'moves', 'identity', 'joins', 'scales' and 'reorders'
ops.yaml:7:24: error: 'c' is no operand of 'f'
    7 |   algebra: {identity: {c: 0, a: zero}, absorbing: 1}
      |                        ^
ops.yaml:7:33: error: an identity must be a number, not 'zero'
    7 |   algebra: {identity: {c: 0, a: zero}, absorbing: 1}
      |                                 ^
ops.yaml:8:9: error: the view form 'slice' needs the key 'end'
    8 |   view: {form: slice, axis: axis, begin: start, stop: axis}
      |         ^
ops.yaml:8:9: error: the view form 'slice' needs the key 'step'
    8 |   view: {form: slice, axis: axis, begin: start, stop: axis}
      |         ^
ops.yaml:8:42: error: 'start' is no attribute of 'f'
    8 |   view: {form: slice, axis: axis, begin: start, stop: axis}
      |                                          ^
ops.yaml:8:49: error: the view form 'slice' has no parameter 'stop'
    8 |   view: {form: slice, axis: axis, begin: start, stop: axis}
      |                                                 ^
ops.yaml:13:16: error: 'form' cannot be 'roll'
   13 |   view: {form: roll}
      |                ^
note: the choices are 'permute', 'reshape', 'broadcast', 'slice', 'select', 'unsqueeze', 'squeeze', 'flip', 'concat' and 'update'
)text");
}

TEST_CASE("load, bad: other names that are no list of names") {
  const std::string op =
      "ops:\n- {op: f, kind: elementwise, operands: {x: f32}, results: {out: f32}, kernel: F, other_names: ";
  CHECK(ops_messages(op + "g}\n").starts_with("ops.yaml:2:95: error: 'other_names' must be a list, not 'g'"));
  CHECK(ops_messages(op + "[[g]]}\n")
            .starts_with("ops.yaml:2:96: error: each item of 'other_names' must be a single word, not a list"));
}

TEST_CASE("load, bad: not a list of operators") {
  CHECK_EQ(ops_messages(R"yaml(ops: {add: 1}
)yaml"),
           R"text(ops.yaml:1:6: error: 'ops' must be a list of operators, not a mapping
    1 | ops: {add: 1}
      |      ^
)text");
}

TEST_CASE("load, bad: not operators at all") {
  CHECK_EQ(ops_messages(R"yaml(kernels: []
)yaml"),
           R"text(ops.yaml:1:1: error: unknown key 'kernels' in a file of operators
    1 | kernels: []
      | ^
note: known keys: 'structs', 'ops' and 'tuning'
)text");
}

TEST_CASE("load, bad: spellings") {
  CHECK_EQ(ops_messages(R"yaml(ops:
- op: f
  kind: elementwise
  types: {T: float}
  operands: {x: T}
  results: {out: T}
  attributes: {by: {type: number}}
  kernel: own::F
  spellings:
  - numbers: {too: 1 / over}
    nodes: [{op: g, in: [x, $over], out: out}]
  - nodes: [{op: g, in: x, out: y}]
)yaml"),
           R"text(ops.yaml:10:15: error: 'too' is no operand of 'f' and no attribute of type number
   10 |   - numbers: {too: 1 / over}
      |               ^
ops.yaml:11:29: error: '$over' is no attribute of 'f'
   11 |     nodes: [{op: g, in: [x, $over], out: out}]
      |                             ^
note: known attributes: 'by'
ops.yaml:12:12: error: no node of the expansion makes 'out', a result of 'f'
   12 |   - nodes: [{op: g, in: x, out: y}]
      |            ^
)text");
}

TEST_CASE("load, bad: shared values of spellings") {
  const std::string said = ops_messages(R"yaml(ops:
- op: f
  kind: elementwise
  types: {T: float}
  operands: {x: T}
  results: {out: T}
  kernel: own::F
  spellings:
  - shared: [y, x, out]
    nodes: [{op: f, in: x, out: y}, {op: f, in: y, out: out}]
  - shared: y
    nodes: [{op: f, in: x, out: y}, {op: f, in: y, out: out}]
)yaml");
  const auto says = [&](const std::string& text) { return said.find(text) != std::string::npos; };
  CHECK(says("ops.yaml:9:17: error: 'x' is no value between the nodes of a spelling of 'f'\n"));
  CHECK(says("ops.yaml:9:20: error: 'out' is no value between the nodes of a spelling of 'f'\n"));
  CHECK_FALSE(says("'y' is no value"));
  CHECK(says("ops.yaml:11:13: error: 'shared' must be a list of names"));
}

TEST_CASE("load, bad: orders of axes") {
  const std::string said = ops_messages(R"yaml(ops:
- op: f
  kind: structured
  types: {T: float}
  operands: {x: {type: T, shape: "[N, C]", together: D}, y: {type: T, together: C}}
  results: {out: T}
  attributes: {window: {type: dims, count: rank(x)}, most: {type: dims}, size: {type: integer}}
  kernel: own::f
  algebra: {reorders: [window, most, size, frame]}
- op: g
  kind: elementwise
  operands: {x: f32}
  results: {out: f32}
  kernel: own::G
  algebra: {reorders: []}
)yaml");
  const auto says = [&](const std::string& text) { return said.find(text) != std::string::npos; };
  CHECK(says("ops.yaml:5:54: error: 'x' has no axis 'D'\n"));
  CHECK(says("error: 'y' has no axis 'C'\n"));
  CHECK(says("note: 'together' names one of the axes of its 'shape'\n"));
  CHECK(says("ops.yaml:9:32: error: 'most' is no attribute of 'f' with an item for each axis\n"));
  CHECK(says("error: 'size' is no attribute of 'f' with an item for each axis\n"));
  CHECK(says("error: 'frame' is no attribute of 'f' with an item for each axis\n"));
  CHECK(says("note: such an attribute is of type dims or numbers, and its `count` is rank(x), or a multiple of that\n"));
  CHECK(says("ops.yaml:15:23: error: 'reorders' is for structured operators\n"));
  CHECK_FALSE(says("'window' is"));
}

TEST_CASE("load, bad: axes along which nothing scales") {
  const std::string said = ops_messages(R"yaml(ops:
- op: f
  kind: structured
  types: {T: float}
  operands: {a: {type: T, shape: "[M, K]"}, b: {type: T, shape: "[K, N]"}}
  results: {out: {type: T, shape: "[M, N]"}}
  kernel: own::f
  algebra: {scales: {a: [M, K, N, L, ...], c: [K]}}
- op: g
  kind: elementwise
  operands: {x: f32}
  results: {out: f32}
  kernel: own::G
  algebra: {scales: x}
)yaml");
  const auto says = [&](const std::string& text) { return said.find(text) != std::string::npos; };
  CHECK(says("ops.yaml:8:32: error: 'f' does not scale along 'N' of 'a'\n"));
  CHECK(says("ops.yaml:8:35: error: 'f' does not scale along 'L' of 'a'\n"));
  CHECK(says("ops.yaml:8:38: error: 'f' does not scale along '...' of 'a'\n"));
  CHECK(says("note: such an axis is one of the operand, and of the only result or else of one other operand; each of the "
             "two patterns names it once\n"));
  CHECK(says("ops.yaml:8:44: error: 'c' is no operand of 'f'\n"));
  CHECK(says("'scales' must be a mapping of operands to axes, such as {a: [M, K]}"));
  CHECK_FALSE(says("along 'M'"));
  CHECK_FALSE(says("along 'K'"));
}

}  // namespace kgen
