// Rule: values between kernels lie in the order of axes in which the kernels read them. (order_axes.hpp)
#include "generator/pass/order/order_axes.hpp"

#include <doctest/doctest.h>

#include "generator/pass/order/axis_orders.hpp"
#include "tests/unit/rewrite_fixture.hpp"

namespace kgen {
namespace {

struct Ordered {
  Rewrites rewrites;
  Module module;

  explicit Ordered(const std::string& body)
      : module(order_axes(simplify(rewrites.decomposed(body), rewrites.ops, rewrites.diagnostics), rewrites.ops,
                          rewrites.diagnostics)) {
    REQUIRE_MESSAGE(!rewrites.diagnostics.has_errors(), rewrites.diagnostics.text(false));
    for (const Graph& function : module.functions) check_consistent(function, module.functions);
    check_consistent(module.main, module.functions);
  }

  // "f32[1, 7, 7, 5]", of main's value.
  std::string type_of(const std::string& name, const Graph* graph = nullptr) const {
    for (const Value& value : (graph ? *graph : module.main).values) {
      if (value.name == name) return to_text(*value.type);
    }
    return "gone";
  }
  std::size_t permutes(const Graph& graph) const {
    return static_cast<std::size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
      const auto* view = std::get_if<IndexMap>(&node.kind);
      return view && view->form == ViewRule::Form::permute;
    }));
  }
  // Of the node that makes `name`.
  const Node& maker(const std::string& name) const {
    for (const Node& node : module.main.nodes) {
      if (module.main.value(node.outputs[0]).name == name) return node;
    }
    FAIL("nothing makes " << name);
    return module.main.nodes.front();
  }
  std::vector<Dim> list(const std::string& name, const std::string& attribute) const {
    return std::get<std::vector<Dim>>(*find_attribute(maker(name).attributes, attribute));
  }
};

// x: [2, 5, 7, 9] through a convolution by 6 filters to `a`, and `y` is one of `last`: a value of six channels.
std::string between(const std::string& nodes, const std::string& last, const std::string& more = "") {
  return "inputs: {x: \"f32[2, 5, 7, 9]\", w: \"f32[6, 5, 1, 1]\", v: \"f32[4, 6, 1, 1]\", b: \"f32[6, 1, 1]\"}\n" +
         more + "nodes:\n- {op: conv2d_nchw, in: [x, w], out: a}\n" + nodes + "- {op: conv2d_nchw, in: [" + last +
         ", v], out: y}\noutputs: [y]\n";
}

// Those of the filters and of the graph's input and output alone.
constexpr std::size_t fewest = 4;

}  // namespace

TEST_CASE("order_axes: what is pooled between convolutions has their order") {
  const Ordered made(between(
      "- {op: relu, in: a, out: r}\n"
      "- {op: max_pool, in: r, out: p, window: [1, 1, 3, 2], strides: [1, 1, 2, 1], pads: [0, 0, 1, 0, 0, 0, 0, 1], "
      "dilations: [1, 1, 1, 1]}\n",
      "p"));
  CHECK(made.type_of("r") == "f32[2, 7, 9, 6]");
  CHECK(made.type_of("p") == "f32[2, 3, 9, 6]");
  CHECK(made.list("p", "window") == std::vector<Dim>{1, 3, 2, 1});
  CHECK(made.list("p", "strides") == std::vector<Dim>{1, 2, 1, 1});
  CHECK(made.list("p", "pads") == std::vector<Dim>{0, 1, 0, 0, 0, 0, 1, 0});
  CHECK(made.permutes(made.module.main) == fewest);
  REQUIRE(made.module.main.ordered_axes.size() == 2);
  CHECK(made.module.main.ordered_axes[1].value == "p");
  CHECK(made.module.main.ordered_axes[1].order == std::vector<int>{0, 2, 3, 1});
  CHECK(
      made.module.main.ordered_axes[1].reason ==
      "its axes lie in the order [0, 2, 3, 1], in which conv2d reads, as do those of what is computed from it element "
      "by element: 0.00432 MB a call less are read or written out of order");
}

// Rule: who gains most chooses first. What is computed from `s` reads it twice, and gains more by the convolutions'
// order than `s`, which is in it, would by following what reads it.
TEST_CASE("order_axes: a value that is read twice does not leave the order of both convolutions") {
  const Ordered made(
      between("- {op: conv2d_nchw, in: [a, u, c], out: s}\n- {op: exp, in: s, out: e}\n"
              "- {op: mul, in: [s, e], out: h}\n- {op: mean, in: h, out: t, axes: [2, 3], keepdims: true}\n"
              "- {op: conv2d_nchw, in: [t, u], out: d}\n- {op: exp, in: d, out: g}\n"
              "- {op: mul, in: [g, h], out: o}\n",
              "o",
              "constants: {u: {type: \"f32[6, 6, 1, 1]\", values: [0.5]}, c: {type: \"f32[6]\", values: [0.5]}}\n"));
  CHECK(made.type_of("h") == "f32[2, 7, 9, 6]");
  CHECK(made.type_of("o") == "f32[2, 7, 9, 6]");
}

TEST_CASE("order_axes: sums, statistics, joins, slices, frames and other sizes keep it") {
  SUBCASE("sum") {
    const Ordered made(
        between("- {op: relu, in: a, out: r}\n- {op: mul, in: [r, b], out: m}\n- {op: conv2d_nchw, in: [m, u], "
                "out: d}\n- {op: add, in: [m, d], out: s}\n",
                "s", "constants: {u: {type: \"f32[6, 6, 1, 1]\", values: [0.5]}}\n"));
    CHECK(made.type_of("s") == "f32[2, 7, 9, 6]");
    CHECK(made.type_of("b_permuted") == "f32[1, 1, 6]");
  }
  SUBCASE("statistic") {
    const Ordered made(
        between("- {op: relu, in: a, out: r}\n- {op: mean, in: r, out: t, axes: [2, 3], keepdims: true}\n"
                "- {op: mul, in: [t, r], out: s}\n",
                "s"));
    CHECK(made.type_of("t") == "f32[2, 1, 1, 6]");
    CHECK(std::get<Reduction>(made.maker("t").kind).axes == std::vector<int>{1, 2});
    CHECK(made.permutes(made.module.main) == fewest);
  }
  SUBCASE("statistic without the axes that it is over") {
    const Ordered made(
        between("- {op: relu, in: a, out: r}\n- {op: max, in: r, out: t, axes: [3]}\n"
                "- {op: sum, in: t, out: z}\n- {op: add, in: [r, z], out: s}\n",
                "s"));
    CHECK(made.type_of("r") == "f32[2, 7, 9, 6]");
    CHECK(made.type_of("t_ordered") == "f32[2, 7, 6]");
    CHECK(made.type_of("t") == "f32[2, 6, 7]");
  }
  SUBCASE("join, slice, frame, size") {
    const Ordered made(
        between("- {op: concat, in: [a, a], out: c, axis: 2}\n"
                "- {op: slice, in: c, out: l, axis: 1, begin: 0, end: 6, step: 1}\n"
                "- {op: slice, in: l, out: k, axis: 3, begin: 1, end: 9, step: 2}\n"
                "- {op: pad, in: k, out: p, pads: [0, 0, 1, 2, 0, 0, 3, 4]}\n"
                "- {op: resize_linear, in: p, out: s, sizes: [2, 6, 20, 11], scales: [1, 1, 2, 3]}\n",
                "s"));
    CHECK(made.type_of("c") == "f32[2, 14, 9, 6]");
    CHECK(std::get<IndexMap>(made.maker("k").kind).axis == 2);
    CHECK(made.list("p", "pads") == std::vector<Dim>{0, 1, 2, 0, 0, 3, 4, 0});
    CHECK(made.list("s", "sizes") == std::vector<Dim>{2, 20, 11, 6});
    CHECK(made.permutes(made.module.main) == fewest);
  }
}

TEST_CASE("order_axes: what was said of a result is said of what its node makes now") {
  Rewrites rewrites;
  Module module =
      simplify(rewrites.decomposed(between("- {op: relu, in: a, out: r}\n- {op: max, in: r, out: t, axes: [3]}\n"
                                           "- {op: sum, in: t, out: z}\n- {op: add, in: [r, z], out: s}\n",
                                           "s")),
               rewrites.ops, rewrites.diagnostics);
  module.main.recognitions = {{"r", nullptr, 2}, {"t", nullptr, 3}};
  module.main.kernel_choices = {{.value = "t", .reason = "it is max's own"}};
  module = order_axes(std::move(module), rewrites.ops, rewrites.diagnostics);
  CHECK(module.main.recognitions[0].value == "r");
  CHECK(module.main.recognitions[1].value == "t_ordered");
  CHECK(module.main.kernel_choices[0].value == "t_ordered");
}

TEST_CASE("order_axes: functions take and give what lies so") {
  const Ordered made(
      "inputs: {x: \"f32[1, 4, 5, 5]\", w: \"f32[4, 4, 1, 1]\"}\n"
      "functions:\n  block:\n    inputs: {h: \"f32[1, 4, 5, 5]\"}\n"
      "    constants: {u: {type: \"f32[4, 4, 1, 1]\", values: [0.5]}}\n    nodes:\n"
      "    - {op: conv2d_nchw, in: [h, u], out: c}\n    - {op: add, in: [c, h], out: s}\n    - {op: relu, in: s, out: "
      "r}\n"
      "    outputs: [r]\n"
      "nodes:\n- {op: conv2d_nchw, in: [x, w], out: a}\n- {op: relu, in: a, out: b}\n"
      "- {call: block, in: b, out: g, repeat: 3}\n- {op: conv2d_nchw, in: [g, w], out: y}\noutputs: [y]\n");
  const Graph& block = made.module.functions[0];
  CHECK(made.type_of("h", &block) == "f32[1, 5, 5, 4]");
  CHECK(made.type_of("r", &block) == "f32[1, 5, 5, 4]");
  CHECK(made.type_of("g") == "f32[1, 5, 5, 4]");
  CHECK(made.permutes(block) == 0);             // filters that are all alike are read in any order
  CHECK(made.permutes(made.module.main) == 3);  // of the filters, of x and of y
}

TEST_CASE("order_axes: nothing moves where nothing is gained, or a directive names it") {
  const auto is_untouched = [](const std::string& body) {
    Rewrites rewrites;
    return !choose_axis_orders(simplify(rewrites.decomposed(body), rewrites.ops, rewrites.diagnostics)).any;
  };
  // As often read in one order as in the other.
  CHECK(is_untouched(
      "inputs: {x: \"f32[2, 5, 7, 9]\", w: \"f32[6, 5, 1, 1]\"}\nnodes:\n- {op: softmax, in: x, out: s, axis: 3}\n"
      "- {op: conv2d_nchw, in: [s, w], out: y}\noutputs: [y]\n"));
  CHECK(is_untouched(
      "inputs: {x: \"f32[2, 5, 7]\"}\nnodes:\n- {op: transpose, in: x, out: t, perm: [0, 2, 1]}\n"
      "- {op: softmax, in: t, out: s}\n- {op: transpose, in: s, out: y, perm: [0, 2, 1]}\noutputs: [y]\n"));
  const std::string pool =
      "- {op: max_pool, in: a, out: p, window: [1, 1, 2, 2], strides: [1, 1, 1, 1], pads: [0, 0, 0, 0, 0, 0, 0, 0], "
      "dilations: [1, 1, 1, 1]}\n- {op: relu, in: p, out: r}\n";
  CHECK_FALSE(is_untouched(between(pool, "r")));
  CHECK(is_untouched(between(pool, "r", "fusion: {forbid: [[p, r]]}\n")));
  // What the places of maxima are numbered by is the order of the axes.
  CHECK(
      is_untouched(between("- {op: max_pool_with_indices, in: a, out: [p, i], window: [1, 1, 2, 2], strides: [1, 1, 1, "
                           "1], pads: [0, 0, 0, 0, 0, "
                           "0, 0, 0], dilations: [1, 1, 1, 1]}\n",
                           "p")));
}

}  // namespace kgen
