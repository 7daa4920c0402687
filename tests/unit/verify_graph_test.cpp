// Each case takes a graph that is right after some pass, breaks one fact, and demands that the verifier names it.
#include "generator/pass/verify/verify_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/pass/verify/verify_groups.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

constexpr GraphFacts loaded = {};
constexpr GraphFacts inferred = {.inferred = true};
constexpr GraphFacts chosen = {.inferred = true, .kernels_chosen = true};
constexpr GraphFacts decomposed = {.inferred = true, .kernels_chosen = true, .decomposed = true};
constexpr GraphFacts materialised = {
    .inferred = true, .kernels_chosen = true, .decomposed = true, .materialised = true};

std::string problems(const Module& module, const GraphFacts& facts) {
  Diagnostics diagnostics;
  verify_module(module, facts, "a pass", diagnostics);
  std::string text;
  for (const Diagnostic& each : diagnostics.all()) text += each.message + "\n";
  return text;
}

const char* const shapes_and_kinds = R"(graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 8]", w: "f32[8, 16]", b: "bf16[8]"}
constants: {two: {type: "f32[2]", values: [1, 2]}}
state: {cache: {type: "f32[16, 8]", next: all}}
functions:
  twice:
    inputs: {v: "f32[M, 8]"}
    nodes: [{op: add, in: [v, v], out: u}]
    outputs: [u]
nodes:
  - {op: matmul, in: [x, w], out: product}
  - {op: add, in: [product, 1], out: sum}
  - {op: softmax, in: sum, out: p, axis: 1}
  - {op: max, in: p, out: top, axes: [1]}
  - {op: transpose, in: x, out: xt, perm: [1, 0]}
  - {op: reshape, in: x, out: flat, shape: [8*M]}
  - {op: slice, in: x, out: left, axis: 1, begin: 0, end: 4}
  - {op: concat, in: [left, left], out: both, axis: 1}
  - {op: cast, in: b, out: wide, to: f32}
  - {op: index_update, in: [cache, wide_row], out: all, axis: 0, begin: 3}
  - {op: unsqueeze, in: wide, out: wide_row, axis: 0}
  - {call: twice, in: x, out: called, repeat: 2}
outputs: [p, top, xt, flat, both, called]
)";

// A module after the passes up to some, and what to look for in it.
struct Sabotage {
  Fixture f;
  Module module;
  GraphFacts facts;

  Sabotage(const std::string& text, const GraphFacts& wanted) : facts(wanted) {
    auto read = load_graph(f.sources.add("graph.yaml", text), f.ops, f.diagnostics);
    REQUIRE_MESSAGE(read, f.diagnostics.text(false));
    module = std::move(*read);
    if (facts.inferred) module = infer(std::move(module), f.ops, f.diagnostics);
    if (facts.kernels_chosen) module = choose_kernels(std::move(module), f.ops, f.diagnostics);
    if (facts.decomposed) module = decompose(std::move(module), f.ops, f.diagnostics);
    if (facts.materialised) {
      module = materialise(simplify(std::move(module), f.ops, f.diagnostics), f.ops, f.diagnostics);
    }
    REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    CHECK(problems(module, facts) == "");
  }

  Graph& main() { return module.main; }
  ValueId id(const std::string& name) { return value_named(main(), name); }
  Value& value(const std::string& name) { return main().value(id(name)); }
  Node& node(const std::string& name) { return main().nodes[value(name).producer]; }
  template <class Kind>
  Kind& kind(const std::string& name) {
    return std::get<Kind>(node(name).kind);
  }
  Shape& shape(const std::string& name) { return value(name).type->shape; }
  const OpSpec* op(const std::string& name) { return f.ops.find(name); }

  void found(const std::string& expected) {
    const std::string text = problems(module, facts);
    CHECK_MESSAGE(text.find("internal error in the plan of 'g', after a pass: " + expected + "\n") != text.npos,
                  "expected: " << expected << "\nfound: " << text);
  }
};

// `break_it` is done to a fresh module.
template <class Break>
void broken(const GraphFacts& facts, const std::string& expected, const Break& break_it) {
  CAPTURE(expected);
  Sabotage s(shapes_and_kinds, facts);
  break_it(s);
  s.found(expected);
}

}  // namespace

TEST_CASE("verify_graph: ids lead where they should, both ways") {
  broken(loaded, "'g' has a node that reads what does not exist", [](Sabotage& s) { s.node("sum").inputs[0] = 10000; });
  broken(loaded, "'g' has a node that makes what does not exist", [](Sabotage& s) { s.node("sum").outputs = {10000}; });
  broken(loaded, "'g' has a node without results", [](Sabotage& s) { s.node("sum").outputs.clear(); });
  broken(loaded, "'sum' is not made by its producer", [](Sabotage& s) { s.value("sum").producer = 0; });
  broken(loaded, "'sum' is not made by its producer", [](Sabotage& s) { s.value("sum").index = 1; });
  broken(loaded, "'sum' has a producer that does not exist", [](Sabotage& s) { s.value("sum").producer = no_id; });
  broken(loaded, "'x' is no result, but has a producer", [](Sabotage& s) { s.value("x").producer = 0; });
  broken(loaded, "'x' is not where its kind and index say", [](Sabotage& s) { s.value("x").index = 1; });
  broken(loaded, "'two' is not where its kind and index say", [](Sabotage& s) {
    s.main().constants[0].value = s.id("two") + 1;
    s.main().constants[1].value = s.id("two");
  });
  broken(loaded, "'g' has an output that does not exist", [](Sabotage& s) { s.main().outputs[0] = no_id; });
  broken(loaded, "'g' has a state whose next value does not exist",
         [](Sabotage& s) { s.main().states[0].next = 10000; });
  broken(loaded, "'g' has more or fewer outputs than names for them", [](Sabotage& s) { s.main().outputs.pop_back(); });
  broken(loaded, "'sum' is made twice", [](Sabotage& s) { s.main().nodes.push_back(s.node("sum")); });
}

TEST_CASE("verify_graph: a node is one that its operator makes") {
  broken(loaded, "'sum' is made by no operator and no call", [](Sabotage& s) { s.node("sum").op = nullptr; });
  broken(loaded, "'sum' has more operands than its operator takes",
         [](Sabotage& s) { s.node("sum").inputs.push_back(0); });
  broken(loaded, "'sum' leaves out an operand that its operator needs",
         [](Sabotage& s) { s.node("sum").inputs.pop_back(); });
  broken(loaded, "'sum' leaves out an operand that its operator needs",
         [](Sabotage& s) { s.node("sum").inputs[1] = no_id; });
  broken(loaded, "'sum' has more or fewer results than its operator makes", [](Sabotage& s) {
    s.node("sum").op = s.op("softmax_statistics");
    s.node("sum").inputs.pop_back();
  });
  broken(inferred, "'sum' is not of the kind of its operator", [](Sabotage& s) { s.node("sum").kind = Opaque{}; });
  broken(inferred, "'sum' is not of the kind of its operator",
         [](Sabotage& s) { s.node("sum").kind = std::monostate{}; });
  broken(inferred, "'top' has other attributes than its operator",
         [](Sabotage& s) { s.node("top").attributes.pop_back(); });
  broken(inferred, "'sum' is implied, but is no cast", [](Sabotage& s) { s.node("sum").implied = true; });
  // What materialise once did to updates of what is no state.
  broken(decomposed, "'left' is not the view that its operator makes",
         [](Sabotage& s) { s.node("left").op = s.op("select"); });
}

TEST_CASE("verify_graph: kernels are there when they are chosen, and fit") {
  broken(inferred, "'sum' has a kernel before they are chosen",
         [](Sabotage& s) { s.node("sum").kernel = s.f.ops.kernel_of(*s.op("add")); });
  broken(chosen, "'sum' has no kernel", [](Sabotage& s) { s.node("sum").kernel = nullptr; });
  broken(chosen, "'sum' has a kernel of another operator",
         [](Sabotage& s) { s.node("sum").kernel = s.f.ops.kernel_of(*s.op("mul")); });
  broken(chosen, "'sum' is not of the kind of its kernel", [](Sabotage& s) { s.node("sum").kind = Structured{}; });
  broken(chosen, "'flat' is a view, and has a kernel",
         [](Sabotage& s) { s.node("flat").kernel = s.node("sum").kernel; });
  broken(chosen, "'p' is a composite, and no pass expands it now", [](Sabotage& s) { s.facts = decomposed; });
}

TEST_CASE("verify_graph: operands are made before they are read, and have types") {
  broken(inferred, "'product' is read before it is made", [](Sabotage& s) {
    const NodeId product = s.value("product").producer, sum = s.value("sum").producer;
    std::swap(s.main().nodes[product], s.main().nodes[sum]);
    std::swap(s.value("product").producer, s.value("sum").producer);
  });
  broken(inferred, "'sum' has no type", [](Sabotage& s) { s.value("sum").type.reset(); });
  broken(inferred, "'two' has more or fewer elements than its type", [](Sabotage& s) { s.shape("two") = {3}; });
  broken(inferred, "'all' is the next value of a state of another type",
         [](Sabotage& s) { s.value("cache").type->dtype = DType::bf16; });
}

TEST_CASE("verify_graph: types follow from those of the operands") {
  broken(inferred, "'sum' has another shape than its operands broadcast to",
         [](Sabotage& s) { s.shape("sum")[1] = 17; });
  broken(inferred, "'sum' has more or fewer axes than its operands broadcast to",
         [](Sabotage& s) { s.shape("sum").emplace_back(1); });
  broken(inferred, "'sum' has an operand of a dtype that does not fit",
         [](Sabotage& s) { s.value("sum").type->dtype = DType::f16; });
  broken(inferred, "'product' has a shape that does not fit", [](Sabotage& s) { s.shape("product")[1] = 8; });
  broken(inferred, "'product' has an operand of a shape that does not fit", [](Sabotage& s) { s.shape("w")[0] = 9; });
  broken(inferred, "'wide' has another dtype than its attribute says",
         [](Sabotage& s) { s.value("wide").type->dtype = DType::f64; });
  broken(inferred, "'top' reduces an axis that its operand has not",
         [](Sabotage& s) { s.kind<Reduction>("top").axes = {2}; });
  broken(inferred, "'top' reduces axes that are not in order, or one twice", [](Sabotage& s) {
    s.kind<Reduction>("top").axes = {1, 1};
  });
  broken(inferred, "'top' keeps more or fewer axes than it should",
         [](Sabotage& s) { s.kind<Reduction>("top").keepdims = true; });
  broken(inferred, "'top' has another shape than its reduction leaves",
         [](Sabotage& s) { s.kind<Reduction>("top").axes = {0}; });
}

TEST_CASE("verify_graph: a view shows what its parameters say") {
  const std::string shape = "has another shape than its view shows";
  broken(inferred, "'xt' " + shape, [](Sabotage& s) { s.kind<IndexMap>("xt").axes = {0, 1}; });
  broken(inferred, "'xt' " + shape, [](Sabotage& s) { s.kind<IndexMap>("xt").axes = {1, 1}; });
  broken(inferred, "'flat' " + shape,
         [](Sabotage& s) { s.kind<IndexMap>("flat").shape = s.shape("flat") = {Dim::symbol("M")}; });
  broken(inferred, "'left' " + shape, [](Sabotage& s) { s.kind<IndexMap>("left").length = 5; });
  broken(inferred, "'left' is a slice whose step is not positive",
         [](Sabotage& s) { s.kind<IndexMap>("left").step = 0; });
  broken(inferred, "'left' is a view along an axis that there is not",
         [](Sabotage& s) { s.kind<IndexMap>("left").axis = 2; });
  broken(inferred, "'both' " + shape, [](Sabotage& s) { s.shape("both")[1] = 7; });
  broken(inferred, "'wide_row' " + shape, [](Sabotage& s) { s.kind<IndexMap>("wide_row").axis = 1; });
  broken(inferred, "'all' is updated by a part of another shape",
         [](Sabotage& s) { s.kind<IndexMap>("all").axis = 1; });
  broken(inferred, "'flat' is written through before it is known where it lies",
         [](Sabotage& s) { s.kind<IndexMap>("flat").written_through = true; });
  broken(materialised, "'left' is written through a view that does not show each element once",
         [](Sabotage& s) { s.kind<IndexMap>("left").written_through = true; });
}

TEST_CASE("verify_graph: a view shows elements that its operand has") {
  const char* const outside = "'left' is a view of elements outside of its operand";
  broken(inferred, outside, [](Sabotage& s) { s.kind<IndexMap>("left").begin = 5; });
  broken(inferred, outside, [](Sabotage& s) { s.kind<IndexMap>("left").begin = -1; });
  broken(inferred, outside, [](Sabotage& s) { s.kind<IndexMap>("left").step = 3; });
  broken(inferred, outside, [](Sabotage& s) { s.kind<IndexMap>("left").begin = Dim::symbol("M") + 4; });
  broken(inferred, "'all' is a view of elements outside of its operand",
         [](Sabotage& s) { s.kind<IndexMap>("all").begin = 16; });
  Sabotage unknown(shapes_and_kinds, inferred);  // for some sizes it has them
  unknown.kind<IndexMap>("left").begin = Dim::symbol("M");
  CHECK(problems(unknown.module, inferred) == "");
}

TEST_CASE("verify_graph: a name belongs to one value") {
  broken(inferred, "'p' is the name of two values", [](Sabotage& s) { s.value("top").name = "p"; });
}

TEST_CASE("verify_graph: a call fits its function") {
  broken(loaded, "'called' calls a function that does not stand before it",
         [](Sabotage& s) { s.kind<Call>("called").function = 1; });
  broken(loaded, "'called' repeats a call less than once", [](Sabotage& s) { s.kind<Call>("called").repeat = 0; });
  broken(loaded, "'called' gives its function more or fewer operands than it takes",
         [](Sabotage& s) { s.node("called").inputs.clear(); });
  broken(loaded, "'called' is a call, and has an operator or a kernel too",
         [](Sabotage& s) { s.node("called").op = s.op("add"); });
  broken(inferred, "'called' calls with an operand of another type",
         [](Sabotage& s) { s.node("called").inputs = {s.id("w")}; });
  broken(inferred, "'called' is a call whose function makes another type",
         [](Sabotage& s) { s.value("called").type->dtype = DType::f16; });
}

// Each of these graphs was once left as the verifier would not have it.
TEST_CASE("verify_graph: what simplify makes is right") {
  const auto right = [](const std::string& text) { Sabotage("graph: g\n" + text, materialised); };
  // A reduction of single elements becomes a view: it has no kernel.
  right(
      "inputs: {x: \"f32[8, 1]\"}\nnodes:\n  - {op: exp, in: x, out: e}\n  - {op: sum, in: e, out: s, axes: [1]}\n"
      "  - {op: tanh, in: s, out: y}\noutputs: [y]\n");
  // Two equal outputs: the copy is not implied, as the cast was that it stands for.
  right(
      "inputs: {x: \"bf16[8, 16]\"}\nnodes:\n  - {op: softmax, in: x, out: a, axis: 1}\n"
      "  - {op: softmax, in: x, out: b, axis: 1}\noutputs: [a, b]\n");
  // A number that is shown as a row of one: no operand would give the result its axis.
  right(
      "inputs: {x: \"f32[3, 8]\", s: \"f32[]\"}\nnodes:\n  - {op: tanh, in: s, out: t}\n"
      "  - {op: unsqueeze, in: t, out: row, axis: 0}\n  - {op: pow, in: [x, row], out: y}\noutputs: [y]\n");
  // An update of what is no state becomes slices and a concatenation.
  right(
      "inputs: {x: \"f32[8, 16]\", p: \"f32[8, 4]\"}\nnodes:\n"
      "  - {op: index_update, in: [x, p], out: u, axis: 1, begin: 3}\n  - {op: relu, in: u, out: y}\noutputs: [y]\n");
}

TEST_CASE("verify_graph: from materialise on, what lives in other memory has one writer") {
  broken(materialised, "'p' is an output, and must live elsewhere too",
         [](Sabotage& s) { s.main().outputs[1] = s.main().outputs[0]; });
  broken(materialised, "'x' is an output, but no node makes it", [](Sabotage& s) { s.main().outputs[0] = s.id("x"); });
}

// ---- groups ---------------------------------------------------------------------------------------------------------

namespace {

// A loop, a kernel with a prologue and an epilogue, and rows, around views; one group runs at load.
const char* const groups_of_each_kind = R"(graph: g
inputs: {x: "f32[16, 8]", w: "f32[8, 16]"}
constants: {c: {type: "f32[8, 16]", file: c.safetensors, key: c}}
nodes:
  - {op: tanh, in: x, out: bent}
  - {op: exp, in: c, out: prepared}
  - {op: matmul, in: [bent, prepared], out: product}
  - {op: relu, in: product, out: positive}
  - {op: transpose, in: positive, out: turned, perm: [1, 0]}
  - {op: neg, in: turned, out: negative}
  - {op: sum, in: w, out: total, axes: [1]}
  - {op: concat, in: [total, total_2], out: totals, axis: 0}
  - {op: prod, in: w, out: total_2, axes: [1]}
  - {op: sqrt, in: totals, out: roots}
outputs: [negative, roots]
)";

struct SpoiltGroups {
  Fixture f;
  FusedGraph fused = f.fuse_main(groups_of_each_kind);

  ValueId id(const std::string& name) const { return value_named(fused.graph, name); }
  NodeId maker(const std::string& name) const { return fused.graph.value(id(name)).producer; }
  Group& group(const std::string& name) { return fused.groups[group_making(fused, name)]; }
};

template <class Break>
void broken_groups(const std::string& expected, const Break& break_it) {
  SpoiltGroups s;
  CHECK(fmt::format("{}", fmt::join(group_problems(s.fused), "\n")) == "");
  break_it(s);
  const std::vector<std::string> found = group_problems(s.fused);
  CHECK_MESSAGE(std::find(found.begin(), found.end(), expected) != found.end(),
                "expected: " << expected << "\nfound: " << fmt::format("{}", fmt::join(found, "\n")));
}

}  // namespace

TEST_CASE("verify_groups: each node that is no view is in one group") {
  using S = SpoiltGroups;
  broken_groups("'g' has a group without nodes", [](S& s) { s.group("roots").nodes.clear(); });
  broken_groups("'negative' is in no group", [](S& s) { s.fused.groups.pop_back(); });
  broken_groups("'roots' is in two groups, or twice in one", [](S& s) { s.fused.groups.push_back(s.group("roots")); });
  broken_groups("'roots' is in another group than the graph says",
                [](S& s) { s.fused.group_of[s.maker("roots")] = 0; });
  broken_groups("'turned' is a view, and in a group",
                [](S& s) { s.group("negative").nodes.push_back(s.maker("turned")); });
  broken_groups("'g' does not say for each node which group it is in", [](S& s) { s.fused.group_of.pop_back(); });
  broken_groups("'positive' is in a group whose nodes are not in the order of execution",
                [](S& s) { std::swap(s.group("product").nodes.front(), s.group("product").nodes.back()); });
}

TEST_CASE("verify_groups: a group holds what its kind allows") {
  using S = SpoiltGroups;
  broken_groups("'total' is of a kind that its group cannot hold",
                [](S& s) { s.group("total").kind = GroupKind::elementwise; });
  broken_groups("'product' is of a kind that its group cannot hold",
                [](S& s) { s.group("product").root = s.maker("bent"); });
  broken_groups("'negative' is in a group that lacks a root, or has one",
                [](S& s) { s.group("negative").kind = GroupKind::structured; });
  broken_groups("'total' is in a group that walks rows along an axis that it has not",
                [](S& s) { s.group("total").row_axes = {2}; });
  broken_groups("'negative' is in a group with ports of no kernel", [](S& s) {
    s.group("negative").epilogues.push_back({{0}, {s.maker("negative")}});
  });
}

TEST_CASE("verify_groups: each node of a kernel's group rides in one port") {
  using S = SpoiltGroups;
  broken_groups("'bent' rides in no port", [](S& s) { s.group("product").prologues.clear(); });
  broken_groups("'bent' rides in two ports",
                [](S& s) { s.group("product").epilogues[0].nodes.push_back(s.maker("bent")); });
  broken_groups("'bent' leaves the prologue that it rides in",
                [](S& s) { s.group("product").prologues[0].operand = 1; });
}

TEST_CASE("verify_groups: a port holds nodes of its own group") {
  broken_groups("'bent' is in a group with a port for a node of another",
                [](SpoiltGroups& s) { s.group("product").epilogues[0].nodes.push_back(s.maker("negative")); });
}

TEST_CASE("verify_groups: what a group reads is listed, stored, and there") {
  using S = SpoiltGroups;
  broken_groups("'turned' is read by a group that does not list it as an input",
                [](S& s) { s.group("negative").inputs.clear(); });
  broken_groups("'x' is an input of a group that does not read it",
                [](S& s) { s.group("negative").inputs.push_back(s.id("x")); });
  broken_groups("'turned' is listed twice as an input of a group",
                [](S& s) { s.group("negative").inputs.push_back(s.id("turned")); });
  broken_groups("'turned' is read from memory, but nothing stores it",
                [](S& s) { s.group("positive").outputs.clear(); });
  broken_groups("'totals' is read from memory, but nothing stores it",
                [](S& s) { std::erase(s.group("total_2").outputs, s.id("total_2")); });
  broken_groups("'roots' is an output, but nothing stores it", [](S& s) { s.group("roots").outputs.clear(); });
  broken_groups("'x' is stored by a group that does not make it",
                [](S& s) { s.group("roots").outputs.push_back(s.id("x")); });
  broken_groups("'x' is read at load, but is not there then", [](S& s) { s.group("product").at_load = true; });
  broken_groups("'turned' is read by a group before another makes it", [](S& s) {
    std::uint32_t& first = s.fused.group_of[s.maker("negative")];
    const std::uint32_t second = s.fused.group_of[s.maker("product")];
    std::swap(s.fused.groups[first], s.fused.groups[second]);
    for (const NodeId node : s.fused.groups[first].nodes) s.fused.group_of[node] = first;
    first = second;
  });
}

TEST_CASE("verify_groups: what a kernel's epilogue reads in registers is there at the position of the kernel") {
  broken_groups("'turned' is read in registers, where its elements are at other positions", [](SpoiltGroups& s) {
    const NodeId node = s.maker("negative");
    const std::uint32_t gone = s.fused.group_of[node];
    Group& kernel = s.group("product");
    kernel.nodes.push_back(node);
    kernel.epilogues[0].nodes.push_back(node);
    kernel.outputs = {s.id("negative")};
    s.fused.group_of[node] = s.fused.group_of[s.maker("product")];
    s.fused.groups.erase(s.fused.groups.begin() + gone);
    for (std::uint32_t& group : s.fused.group_of) group -= group != no_id && group > gone ? 1 : 0;
  });
}

TEST_CASE("verify_groups: decisions say what became of their nodes") {
  broken_groups("'turned' is said to be fused, and its nodes are apart", [](SpoiltGroups& s) {
    for (Decision& decision : s.fused.decisions) decision.fused = true;
  });
  broken_groups("'g' has a decision on what does not exist",
                [](SpoiltGroups& s) { s.fused.decisions[0].value = no_id; });
}
