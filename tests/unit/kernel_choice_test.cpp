// Several kernels for one operator: which is chosen, and why.
#include "generator/pass/choose/choose_kernels.hpp"
#include "tests/unit/plan_fixture.hpp"

namespace kgen::test {
namespace {

const std::string small_matmul = R"(kernels:
- {kernel: mine::small_matmul, header: my/matmul.hpp, operator: matmul, kind: structured, when: M <= 16,
   operands: [{name: a, rank: 2, types: float}, {name: b, rank: 2, types: float}], results: [{name: c, rank: 2}]}
)";

// Where `value` has a choice: "kernel: reason; other: reason".
std::string choice_of(const Graph& graph, const std::string& value) {
  for (const KernelChoice& choice : graph.kernel_choices) {
    if (choice.value != value) continue;
    std::string text = (choice.kernel ? choice.kernel->name : "expanded") + ": " + choice.reason;
    for (const auto& other : choice.others) text += "; " + other.kernel->name + ": " + other.reason;
    return text;
  }
  return "no choice";
}

std::string kernel_of(const Graph& graph, const std::string& value) {
  const Node& node = graph.nodes[graph.value(value_named(graph, value)).producer];
  return node.kernel ? node.kernel->name : "none";
}

// C = matmul(A, B) with a kernel for `when`, for an M in the range.
std::string product_choice(const std::string& range, const std::string& when) {
  std::string kernels = small_matmul;
  kernels.replace(kernels.find("M <= 16"), 7, "\"" + when + "\"");
  Fixture f("", kernels);
  const Module module =
      f.prepare("graph: g\ndims: {S: " + range + "}\ninputs: {A: \"f32[S, 64]\", B: \"f32[64, 32]\"}\n" +
                "nodes: [{op: matmul, in: [A, B], out: C}]\noutputs: [C]\n");
  const std::string choice = choice_of(module.main, "C");
  CHECK(choice.starts_with(kernel_of(module.main, "C") + ": "));
  return choice;
}

const std::string refused = "kgen::matmul: it is matmul's own; mine::small_matmul: its condition ";
const std::string taken = "mine::small_matmul: its condition ";
const std::string not_own = "; kgen::matmul: mine::small_matmul comes first";

}  // namespace

TEST_CASE("kernels: a condition on a shape holds for every value of the dims, or not") {
  CHECK(product_choice("1..16", "M <= 16") == taken + "'M <= 16' holds: M is S, 1..16" + not_own);
  CHECK(product_choice("8..8", "M <= 16") == taken + "'M <= 16' holds: M is 8" + not_own);
  CHECK(product_choice("1..17", "M <= 16") == refused + "'M <= 16' does not hold for all sizes: M is S, 1..17");
  CHECK(product_choice("17..90", "M <= 16") == refused + "'M <= 16' does not hold: M is S, 17..90");
  CHECK(product_choice("17..90", "M > 16") == taken + "'M > 16' holds: M is S, 17..90" + not_own);
  CHECK(product_choice("16..90", "M > 16").starts_with(refused));
  CHECK(product_choice("1..90", "!(M == 0) && K == 2 * N").starts_with(taken));
  CHECK(product_choice("1..90", "M < 5 || K != N").starts_with(taken));
  CHECK(product_choice("1..90", "M < 5 || K != 2 * N").starts_with(refused));
  CHECK(product_choice("1..90", "K / 48 * 48 == K").starts_with(refused));
  CHECK(product_choice("1..90", "K / 16 * 16 == K").starts_with(taken));
  CHECK(product_choice("1..90", "extent(a, -1) == K && rank(b) == 2 && extent(b, 7) == 0").starts_with(taken));
}

TEST_CASE("kernels: a condition on what is constant") {
  std::string kernels = small_matmul;
  kernels.replace(kernels.find("M <= 16"), 7, "constant(b)");
  Fixture f("", kernels);
  const Graph main = f.prepare(R"(graph: g
inputs: {A: "f32[4, 8]", B: "f32[8, 4]"}
constants: {W: {type: "f32[8, 4]", file: weights.safetensors, key: w}, V: {type: "f32[4, 8]", file: weights.safetensors, key: v}}
nodes:
- {op: matmul, in: [A, W], out: weight}
- {op: transpose, in: V, out: turned, perm: [1, 0]}
- {op: exp, in: turned, out: computed_weight}
- {op: matmul, in: [A, computed_weight], out: computed}
- {op: add, in: [B, W], out: moved}
- {op: matmul, in: [A, moved], out: at_each_call}
outputs: [weight, computed, at_each_call]
)")
                         .main;
  CHECK(choice_of(main, "weight") == taken + "'constant(b)' holds" + not_own);
  CHECK(choice_of(main, "computed") == taken + "'constant(b)' holds" + not_own);
  CHECK(choice_of(main, "at_each_call") == refused + "'constant(b)' does not hold");
}

TEST_CASE("kernels: a condition on a type, and operands that a kernel does not take") {
  const std::string text =
      "graph: g\ninputs: {x: \"f32[8]\", z: \"bf16[8]\"}\n"
      "nodes: [{op: gelu, in: x, out: y}, {op: gelu, in: z, out: w}]\noutputs: [y, w]\n";
  const std::string kernel = "kernels: [{kernel: mine::Gelu, header: my/gelu.hpp, operator: gelu, kind: elementwise, ";
  {
    Fixture f("", kernel + "when: T == f32, operands: [{name: x}], results: [{name: out}]}]\n");
    const Module module = f.prepare(text);
    CHECK(choice_of(module.main, "y") ==
          "mine::Gelu: its condition 'T == f32' holds: T is f32; kgen::Gelu: mine::Gelu comes first");
    CHECK(choice_of(module.main, "w") ==
          "kgen::Gelu: it is gelu's own; mine::Gelu: its condition 'T == f32' does not hold: T is bf16");
    CHECK(kernel_of(module.main, "y") == "mine::Gelu");
    CHECK(kernel_of(module.main, "w") == "kgen::Gelu");
  }
  {
    Fixture f("", kernel + "operands: [{name: x, types: [bf16, f16]}], results: [{name: out}]}]\n");
    const Module module = f.prepare(text);
    CHECK(choice_of(module.main, "y") ==
          "kgen::Gelu: it is gelu's own; mine::Gelu: operand 'x' is f32, and it takes bf16 or f16");
    CHECK(choice_of(module.main, "w") == "mine::Gelu: it comes first; kgen::Gelu: mine::Gelu comes first");
  }
}

TEST_CASE("kernels: a number that the kernel's parameter cannot hold is refused") {
  Fixture f;
  f.prepare("graph: g\ninputs: {x: \"i64[4]\"}\n"
            "nodes: [{op: pad, in: x, pads: [1, 0], value: 9007199254740993, out: y}]\noutputs: [y]\n");
  const std::string text = f.diagnostics.text(false);
  CHECK(text.find("no kernel of 'pad' can make 'y'") != std::string::npos);
  CHECK(text.find("attribute 'value' is 9007199254740993, and it takes a double, which cannot hold that") !=
        std::string::npos);
}

TEST_CASE("kernels: attributes and operands that may be left out stand in conditions") {
  const std::string graph = R"(graph: g
inputs: {q: "f32[1, 8, 4, 16]", mask: "f32[1, 4, 8, 8]"}
nodes:
- {op: attention, in: [q, q, q, mask], out: masked}
- {op: attention, in: [q, q, q], out: plain, causal: true}
- {op: attention, in: [q, q, q], out: all}
outputs: [masked, plain, all]
)";
  Fixture f("", R"yaml(kernels:
- kernel: mine::attention
  header: my/attention.hpp
  operator: attention
  kind: opaque
  when: "causal && !given(mask)"
  operands: [{name: q, rank: 4}, {name: k, rank: 4}, {name: v, rank: 4}, {name: mask, rank: 4, optional: true},
             {name: lengths, rank: 1, optional: true}]
  results: [{name: out, rank: 4}]
)yaml");
  const Graph main = f.prepare(graph).main;
  CHECK(kernel_of(main, "masked") == "kgen::attention");
  CHECK(kernel_of(main, "plain") == "mine::attention");
  CHECK(kernel_of(main, "all") == "kgen::attention");
  CHECK(std::holds_alternative<Opaque>(main.nodes[main.value(value_named(main, "plain")).producer].kind));
  CHECK(choice_of(main, "all") ==
        "kgen::attention: it is attention's own; mine::attention: its condition "
        "'causal && !given(mask)' does not hold: causal is false");
}

TEST_CASE("kernels: the first of a user's that takes the node, also within expansions") {
  const std::string kernels = R"(kernels:
- {kernel: mine::Exp16, header: my/exp.hpp, operator: exp_nonpositive, kind: elementwise, when: T == f16,
   operands: [{name: x}], results: [{name: out}]}
- {kernel: mine::Exp, header: my/exp.hpp, operator: exp_nonpositive, kind: elementwise,
   operands: [{name: x, types: float}], results: [{name: out}]}
)";
  Fixture f("", kernels);
  const Graph main =
      f.prepare("graph: g\ninputs: {x: \"f16[4, 8]\"}\nnodes: [{op: softmax, in: x, out: p}]\noutputs: [p]\n").main;
  CHECK(choice_of(main, "p_exponential") ==
        "mine::Exp: it comes first; mine::Exp16: its condition 'T == f16' does not hold: T is f32; "
        "kgen::ExpNonpositive: mine::Exp comes first");
  CHECK(kernel_of(main, "p_exponential") == "mine::Exp");
}

TEST_CASE("kernels: a composite that no kernel takes is expanded") {
  Fixture f("", R"(kernels:
- {kernel: mine::Softmax, header: my/softmax.hpp, operator: softmax, kind: opaque, when: "axis == 0",
   operands: [{name: x}], results: [{name: out}], attributes: [{name: axis, type: int}]}
)");
  const std::string nodes =
      "graph: g\ninputs: {x: \"f32[4, 8]\"}\nnodes: [{op: softmax, in: x, out: p}, {op: softmax, in: x, out: q, axis: "
      "0}]\n"
      "outputs: [p, q]\n";
  const Graph main = f.prepare(nodes).main;
  CHECK(choice_of(main, "p") ==
        "expanded: no kernel takes it; mine::Softmax: its condition 'axis == 0' does not hold: axis is -1");
  CHECK(kernel_of(main, "q") == "mine::Softmax");
  CHECK(main.nodes[main.value(value_named(main, "p")).producer].within == "softmax");
}

TEST_CASE("kernels: fusion follows the chosen kernel's signature") {
  std::string kernels = small_matmul;
  kernels.replace(kernels.find("results: [{name: c, rank: 2}]"), 29, "results: [{name: c, rank: 2, accepts: sink}]");
  const std::string graph =
      "graph: g\ninputs: {A: \"f32[8, 64]\", B: \"f32[64, 32]\"}\n"
      "nodes: [{op: matmul, in: [A, B], out: C}, {op: relu, in: C, out: y}]\noutputs: [y]\n";
  const FusedGraph with_sink = Fixture("", kernels).fuse_main(graph);
  CHECK(together(with_sink, "C", "y"));
  CHECK(reason(with_sink, "C", "y") == "the epilogue of mine::small_matmul takes it");
  const FusedGraph without = Fixture("", small_matmul).fuse_main(graph);
  CHECK_FALSE(together(without, "C", "y"));
  CHECK(reason(without, "C", "y") == "the result of mine::small_matmul takes no epilogue");
}

TEST_CASE("kernels: a convolution whose channels are groups of their own has a kernel for that") {
  const auto choice = [](const std::string& filters, const std::string& group) {
    Fixture f;
    const Module module = f.prepare("graph: g\ninputs: {x: \"f32[2, 9, 9, 8]\", w: \"f32" + filters +
                                    "\"}\nnodes: [{op: conv2d, in: [x, w], group: " + group +
                                    ", out: y}]\noutputs: [y]\n");
    return kernel_of(module.main, "y");
  };
  CHECK(choice("[3, 3, 1, 8]", "8") == "kgen::depthwise_conv2d");
  CHECK(choice("[3, 3, 1, 16]", "8") == "kgen::conv2d");
  CHECK(choice("[3, 3, 2, 8]", "4") == "kgen::conv2d");
}

TEST_CASE("kernels: a product by several matrices has a kernel for that, and others are no alternatives by rank") {
  const std::string graph =
      "graph: g\ninputs: {a: \"f32[2, 3, 8, 4]\", b: \"f32[3, 4, 5]\", w: \"f32[4, 5]\"}\n"
      "nodes: [{op: matmul, in: [a, b], out: y}, {op: matmul, in: [a, w], out: z}]\noutputs: [y, z]\n";
  {
    Fixture f;
    const Graph main = f.prepare(graph).main;
    CHECK(choice_of(main, "y") == "kgen::batched_matmul: its condition 'rank(b) > 2' holds");
    CHECK(kernel_of(main, "z") == "kgen::matmul");
    CHECK(choice_of(main, "z") == "no choice");
  }
  // A kernel of matrices would walk the leading axes of b as more of its rows.
  std::string kernels = small_matmul;
  kernels.replace(kernels.find("M <= 16"), 7, "N == 5");
  Fixture f("", kernels);
  const Graph main = f.prepare(graph).main;
  CHECK(kernel_of(main, "y") == "kgen::batched_matmul");
  CHECK(kernel_of(main, "z") == "mine::small_matmul");
  const Node& node = main.nodes[main.value(value_named(main, "y")).producer];
  const DimRanges ranges;
  const LoadValues constants(main);
  CHECK_FALSE(takes_node(f.ops.kernels[f.ops.kernel_index["mine::small_matmul"]], main, node, ranges, constants));
  CHECK_FALSE(takes_node(f.ops.kernels[f.ops.kernel_index["kgen::matmul"]], main, node, ranges, constants));
}

TEST_CASE("kernels: why a kernel of matrices does not take batches") {
  // Of an operator of one's own, so that nothing else takes them.
  Fixture f(
      "ops: [{op: product, kind: structured, types: {T: float}, operands: {a: {type: T, shape: \"[..., M, K]\"}, "
      "b: {type: T, shape: \"[..., K, N]\"}}, results: {out: {type: T, shape: \"[..., M, N]\"}}, "
      "kernel: mine::product}]\n",
      "kernels: [{kernel: mine::product, header: my/product.hpp, operator: product, kind: structured, "
      "operands: [{name: a, rank: 2}, {name: b, rank: 2}], results: [{name: c, rank: 2}]}]\n");
  f.prepare(
      "graph: g\ninputs: {a: \"f32[3, 8, 4]\", b: \"f32[3, 4, 5]\", w: \"f32[4, 5]\"}\n"
      "nodes: [{op: product, in: [a, w], out: z}, {op: product, in: [a, b], out: y}]\noutputs: [y, z]\n");
  REQUIRE(f.diagnostics.has_errors());
  CHECK(f.diagnostics.text(false) == R"(graph.yaml:3:49: error: no kernel of 'product' can make 'y'
    3 | nodes: [{op: product, in: [a, w], out: z}, {op: product, in: [a, b], out: y}]
      |                                                 ^
my_kernels.yaml:1:20: note: mine::product: operand 'b' has 3 axes, and it takes 2
    1 | kernels: [{kernel: mine::product, header: my/product.hpp, operator: product, kind: structured, opera...
      |                    ^
help: change the node, or give --kernels one that takes it
)");
}

TEST_CASE("kernels: a list of which only the run knows a part cannot be passed") {
  Fixture f;
  f.prepare(
      "graph: g\ndims: {P: 0..8}\ninputs: {x: \"f32[4]\", y: \"f32[P]\"}\n"
      "nodes: [{op: pad, in: x, pads: [1, P], out: z}, {op: exp, in: y, out: w}]\noutputs: [z, w]\n");
  REQUIRE(f.diagnostics.has_errors());
  CHECK(f.diagnostics.text(false) == R"(graph.yaml:4:14: error: no kernel of 'pad' can make 'z'
    4 | nodes: [{op: pad, in: x, pads: [1, P], out: z}, {op: exp, in: y, out: w}]
      |              ^
note: kgen::pad: attribute 'pads' holds P, which only the run knows
help: change the node, or give --kernels one that takes it
)");
}

TEST_CASE("kernels: an attribute that only the run knows cannot be passed") {
  Fixture f(
      "ops: [{op: fill, kind: opaque, operands: {x: f32}, results: {out: {type: f32, shape: \"[n]\"}}, "
      "attributes: {n: {type: dim}}, kernel: mine::fill}]\n",
      "kernels: [{kernel: mine::fill, header: my/fill.hpp, operator: fill, kind: opaque, operands: [{name: x}], "
      "results: [{name: out}], attributes: [{name: n, type: int}]}]\n");
  f.prepare(
      "graph: g\ndims: {N: 1..8}\ninputs: {x: \"f32[]\", y: \"f32[N]\"}\n"
      "nodes: [{op: fill, in: x, out: z, n: N}, {op: add, in: [y, z], out: w}]\noutputs: [w]\n");
  REQUIRE(f.diagnostics.has_errors());
  CHECK(f.diagnostics.text(false) == R"(graph.yaml:4:14: error: no kernel of 'fill' can make 'z'
    4 | nodes: [{op: fill, in: x, out: z, n: N}, {op: add, in: [y, z], out: w}]
      |              ^
my_kernels.yaml:1:20: note: mine::fill: attribute 'n' is N, which only the run knows
    1 | kernels: [{kernel: mine::fill, header: my/fill.hpp, operator: fill, kind: opaque, operands: [{name: ...
      |                    ^
help: change the node, or give --kernels one that takes it
)");
}

}  // namespace kgen::test
