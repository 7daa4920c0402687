// What spells out an operator becomes that operator.
#include <doctest/doctest.h>

#include <map>
#include <utility>

#include "tests/unit/plan_fixture.hpp"
#include "tests/unit/raise_fixture.hpp"

namespace kgen {
namespace {

// ---- every operator -------------------------------------------------------------------------------------------------

bool reads(const Expansion& spelled, const std::string& name) {
  return std::any_of(spelled.nodes.begin(), spelled.nodes.end(), [&](const ExpansionNode& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const auto& input) { return input.text == name; });
  });
}

// `open`: how many axes "..." stands for.
std::string shape_text(const OperandSpec& operand, std::size_t open, std::int64_t other_width) {
  static const std::map<std::string, int> extents = {{"B", 1}, {"S", 4}, {"T", 6}, {"H", 1},  {"G", 1},  {"D", 8},
                                                     {"M", 4}, {"N", 5}, {"K", 7}, {"C", 9},  {"V", 6},  {"L", 7},
                                                     {"I", 9}, {"O", 5}, {"P", 2}, {"W", 4},  {"KD", 2}, {"KH", 1},
                                                     {"KW", 2}, {"R", 4}, {"Q", 256}, {"Y", 4}, {"X", 2}};
  if (!operand.pattern) return operand.doc.ends_with("or one.") ? "" : "4, 8";
  std::string text;
  for (const PatternAxis& axis : *operand.pattern) {
    const std::int64_t extent = axis.ellipsis       ? 3
                                : axis.name.empty() ? axis.constant
                                : axis.name == "E"  ? other_width
                                                    : extents.at(axis.name);
    for (std::size_t i = 0; i < (axis.ellipsis ? open : 1); ++i) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", extent);
    }
  }
  return text;
}

// How many axes "..." must stand for, so that a condition such as "rank(x) == 4" holds; where it asks for none,
// one, and for the last of several choices as many as the others leave.
std::size_t open_axes(const OpSpec& op, const Expansion& spelled) {
  if (op.operands.empty()) return 0;
  const std::string asked = "rank(" + op.operands[0].name + ") == ";
  const auto place = spelled.when.text.find(asked);
  const auto asks = [&](const Expansion& each) { return each.when.text.find(asked) != std::string::npos; };
  const bool others_ask = std::any_of(op.expansions.begin(), op.expansions.end(), asks);
  const std::size_t fixed = op.operands[0].pattern ? op.operands[0].pattern->size() - 1 : 0;
  if (place != std::string::npos) return std::stoul(spelled.when.text.substr(place + asked.size())) - fixed;
  return others_ask && fixed > 0 ? 5 - fixed : 1;
}

// The width E beside D = 8, so that a condition on the two holds; of the last of such choices, the same.
std::int64_t other_width(const OpSpec& op, const Expansion& spelled) {
  const auto asks = [](const Expansion& each) { return each.when.text == "E < D"; };
  if (spelled.when.text == "D < E") return 12;
  return spelled.when.empty() && std::any_of(op.expansions.begin(), op.expansions.end(), asks) ? 8 : 4;
}

// f32 where it may be, or the dtype that the spelling's condition asks for.
std::string dtype_text(const OpSpec& op, const OperandSpec& operand, const Expansion& spelled) {
  const auto types = op.types.find(operand.type);
  if (types == op.types.end()) return std::string(info(dtype_from_name(operand.type).value_or(DType::f32)).name);
  for (const DType each : types->second) {
    const std::string name(info(each).name);
    if (spelled.when.text == fmt::format("{} == {}", operand.type, name)) return name;
  }
  if (std::count(types->second.begin(), types->second.end(), DType::f32)) return "f32";
  return std::string(info(types->second.back()).name);
}

std::string attributes_text(const OpSpec& op) {
  std::string text;
  for (const AttributeSpec& each : op.attributes) {
    if (!each.required()) continue;
    // Of a list as many as the two axes of shape_text() ask for.
    const bool is_list = each.type == AttributeType::dims;
    text += fmt::format(", {}: {}", each.name, !is_list ? "3" : each.count.text == "rank(x)" ? "[1, 1]" : "[1, 1, 1, 1]");
  }
  return text;
}

// A graph of one node of the operator, over operands that one spelling of it has.
std::string graph_of(const OpSpec& op, const Expansion& spelled) {
  std::string inputs, operands;
  const std::size_t open = open_axes(op, spelled);
  for (const OperandSpec& operand : op.operands) {
    if (operand.optional && !reads(spelled, operand.name)) continue;
    const std::string dtype = dtype_text(op, operand, spelled);
    inputs +=
        fmt::format("  {}: \"{}[{}]\"\n", operand.name, dtype, shape_text(operand, open, other_width(op, spelled)));
    operands += (operands.empty() ? "" : ", ") + operand.name;
  }
  return fmt::format("inputs:\n{}nodes:\n- {{op: {}, in: [{}], out: y{}}}\noutputs: [y]\n", inputs, op.name, operands,
                     attributes_text(op));
}

// The graph with the operator spelled so, and nothing of a kernel or of other expansions.
Module spelled_graph(Rewrites& rewrites, const OpSpec& op, const Expansion& spelled) {
  OpSpec& changed = rewrites.ops.ops[rewrites.ops.op_index.at(op.name)];
  const OpSpec saved = changed;
  changed.kind = OpKind::composite;
  changed.view.reset();
  changed.expansions = {spelled};
  changed.expansions[0].when = {};
  Module module = rewrites.decomposed(graph_of(saved, spelled));
  REQUIRE_MESSAGE(!rewrites.diagnostics.has_errors(), rewrites.diagnostics.text(false));
  changed.kind = saved.kind;
  changed.view = saved.view;
  changed.expansions = saved.expansions;
  return module;
}

// ---- graphs that spell out ------------------------------------------------------------------------------------------

const std::string softmax_nodes = R"(
- {op: max, in: x, out: m, axes: [1], keepdims: true}
- {op: sub, in: [x, m], out: s}
- {op: exp, in: s, out: e}
- {op: sum, in: e, out: t, axes: [-1], keepdims: true}
- {op: div, in: [e, t], out: y}
)";

// The same with one piece of its text changed, and more of a graph behind it.
std::string softmax_graph(const std::string& from = "", const std::string& to = "",
                          const std::string& rest = "outputs: [y]\n") {
  std::string nodes = softmax_nodes;
  if (!from.empty()) nodes.replace(nodes.find(from), from.size(), to);
  return "dims: {M: 1..64}\ninputs: {x: \"f32[M, 32]\", z: \"f32[M, 32]\"}\nnodes:" + nodes + rest;
}

const std::string plain_softmax =
    "m = max(x, axes=[1], keepdims=true)\n"
    "s = sub(x, m)\n"
    "e = exp(s)\n"
    "t = sum(e, axes=[-1], keepdims=true)\n"
    "y = div(e, t)\n";

std::string gelu_graph(const std::string& root, const std::string& dtype = "f32") {
  return "inputs: {x: \"" + dtype + "[8]\"}\nnodes:\n- {op: div, in: [x, " + root + R"(], out: a}
- {op: erf, in: a, out: b}
- {op: add, in: [1, b], out: c}
- {op: mul, in: [c, x], out: d}
- {op: mul, in: [0.5, d], out: y}
outputs: [y]
)";
}

}  // namespace

// Rule: raise is the inverse of decompose. So for each way to spell each operator, with composites within spelled out
// too.
TEST_CASE("raise: every spelling of every operator becomes the operator") {
  std::size_t spellings = 0;
  Rewrites rewrites;
  for (const OpSpec& op : rewrites.ops.ops) {
    if (op.kind != OpKind::composite && op.spellings.empty())
      continue;  // what has a kernel may be another, and is not spelled so
    for (const auto* all : {&op.expansions, &op.spellings}) {
      for (const Expansion& spelled : std::vector<Expansion>(*all)) {
        if (!spelled.numbers.empty()) continue;  // its numbers have no value here
        if (op.results.size() > 1 || spelled.nodes.back().outputs.size() > 1) continue;  // one value is found at a time
        CAPTURE(op.name);
        ++spellings;
        CAPTURE(spellings);
        Module module = spelled_graph(rewrites, op, spelled);
        REQUIRE(module.main.nodes[0].op->name != op.name);
        const Module written = rewrites.inferred(graph_of(op, spelled));
        const auto is_there = [&](const Module& in) {
          return std::any_of(in.main.nodes.begin(), in.main.nodes.end(),
                             [&](const Node& node) { return node.op == written.main.nodes[0].op; });
        };
        Module raised = raise(module, rewrites.ops, Raised::everywhere);
        if (!is_there(raised)) {  // its condition may ask for another target
          module.main.target = TargetKind::cuda;
          module.main.architecture = Architecture::sm_90a;
          raised = raise(module, rewrites.ops, Raised::everywhere);
        }
        check_consistent(raised.main);
        const std::string text = text_of(raised.main);
        CAPTURE(text);
        CHECK(is_there(raised));
        if (raised.main.nodes.size() == 1) CHECK(text == text_of(written.main));
        for (const Recognition& each : raised.main.recognitions) CHECK(each.value == "y");
      }
    }
  }
  CHECK(spellings > 30);
}

TEST_CASE("raise: a softmax in its parts") {
  CHECK(raised_text(softmax_graph()) == "y = softmax(x, axis=-1)\n");
  CHECK(raised_text(softmax_graph("axes: [-1]", "axes: [1]")) == "y = softmax(x, axis=1)\n");
  CHECK(raised_text(softmax_graph("", "", "- {op: neg, in: y, out: n}\noutputs: [n, y]\n")) ==
        "y = softmax(x, axis=-1)\nn = neg(y)\n");
}

TEST_CASE("raise: what is nearly a softmax is none") {
  const auto stays = [](const std::string& from, const std::string& to, const std::string& rest = "outputs: [y]\n") {
    return raised_text(softmax_graph(from, to, rest)).find("softmax") == std::string::npos;
  };
  CHECK(stays("axes: [-1]", "axes: [0]"));
  CHECK(stays("axes: [1], keepdims: true", "axes: [0], keepdims: true"));
  CHECK(stays("op: max, in: x", "op: max, in: z"));
  CHECK(stays("op: exp, in: s", "op: exp, in: x"));
  CHECK(stays("op: max", "op: min"));
  CHECK(stays("in: [x, m]", "in: [m, x]"));
  // read, shown or named in between
  CHECK(stays("", "", "- {op: neg, in: s, out: n}\noutputs: [y, n]\n"));
  CHECK(stays("", "", "outputs: [y, e]\n"));
  CHECK(stays("", "", "outputs: [y]\nexpect_fused: [[s, y]]\n"));
  CHECK(stays("", "", "outputs: [y]\nfusion: {forbid: [[m, s]]}\n"));
  CHECK(stays("", "", "outputs: [y]\nnumerics: match_unfused\n"));
  CHECK_FALSE(stays("", "", "- {op: neg, in: y, out: n}\noutputs: [n]\nexpect_fused: [[y, n]]\n"));
}

TEST_CASE("raise: a value that a state keeps is no inner value") {
  const std::string text = raised_text(R"(
inputs: {x: "f32[8]"}
state: {seen: {type: "f32[8]", next: gate}}
nodes:
- {op: sigmoid, in: x, out: gate}
- {op: mul, in: [x, gate], out: y}
outputs: [y]
)");
  CHECK(text == "gate = sigmoid(x)\ny = mul(x, gate)\n");
}

// Rule: a node that reads a state before it is updated is not drawn together with one that reads what comes after.
TEST_CASE("raise: a state that is updated is not read by a larger node") {
  const auto gated = [](const std::string& next) {
    return raised_text("inputs: {x: \"f32[8]\"}\nstate: {s: {type: \"f32[8]\"" + next + R"(}}
nodes:
- {op: sigmoid, in: x, out: gate}
- {op: mul, in: [x, gate], out: opened}
- {op: index_update, in: [s, x], out: updated, axis: 0}
- {op: mul, in: [opened, s], out: y}
outputs: [y, updated]
)");
  };
  CHECK(gated("").find("y = swiglu(x, s)\n") != std::string::npos);
  CHECK(gated(", next: updated").find("swiglu") == std::string::npos);
}

// Rule: a number is the number that the specification says, rounded to the dtype that it has in the graph.
TEST_CASE("raise: numbers are equal up to rounding, a division by one is a product with its reciprocal") {
  CHECK(raised_text(gelu_graph("1.4142135623730951")) == "y = gelu(x)\n");
  CHECK(raised_text(gelu_graph("1.4142135")) == "y = gelu(x)\n");
  CHECK(raised_text(gelu_graph("1.4140625", "f16")) == "y = gelu(x)\n");
  CHECK(raised_text(gelu_graph("1.4140625")).find("gelu") == std::string::npos);
  CHECK(raised_text(gelu_graph("1.41")).find("gelu") == std::string::npos);
}

TEST_CASE("raise: attributes follow from the nodes") {
  const std::string nodes = R"(
inputs: {x: "f32[4, 8]", w: "f32[8]"}
nodes:
- {op: pow, in: [x, 2], out: a}
- {op: mean, in: a, out: b, axes: [1], keepdims: true}
- {op: add, in: [0.001, b], out: c}
- {op: sqrt, in: c, out: d}
- {op: div, in: [x, d], out: e}
- {op: mul, in: [w, e], out: y}
outputs: [y]
)";
  CHECK(raised_text(nodes) == "y = rms_norm(x, w, epsilon=0.001)\n");
}

// Rule: of several matches the largest. A mean that is subtracted first makes a layer_norm of what looks like an
// rms_norm; attention is more than its softmax.
TEST_CASE("raise: the largest match is taken") {
  CHECK(raised_text(R"(
inputs: {x: "f32[4, 8]", w: "f32[8]", b: "f32[8]"}
nodes:
- {op: mean, in: x, out: m, axes: [-1], keepdims: true}
- {op: sub, in: [x, m], out: c}
- {op: mul, in: [c, c], out: s}
- {op: mean, in: s, out: v, axes: [-1], keepdims: true}
- {op: add, in: [v, 1.0e-6], out: e}
- {op: rsqrt, in: e, out: r}
- {op: mul, in: [c, r], out: n}
- {op: mul, in: [n, w], out: g}
- {op: add, in: [g, b], out: y}
outputs: [y]
)") == "y = layer_norm(x, w, b, axes=[-1], epsilon=1e-06)\n");
}

namespace {

// One head of attention in matrices; `scaled` makes s from p.
std::string head_graph(const std::string& scaled, const std::string& softmax, int width = 16) {
  return fmt::format(R"(
dims: {{S: 1..64, T: 1..64}}
inputs: {{q: "f32[S, {0}]", k: "f32[T, {0}]", v: "f32[T, {0}]"}}
nodes:
- {{op: transpose, in: k, out: kt, perm: [1, 0]}}
- {{op: matmul, in: [q, kt], out: p}}
- {1}
{2}
- {{op: matmul, in: [w, v], out: y}}
outputs: [y]
)",
                     width, scaled, softmax);
}

const std::string whole_softmax = "- {op: softmax, in: s, out: w, axis: 1}";
const std::string spelled_softmax = R"(
- {op: max, in: s, out: a, axes: [1], keepdims: true}
- {op: sub, in: [s, a], out: b}
- {op: exp, in: b, out: c}
- {op: sum, in: c, out: d, axes: [1], keepdims: true}
- {op: div, in: [c, d], out: w}
)";
const std::string attention_of_one_head =
    "y_v_one = unsqueeze(v, axis=1)\n"
    "y_v = unsqueeze(y_v_one, axis=0)\n"
    "y_k_one = unsqueeze(k, axis=1)\n"
    "y_k = unsqueeze(y_k_one, axis=0)\n"
    "y_q_one = unsqueeze(q, axis=1)\n"
    "y_q = unsqueeze(y_q_one, axis=0)\n"
    "y_whole = attention(y_q, y_k, y_v, -, -, scale=0.25, causal=false)\n"
    "y = reshape(y_whole, shape=[S, 16])\n";

}  // namespace

// Rule: views at the rim that the graph does not have are undone: matrices are one head of one sequence.
TEST_CASE("raise: attention in its parts") {
  for (const std::string& softmax : {whole_softmax, spelled_softmax}) {
    CHECK(raised_text(head_graph("{op: mul, in: [p, 0.25], out: s}", softmax)) == attention_of_one_head);
    CHECK(raised_text(head_graph("{op: div, in: [p, 4], out: s}", softmax)) == attention_of_one_head);
  }
  CHECK(raised_text(head_graph("{op: mul, in: [p, 0.25], out: s}", whole_softmax, 512)).find("attention") ==
        std::string::npos);
  CHECK(raised_text(head_graph("{op: sub, in: [p, 0.25], out: s}", whole_softmax)).find("attention") ==
        std::string::npos);
}

TEST_CASE("raise: attention in its parts is computed by a kernel of attention's") {
  test::Fixture f;
  const FusedGraph fused = f.fuse_main("graph: g" + head_graph("{op: mul, in: [p, 0.25], out: s}", spelled_softmax));
  REQUIRE(fused.groups.size() == 1);
  const Node& node = fused.graph.nodes[fused.groups[0].root];
  CHECK(node.op->name == "attention");
  CHECK(node.kernel == f.ops.kernel_of(*node.op));
  REQUIRE(fused.graph.recognitions.size() == 1);
  CHECK(fused.graph.recognitions[0].nodes == 9);
}

// Heads in batches of matrices: `values` is the width of v's, `mask` makes m from s.
TEST_CASE("raise: attention of many heads in products of batches") {
  const auto text = [](int values, const std::string& mask) {
    return raised_text(fmt::format(R"(
dims: {{S: 1..64, T: 1..64}}
inputs: {{q: "f32[2, 6, S, 8]", k: "f32[2, 6, T, 8]", v: "f32[2, 6, T, {0}]", bias: "f32[2, 6, S, T]", row: "f32[T]"}}
nodes:
- {{op: mul, in: [q, 0.5], out: halved}}
- {{op: transpose, in: k, out: kt, perm: [0, 1, 3, 2]}}
- {{op: mul, in: [kt, 0.25], out: scaled}}
- {{op: matmul, in: [halved, scaled], out: s}}
- {1}
- {{op: softmax, in: m, out: w}}
- {{op: matmul, in: [w, v], out: y}}
outputs: [y]
)",
                                   values, mask));
  };
  const std::string raised = text(8, "{op: add, in: [s, bias], out: m}");
  CHECK(raised.find("y_whole = attention(y_q, y_k, y_v, bias, -, scale=0.125, causal=false)\n") != std::string::npos);
  CHECK(raised.find("matmul") == std::string::npos);
  CHECK(text(4, "{op: add, in: [s, bias], out: m}").find("attention") == std::string::npos);
  CHECK(text(8, "{op: add, in: [s, row], out: m}").find(R"(y_whole_mask = broadcast_to(row, shape=[2, 6, S, T])
y_whole = attention(y_q, y_k, y_v, y_whole_mask, -, scale=0.125, causal=false)
)") != std::string::npos);
  CHECK(text(8, "{op: sub, in: [s, bias], out: m}").find("attention") == std::string::npos);
}

// Rule: a view of an operand may be read elsewhere; it stays.
TEST_CASE("raise: views of operands that something else reads stay") {
  CHECK(raised_text(R"(
inputs: {x: "f32[4, 8]", w: "f32[8, 8]", b: "f32[8]", z: "f32[4, 8]"}
nodes:
- {op: transpose, in: w, out: t, perm: [1, 0]}
- {op: matmul, in: [x, t], out: p}
- {op: add, in: [b, p], out: y}
- {op: neg, in: t, out: u}
outputs: [y, u]
)") == "t = transpose(w, perm=[1, 0])\ny = linear(x, w, b)\nu = neg(t)\n");
  // unless all that read it are raised
  CHECK(raised_text(R"(
inputs: {x: "f32[4, 8]", w: "f32[8, 8]", b: "f32[8]", z: "f32[4, 8]"}
nodes:
- {op: transpose, in: w, out: t, perm: [1, 0]}
- {op: matmul, in: [x, t], out: p}
- {op: add, in: [b, p], out: y}
- {op: matmul, in: [z, t], out: u}
outputs: [y, u]
)") == "y = linear(x, w, b)\nu = linear(z, w, -)\n");
}

// Rule: what holds experts by token and choice is brought to a line of them, as the operator has them.
TEST_CASE("raise: experts in several axes are brought to a line") {
  const auto raised = [](const std::string& places) {
    const std::string spread = "- {op: broadcast_to, in: l, out: b, shape: [2*S, 5, 8]}\n";
    return raised_text(R"(
dims: {S: 1..64}
inputs: {x: "f32[2*S, 8]", w: "f32[3, 5, 8]", e: "i64[S, 2]"}
nodes:
- {op: reshape, in: e, out: l, shape: [2*S, 1, 1]}
)" + (places == "b" ? spread : "") + "- {op: gather, in: [w, " + places + R"(], out: c, axis: 0}
- {op: reshape, in: x, out: u, shape: [2*S, 8, 1]}
- {op: matmul, in: [c, u], out: p}
- {op: reshape, in: p, out: y, shape: [2*S, 5]}
outputs: [y]
)");
  };
  const std::string whole =
      "l = reshape(e, shape=[2*S, 1, 1])\n"
      "u = reshape(x, shape=[2*S, 8, 1])\n"
      "p_x = squeeze(u, axis=2)\n"
      "p_row = squeeze(l, axis=2)\n"
      "p_experts = squeeze(p_row, axis=1)\n"
      "p_whole = expert_linear(p_x, w, p_experts)\n"
      "p = unsqueeze(p_whole, axis=2)\n"
      "y = reshape(p, shape=[2*S, 5])\n";
  CHECK(raised("l") == whole);
  CHECK(raised("b") == whole);
}

// Rule: as ONNX has it, a group is one line; as the operator is expanded, it keeps its axes, in any order.
TEST_CASE("raise: groups of channels in lines are a group_norm") {
  const auto raised = [](const std::string& lines, const std::string& axes) {
    return raised_text(R"(
dims: {N: 1..4, H: 1..64}
inputs: {x: "f32[N, 6, H, 5]", w: "f32[6, 1, 1]", b: "f32[6]"}
nodes:
- {op: reshape, in: x, out: g, shape: )" + lines + R"(}
- {op: mean_variance, in: g, out: [m, v], axes: )" + axes + R"(, keepdims: true}
- {op: sub, in: [g, m], out: c}
- {op: add, in: [v, 0.001], out: e}
- {op: rsqrt, in: e, out: r}
- {op: mul, in: [c, r], out: n}
- {op: reshape, in: n, out: o, shape: [N, 6, H, 5]}
- {op: reshape, in: b, out: s, shape: [6, 1, 1]}
- {op: mul, in: [o, w], out: p}
- {op: add, in: [p, s], out: y}
outputs: [y]
)");
  };
  CHECK(raised("[N, 3, -1]", "[2]") ==
        "s = reshape(b, shape=[6, 1, 1])\n"
        "y_bias_1 = squeeze(s, axis=-1)\n"
        "y_bias = squeeze(y_bias_1, axis=-1)\n"
        "y_weight_1 = squeeze(w, axis=-1)\n"
        "y_weight = squeeze(y_weight_1, axis=-1)\n"
        "y = group_norm(x, y_weight, y_bias, groups=3, epsilon=0.001)\n");
  CHECK(raised("[N, 3, -1]", "[1]").find("group_norm") == std::string::npos);
  CHECK(raised("[N, 3, 10, H]", "[2]").find("group_norm") == std::string::npos);
}

TEST_CASE("raise: an expansion whose last node makes several values is not read backwards") {
  Rewrites rewrites(R"(
ops:
- op: spread
  kind: composite
  types: {T: float}
  operands: {x: T}
  results: {out: T}
  attributes: {axes: {type: dims, default: [-1]}, keepdims: {type: boolean, default: true}}
  expansion:
  - {op: mean_variance, in: x, out: [mean, out], axes: $axes, keepdims: $keepdims}
)");
  CHECK(raised_text(rewrites, R"(
inputs: {x: "f32[4, 8]"}
nodes:
- {op: mean_variance, in: x, out: [m, v], axes: [-1], keepdims: true}
outputs: [v]
)") == "m, v = mean_variance(x, axes=[-1], keepdims=true)\n");
}

// Rule: a match says every attribute that the operator must have, also from an item of a list, or there is none.
TEST_CASE("raise: an attribute that must be given") {
  const auto raised_by = [](const std::string& shape) {
    Rewrites rewrites(R"(
ops:
- op: regroup
  kind: composite
  types: {T: any}
  operands: {x: {type: T, shape: "[N, C, ...]"}}
  results: {out: {type: T, shape: "[N, C, ...]"}}
  attributes: {groups: {type: integer}}
  expansion:
  - {op: reshape, in: x, out: grouped, shape: )" + shape + R"(}
  - {op: neg, in: grouped, out: negative}
  - {op: reshape, in: negative, out: out, shape: [N, C, ...]}
)");
    return raised_text(rewrites, R"(
dims: {M: 1..64}
inputs: {x: "f32[M, 6, 5]"}
nodes:
- {op: reshape, in: x, out: g, shape: [M, 3, 2, 5]}
- {op: neg, in: g, out: n}
- {op: reshape, in: n, out: y, shape: [M, 6, 5]}
outputs: [y]
)");
  };
  CHECK(raised_by("[N, $groups, C / groups, ...]") == "y = regroup(x, groups=3)\n");
  CHECK(raised_by("[N, C / groups, groups, ...]").starts_with("g = reshape("));
}

// Rule: raising never loses. Without a kernel, what is spelled as it would be expanded stays as it is.
TEST_CASE("raise: where nothing is gained, nodes stay as they are written") {
  const std::string scaled = "- {op: reciprocal, in: t, out: r}\n- {op: mul, in: [e, r], out: y}";
  std::string wide = softmax_graph("- {op: div, in: [e, t], out: y}", scaled);
  wide.replace(wide.find("op: exp,"), 7, "op: exp_nonpositive");
  CHECK(raised_text(wide, Raised::where_it_pays).ends_with("r = reciprocal(t)\ny = mul(e, r)\n"));
  // a quotient for each element takes longer, as does any exp, and long rows are expanded otherwise
  CHECK(raised_text(softmax_graph(), Raised::where_it_pays) == "y = softmax(x, axis=-1)\n");
  wide.replace(wide.find("f32[M, 32]"), 10, "f32[M, 99999]");
  CHECK(raised_text(wide, Raised::where_it_pays) == "y = softmax(x, axis=-1)\n");
  const std::string square = "inputs: {x: \"f32[8]\"}\nnodes: [{op: mul, in: [x, x], out: y}]\noutputs: [y]\n";
  CHECK(raised_text(square, Raised::where_it_pays) == "y = mul(x, x)\n");
  CHECK(raised_text(square) == "y = square(x)\n");
}

// Rule: what only the run can tell of an operator's conditions is not asked of graphs that do not ask it.
TEST_CASE("raise: conditions must hold for all sizes, or be the graph's own") {
  const std::string ops = R"(ops:
- op: pairs
  kind: composite
  types: {T: float}
  operands: {x: {type: T, shape: "[N]"}}
  results: {out: {type: T, shape: "[N]"}}
  conditions: [{equal: [N, "N / 2 * 2"], meaning: pairs are wanted}]
  expansion:
  - {op: cos, in: x, out: turned}
  - {op: sin, in: turned, out: out}
)";
  const auto raised = [&](const std::string& extent) {
    Rewrites rewrites(ops);
    return raised_text(rewrites, "dims: {N: 1..64}\ninputs: {n: \"f32[N]\", x: \"f32[" + extent + "]\"}\nnodes:\n" +
                                     "- {op: cos, in: x, out: t}\n- {op: sin, in: t, out: y}\noutputs: [y]\n");
  };
  CHECK(raised("2 * N, 1") == "t = cos(x)\ny = sin(t)\n");
  CHECK(raised("8") == "y = pairs(x)\n");
  CHECK(raised("2 * N") == "y = pairs(x)\n");
  CHECK(raised("N") == "t = cos(x)\ny = sin(t)\n");
}

TEST_CASE("raise: in functions") {
  Rewrites rewrites;
  const Module module = raise(rewrites.inferred(R"(
functions:
  gated:
    inputs: {x: "f32[8]"}
    nodes:
    - {op: neg, in: x, out: a}
    - {op: exp, in: a, out: b}
    - {op: add, in: [1, b], out: c}
    - {op: div, in: [x, c], out: y}
    outputs: [y]
inputs: {x: "f32[8]"}
nodes: [{call: gated, in: x, out: y}]
outputs: [y]
)"),
                              rewrites.ops);
  CHECK(text_of(module.functions[0]) == "y = silu(x)\n");
}

TEST_CASE("raise: in time linear in the nodes" * doctest::timeout(60)) {
  std::string nodes = "inputs: {x: \"f32[8]\", z: \"f32[8]\"}\nnodes:\n";
  std::string last = "x";
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = fmt::format("v{}", i);
    nodes += fmt::format("- {{op: {}, in: [{}, {}], out: {}}}\n",
                         i % 3 == 0   ? "div"
                         : i % 3 == 1 ? "mul"
                                      : "add",
                         last, i % 2 == 0 ? "z" : "3", name);
    last = name;
  }
  Rewrites rewrites;
  const Module module = raise(rewrites.inferred(nodes + "outputs: [" + last + "]\n"), rewrites.ops);
  CHECK(module.main.nodes.size() == 20'000);
}

}  // namespace kgen
