// Prepared forms: where they are taken, what they share, and what is said of them.
#include "generator/pass/choose/prepare.hpp"

#include <array>

#include "generator/explain/explain.hpp"
#include "generator/pass/place/place.hpp"
#include "tests/unit/load_fixture.hpp"
#include "tests/unit/plan_fixture.hpp"

namespace kgen::test {
namespace {

// A weight from a file.
std::string weight(const std::string& name, const std::string& type) {
  return name + ": {type: \"" + type + "\", file: w.safetensors, key: " + name + "}";
}

std::string graph_of(const std::string& constants, const std::string& nodes, const std::string& outputs,
                     const std::string& inputs = "x: \"f32[M, 64]\"") {
  return "graph: g\ndims: {M: 1..512}\ninputs: {" + inputs + "}\nconstants: {" + constants + "}\nnodes:\n" + nodes +
         "outputs: [" + outputs + "]\n";
}

const std::string product = "- {op: matmul, in: [x, w], out: y}\n";

std::string maker_of(const Graph& graph, const std::string& value) {
  return graph.nodes[graph.value(value_named(graph, value)).producer].op->name;
}

// "taken: ..." or "not: ..."; what is computed at load behind it.
std::string preparation_of(const Graph& graph, const std::string& value) {
  for (const Preparation& each : graph.preparations) {
    if (each.value != value) continue;
    std::string text = (each.taken ? "taken: " : "not: ") + each.reason;
    for (const std::string& made : each.at_load) text += "; " + made;
    return text;
  }
  return "nothing";
}

std::ptrdiff_t count_of(const Graph& graph, const std::string& op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op->name == op; });
}

const std::string condition =
    "'target == cpu && constant(b) && rank(b) == 2 && K >= 1 && 10 * ((N + 15) / 16 * 16) <= 11 * N'";

// What is said of a weight that is no bf16, in front.
const std::string no_pairs =
    "'target == cpu && constant(b) && rank(b) == 2 && K >= 1 && 10 * ((N + 15) / 16 * 16) <= 11 * N && T == bf16 && "
    "stored_bits(b) == 16'";

}  // namespace

TEST_CASE("prepare: a weight is packed once, at load, and the product reads the panels") {
  Fixture f;
  const FusedGraph fused = f.fuse_main(graph_of(weight("w", "f32[64, 96]"), product, "y"));
  const Graph& graph = fused.graph;
  CHECK(f.diagnostics.text(false) == "");
  CHECK(maker_of(graph, "y") == "packed_matmul");
  CHECK(maker_of(graph, "w_panels") == "pack_columns");
  CHECK(to_text(graph.type(value_named(graph, "w_panels"))) == "f32[6, 64, 16]");
  CHECK(preparation_of(graph, "y") == "taken: " + condition + " holds: target is cpu; K is 64; N is 96; w_panels");
  CHECK(fused.groups[group_making(fused, "w_panels")].at_load);
  CHECK_FALSE(fused.groups[group_making(fused, "y")].at_load);
}

TEST_CASE("prepare: a weight of bf16 is packed in pairs, one of fewer bits stays as small as it is") {
  Fixture f;
  const Graph main = f.prepare(graph_of(weight("v", "f8e4m3[65, 96]") + ", " + weight("w", "bf16[65, 96]"),
                                        "- {op: matmul, in: [x, w], out: y}\n- {op: cast, in: v, to: bf16, out: c}\n"
                                        "- {op: matmul, in: [x, c], out: z}\n",
                                        "y, z", "x: \"bf16[M, 65]\""))
                         .main;
  CHECK(f.diagnostics.text(false) == "");
  CHECK(maker_of(main, "y") == "packed_pair_matmul");
  CHECK(maker_of(main, "w_panels") == "pack_pairs");
  CHECK(to_text(main.type(value_named(main, "w_panels"))) == "bf16[6, 33, 32]");
  CHECK(maker_of(main, "z") == "packed_matmul");
  CHECK(to_text(main.type(value_named(main, "v_panels"))) == "f8e4m3[6, 65, 16]");
}

TEST_CASE("prepare: bytes are packed in fours with their zero points; a GPU multiplies what they stand for") {
  const std::string text = graph_of(weight("w", "i8[64, 96]") + ", " + weight("z", "i8[96]"),
                                    "- {op: integer_matmul, in: [x, w, x_zero, z], out: y}\n", "y",
                                    "x: \"u8[M, 64]\", x_zero: \"u8[M, 1]\"");
  Fixture f;
  const Graph main = f.prepare(text).main;
  CHECK(f.diagnostics.text(false) == "");
  CHECK(maker_of(main, "y") == "packed_integer_matmul");
  CHECK(maker_of(main, "w_panels") == "pack_bytes");
  CHECK(to_text(main.type(value_named(main, "w_panels"))) == "i8[6, 18, 64]");
  Fixture on_gpu;
  CHECK(maker_of(on_gpu.prepare(text, TargetKind::cuda).main, "y") == "matmul");
  CHECK(on_gpu.diagnostics.text(false) == "");
}

TEST_CASE("prepare: not for a GPU, what is no constant, columns that do not fill panels, no rows") {
  const auto choice = [](const std::string& text, TargetKind target = TargetKind::cpu) {
    Fixture f;
    const Graph main = f.prepare(text, target).main;
    CHECK(f.diagnostics.text(false) == "");
    CHECK(maker_of(main, "y") == "matmul");
    return preparation_of(main, "y");
  };
  const std::string text = graph_of(weight("w", "f32[64, 96]"), product, "y");
  CHECK(choice(text, TargetKind::cuda) == "nothing");
  CHECK(choice(text, TargetKind::hip) == "nothing");
  CHECK(choice(graph_of(weight("w", "f32[64, 10]"), product, "y")) ==
        "not: " + no_pairs + " does not hold: target is cpu; K is 64; N is 10; T is f32, and " +
            condition + " does not hold: target is cpu; K is 64; N is 10");
  CHECK(
      choice(graph_of(
          "one: 1",
          "- {op: matmul, in: [x, w], out: p}\n- {op: add, in: [p, one], out: q}\n- {op: matmul, in: [q, w], out: y}\n",
          "y", R"(x: "f32[M, 64]", w: "f32[64, 64]")")) == "nothing");
  CHECK(choice(graph_of(weight("v", "f32[8, 64]") + ", " + weight("w", "f32[64, 96]"),
                        "- {op: matmul, in: [v, w], out: y}\n- {op: matmul, in: [x, w], out: z}\n", "y, z")) ==
        "nothing");
}

TEST_CASE("prepare: filters are packed; those of one tap are a matrix, and those of some groups stay as they are") {
  const auto maker = [](const std::string& filters, const std::string& attributes, const std::string& x,
                        TargetKind target = TargetKind::cpu) {
    Fixture f;
    const std::string node = "- {op: conv2d, in: [x, w], out: y" + attributes + "}\n";
    const Graph main = f.prepare(graph_of(weight("w", filters), node, "y", "x: \"" + x + "\""), target).main;
    CHECK(f.diagnostics.text(false) == "");
    return maker_of(main, "y");
  };
  const std::string x = "f32[M, 9, 9, 24]";
  CHECK(maker("f32[1, 1, 24, 10]", "", x) == "packed_matmul");
  CHECK(maker("f32[1, 1, 24, 10]", ", strides: [2, 1]", x) == "packed_conv2d");
  CHECK(maker("f32[1, 1, 24, 10]", ", pads: [0, 0, 0, 1]", x) == "packed_conv2d");
  CHECK(maker("f32[3, 3, 24, 10]", ", pads: [1, 1, 1, 1]", x) == "packed_conv2d");
  CHECK(maker("f32[3, 3, 1, 24]", ", group: 24", x) == "packed_conv2d");  // by a kernel of its own
  CHECK(maker("f32[3, 3, 12, 24]", ", group: 2", x) == "conv2d");
  CHECK(maker("f32[3, 3, 24, 3]", "", x) == "conv2d");  // a panel of zeros, nearly
  CHECK(maker("bf16[3, 3, 24, 10]", "", "bf16[M, 9, 9, 24]") == "conv2d");
  CHECK(maker("f32[3, 3, 24, 10]", "", x, TargetKind::cuda) == "conv2d");
}

TEST_CASE("prepare: on Hopper filters of one tap multiply short floats as matrices, and may come with each call") {
  const auto maker = [](const std::string& dtype, const std::string& filters, const std::string& attributes,
                        Architecture architecture = Architecture::sm_90a) {
    Fixture f;
    const std::string inputs = "x: \"" + dtype + "[M, 9, 9, 24]\", w: \"" + dtype + filters + "\"";
    const std::string node = "- {op: conv2d, in: [x, w], out: y" + attributes + "}\n";
    const std::string text =
        "graph: g\ndims: {M: 1..512}\ninputs: {" + inputs + "}\nnodes:\n" + node + "outputs: [y]\n";
    const Graph main = f.prepare(text, TargetKind::cuda, architecture).main;
    CHECK(f.diagnostics.text(false) == "");
    return maker_of(main, "y");
  };
  CHECK(maker("bf16", "[1, 1, 24, 10]", "") == "matmul");
  CHECK(maker("f16", "[1, 1, 24, 10]", ", dilations: [2, 2]") == "matmul");
  CHECK(maker("bf16", "[1, 1, 24, 10]", ", strides: [1, 2]") == "conv2d");
  CHECK(maker("bf16", "[1, 1, 24, 10]", ", pads: [0, 0, 1, 0]") == "conv2d");
  CHECK(maker("bf16", "[1, 1, 12, 10]", ", group: 2") == "conv2d");
  CHECK(maker("bf16", "[1, 3, 24, 10]", "") == "conv2d");
  CHECK(maker("f32", "[1, 1, 24, 10]", "") == "conv2d");
  CHECK(maker("bf16", "[1, 1, 24, 10]", "", Architecture::sm_80) == "conv2d");
}

TEST_CASE("prepare: filters along lines are packed as those of images of one row are") {
  const auto prepared = [](const std::string& filters, const std::string& attributes, const std::string& x,
                           TargetKind target = TargetKind::cpu) {
    Fixture f;
    const std::string node = "- {op: conv1d, in: [x, w], out: y" + attributes + "}\n";
    const Graph main = f.prepare(graph_of(weight("w", filters), node, "y", "x: \"" + x + "\""), target).main;
    CHECK(f.diagnostics.text(false) == "");
    return std::array<std::ptrdiff_t, 3>{count_of(main, "packed_matmul"), count_of(main, "packed_conv2d"),
                                         count_of(main, "conv1d")};
  };
  const std::string x = "f32[M, 50, 24]";
  CHECK(prepared("f32[1, 24, 10]", "", x) == std::array<std::ptrdiff_t, 3>{1, 0, 0});
  CHECK(prepared("f32[1, 24, 10]", ", stride: 2", x) == std::array<std::ptrdiff_t, 3>{0, 1, 0});
  CHECK(prepared("f32[1, 24, 10]", ", pads: [0, 1]", x) == std::array<std::ptrdiff_t, 3>{0, 1, 0});
  CHECK(prepared("f32[3, 24, 10]", ", stride: 2, pads: [1, 1], dilation: 2", x) ==
        std::array<std::ptrdiff_t, 3>{0, 1, 0});
  CHECK(prepared("f32[3, 1, 24]", ", group: 24", x) == std::array<std::ptrdiff_t, 3>{0, 1, 0});
  CHECK(prepared("f32[3, 12, 24]", ", group: 2", x) == std::array<std::ptrdiff_t, 3>{0, 0, 1});
  CHECK(prepared("f32[3, 24, 3]", "", x) == std::array<std::ptrdiff_t, 3>{0, 0, 1});
  CHECK(prepared("bf16[3, 24, 10]", "", "bf16[M, 50, 24]") == std::array<std::ptrdiff_t, 3>{0, 0, 1});
  CHECK(prepared("f32[3, 24, 10]", "", x, TargetKind::cuda) == std::array<std::ptrdiff_t, 3>{0, 0, 1});
}

TEST_CASE("prepare: several matrices stay as they are") {
  Fixture f;
  const Graph main = f.prepare(graph_of(weight("w", "f32[4, 64, 96]"), product, "y")).main;
  CHECK(f.diagnostics.text(false) == "");
  CHECK(maker_of(main, "y") == "matmul");
}

TEST_CASE("prepare: a user's own kernel that was chosen stays") {
  Fixture f("", R"(kernels:
- {kernel: mine::product, header: my/matmul.hpp, operator: matmul, kind: structured,
   operands: [{name: a, rank: 2, types: float}, {name: b, rank: 2, types: float}], results: [{name: c, rank: 2}]}
)");
  const Graph main = f.prepare(graph_of(weight("w", "f32[64, 96]"), product, "y")).main;
  CHECK(preparation_of(main, "y") == "not: mine::product was chosen for it");
}

TEST_CASE("prepare: a weight of several products is packed once, also through a view and in a function") {
  Fixture f;
  const Module module = f.prepare(R"(graph: g
dims: {M: 1..512}
inputs: {x: "f32[M, 64]"}
functions:
  layer:
    inputs: {h: "f32[M, 64]"}
    constants:
      w: {type: "f32[64, 64]", file: w.safetensors, key: "layers.{index}.w"}
    nodes:
    - {op: linear, in: [h, w], out: up}
    - {op: gelu, in: up, out: bent}
    - {op: linear, in: [bent, w], out: down}
    - {op: matmul, in: [down, w], out: over}
    outputs: [over]
nodes:
- {call: layer, in: x, out: y, repeat: 3}
outputs: [y]
)");
  CHECK(f.diagnostics.text(false) == "");
  const Graph& layer = module.functions[0];
  CHECK(count_of(layer, "pack_columns") == 2);  // the transpose, and w itself
  CHECK(count_of(layer, "packed_matmul") == 3);
  CHECK(preparation_of(layer, "up_product").starts_with("nothing"));
  CHECK(preparation_of(layer, "up").ends_with("; w_panels"));
  CHECK(preparation_of(layer, "down").ends_with("; w_panels"));
  CHECK(preparation_of(layer, "over").ends_with("; w_panels_2"));
}

TEST_CASE("prepare: panels keep the weight's own type, and what is computed of it rides along") {
  Fixture f;
  const std::string constants = weight("w", "bf16[96, 64]") + ", " + weight("b", "bf16[96]") + ", " +
                                weight("v", "f32[64, 32]") + ", " + weight("scale", "f32[32]");
  const FusedGraph fused = f.fuse_main(graph_of(constants,
                                                "- {op: linear, in: [x, w, b], out: h}\n"
                                                "- {op: gelu, in: h, out: y}\n"
                                                "- {op: mul, in: [v, scale], out: scaled}\n"
                                                "- {op: cast, in: x, out: wide, to: f32}\n"
                                                "- {op: matmul, in: [wide, scaled], out: z}\n",
                                                "y, z", R"(x: "bf16[M, 64]")"));
  CHECK(f.diagnostics.text(false) == "");
  const Graph& graph = fused.graph;
  CHECK(to_text(graph.type(value_named(graph, "w_panels"))) == "bf16[6, 64, 16]");
  const Node& h = graph.nodes[graph.value(value_named(graph, "h_product")).producer];
  CHECK(h.op->name == "packed_matmul");
  CHECK(graph.value(h.inputs[0]).name == "x");
  CHECK(graph.value(h.inputs[1]).name == "w_panels");
  CHECK(together(fused, "h_product", "y"));
  // A prologue at load.
  CHECK(maker_of(graph, "z") == "packed_matmul");
  CHECK(together(fused, "scaled", "scaled_panels"));
  CHECK(fused.groups[group_making(fused, "scaled")].at_load);
}

TEST_CASE("prepare: a weight of integers is converted while it is packed") {
  Fixture f;
  const std::string cast = "- {op: cast, in: q, out: w, to: f32}\n";
  const FusedGraph fused = f.fuse_main(graph_of(weight("q", "i8[64, 96]"), cast + product, "y"));
  CHECK(f.diagnostics.text(false) == "");
  CHECK(to_text(fused.graph.type(value_named(fused.graph, "q_panels"))) == "f32[6, 64, 16]");
  CHECK(maker_of(fused.graph, "y") == "packed_matmul");
  CHECK(group_making(fused, "q_panels") == group_making(fused, "w"));
  CHECK(fused.groups[group_making(fused, "w")].at_load);
}

TEST_CASE("prepare: `match_unfused` and batches go the same way") {
  Fixture f;
  const Graph main = f.prepare(graph_of(weight("w", "f16[64, 96]"), product, "y", R"(x: "f16[3, M, 64]")") +
                               "numerics: match_unfused\n")
                         .main;
  CHECK(f.diagnostics.text(false) == "");
  CHECK(maker_of(main, "y") == "packed_matmul");
  CHECK(to_text(main.type(value_named(main, "y"))) == "f16[3, M, 96]");
  CHECK(to_text(main.type(value_named(main, "w_panels"))) == "f16[6, 64, 16]");
}

TEST_CASE("prepare: what a graph spells as a packed product is not read as matmul") {
  Fixture f;
  const Graph main = f.prepare(graph_of(weight("w", "f32[64, 96]"),
                                        "- {op: pack_columns, in: w, out: p}\n"
                                        "- {op: packed_matmul, in: [x, p], out: y}\n",
                                        "y"))
                         .main;
  CHECK(f.diagnostics.text(false) == "");
  CHECK(main.recognitions.empty());
  CHECK(maker_of(main, "y") == "packed_matmul");
  Fixture gpu;
  gpu.prepare(graph_of(weight("w", "f32[64, 96]"), "- {op: pack_columns, in: w, out: y}\n", "y"), TargetKind::cuda);
  CHECK(gpu.diagnostics.text(false).find("kgen::pack_columns: its condition 'target == cpu' does not hold: target is "
                                         "cuda") != std::string::npos);
}

TEST_CASE("prepare: forms of a user's own, elementwise and of several nodes") {
  Fixture f(R"(ops:
- op: shifted_product
  kind: structured
  types: {T: float}
  operands: {a: {type: T, shape: "[M, K]"}, b: {type: T, shape: "[K, N]"}}
  results: {out: {type: T, shape: "[M, N]"}}
  kernel: kgen::matmul
  prepared:
  - when: target == gpu
    nodes: [{op: matmul, in: [a, b], out: out}]
  - when: constant(b) && extent(b, 0) > 32
    nodes:
    - {op: add, in: [b, 2], out: moved}
    - {op: matmul, in: [a, moved], out: first}
    - {op: sub, in: [first, first], out: out}
)");
  const Graph main =
      f.prepare(graph_of(weight("w", "f32[64, 10]"), "- {op: shifted_product, in: [x, w], out: y}\n", "y")).main;
  CHECK(f.diagnostics.text(false) == "");
  CHECK(maker_of(main, "y") == "sub");
  CHECK(maker_of(main, "w_moved") == "add");
  CHECK(maker_of(main, "y_first") == "matmul");
  CHECK(preparation_of(main, "y") == "taken: 'constant(b) && extent(b, 0) > 32' holds; w_moved");
}

TEST_CASE("prepare: what is computed at load is shared where operands and attributes are the same") {
  Fixture f(R"(ops:
- op: bounded
  kind: structured
  types: {T: float}
  operands: {a: {type: T, shape: "[M, K]"}, b: {type: T, shape: "[K, N]"}, c: {type: T, shape: "[N]", optional: true}}
  results: {out: {type: T, shape: "[M, N]"}}
  attributes: {by: {type: number}}
  kernel: mine::bounded
  prepared:
  - when: constant(b) && N > 40
    nodes: [{op: relu, in: c, out: d}, {op: matmul, in: [a, b], out: e}, {op: add, in: [e, d], out: out}]
  - when: constant(b)
    nodes:
    - {op: clamp, in: b, out: s, minimum: 0, maximum: $by}
    - {op: pack_columns, in: s, out: p}
    - {op: packed_matmul, in: [a, p], out: out}
)",
            R"(kernels:
- {kernel: mine::bounded, header: my/bounded.hpp, operator: bounded, kind: structured,
   operands: [{name: a, rank: 2, types: float}, {name: b, rank: 2, types: float},
              {name: c, rank: 1, types: float, optional: true}],
   results: [{name: out, rank: 2}], attributes: [{name: by, type: float}]}
)");
  const Graph main = f.prepare(graph_of(weight("w", "f32[64, 32]"),
                                        "- {op: bounded, in: [x, w], out: y, by: 2}\n"
                                        "- {op: relu, in: x, out: r}\n"
                                        "- {op: bounded, in: [r, w], out: z, by: 2}\n"
                                        "- {op: bounded, in: [x, w], out: v, by: 3}\n",
                                        "y, z, v"))
                         .main;
  CHECK(f.diagnostics.text(false) == "");
  CHECK(count_of(main, "clamp") == 2);
  CHECK(count_of(main, "pack_columns") == 2);
  CHECK(count_of(main, "packed_matmul") == 3);
  CHECK(preparation_of(main, "z").ends_with(" holds; w_s; w_s_p"));

  f.prepare(graph_of(weight("w", "f32[64, 48]"), "- {op: bounded, in: [x, w], out: y, by: 2}\n", "y"));
  const std::string text = f.diagnostics.text(false);
  CHECK(text.substr(0, text.find('\n')) ==
        "my_ops.yaml:11:18: error: a prepared form of 'bounded' needs 'c' at 'relu', but it was left out");
}

TEST_CASE("prepare: a form that makes another type is an error of the specification") {
  Fixture f(R"(ops:
- op: broken
  kind: structured
  types: {T: float}
  operands: {a: {type: T, shape: "[M, K]"}, b: {type: T, shape: "[K, N]"}}
  results: {out: {type: T, shape: "[M, N]"}}
  kernel: kgen::matmul
  prepared:
  - {when: constant(b), nodes: [{op: transpose, in: b, out: t, perm: [1, 0]}, {op: matmul, in: [a, b], out: p}, {op: unsqueeze, in: p, out: out, axis: 0}]}
)");
  f.prepare(graph_of(weight("w", "f32[64, 10]"), "- {op: broken, in: [x, w], out: y}\n", "y"));
  const std::string text = f.diagnostics.text(false);
  CHECK(
      text.substr(0, text.find('\n')) ==
      "my_ops.yaml:9:118: error: a prepared form of 'broken' makes 'out' a f32[1, M, 10], but it must be a f32[M, 10]");
  CHECK(text.find("graph.yaml:6:8: note: used here\n") != std::string::npos);
}

}  // namespace kgen::test
