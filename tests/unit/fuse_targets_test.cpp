// What kernels declare of their operands for a target, and what a prologue costs by it.
#include <doctest/doctest.h>

#include "generator/pass/graph/load_values.hpp"
#include "tests/unit/introspect_fixture.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// y = f(x) times w, of these types.
std::string product(const std::string& dtype, const std::string& function, const std::string& more = "",
                    const std::string& columns = "512") {
  return "graph: g\ndims: {M: 1..4096}\ninputs: {x: \"" + dtype + "[M, 256]\", w: \"" + dtype + "[256, " + columns +
         "]\"}\nnodes:\n  - {op: " + function + ", in: x, out: f}\n  - {op: matmul, in: [f, w], out: \"y\"}\n" +
         "outputs: [\"y\"]\n" + more;
}

struct PlannedTarget {
  Fixture f;
  FusedGraph fused;

  explicit PlannedTarget(const std::string& text, TargetKind target = TargetKind::cpu,
                         Architecture architecture = Architecture::none)
      : fused(f.fuse_main(text, target, architecture)) {}

  bool fuses() const { return together(fused, "f", "y"); }
  std::string why() const { return reason(fused, "f", "y"); }
};

}  // namespace

TEST_CASE("a prologue is refused where the kernel is much faster on memory, and taken elsewhere") {
  const PlannedTarget hopper(product("bf16", "relu"), TargetKind::cuda, Architecture::sm_90a);
  CHECK_FALSE(hopper.fuses());
  CHECK(
      hopper.why() ==
      "kgen::matmul is much faster where it reads 'a' from memory: target is cuda; T is bf16; architecture is sm_90a; "
      "numerics is fast");
  CHECK_FALSE(PlannedTarget(product("f16", "relu"), TargetKind::cuda, Architecture::sm_90a).fuses());
  CHECK(PlannedTarget(product("f32", "relu"), TargetKind::cuda, Architecture::sm_90a).fuses());
  CHECK(PlannedTarget(product("bf16", "relu"), TargetKind::hip, Architecture::gfx942).fuses());
  CHECK_FALSE(PlannedTarget(product("bf16", "relu"), TargetKind::cuda, Architecture::sm_80).fuses());
  const PlannedTarget cpu(product("bf16", "relu"));
  CHECK(cpu.fuses());
  CHECK(cpu.why() == "a prologue of kgen::matmul takes it");
}

TEST_CASE("a packed weight is unpacked as it is read where the kernel reads it once, and else at load") {
  const auto at_load = [](int rows, const std::string& dtype, TargetKind target, Architecture architecture) {
    const PlannedTarget plan(
        "graph: g\ndims: {M: 1.." + std::to_string(rows) + "}\ninputs: {x: \"" + dtype +
            "[M, 256]\"}\nconstants: {q: {type: \"i4[256, 512]\", file: w.safetensors, key: q}}\n" +
            "nodes:\n  - {op: cast, in: q, out: f, to: " + dtype +
            "}\n  - {op: matmul, in: [x, f], out: \"y\"}\noutputs: [\"y\"]\n",
        target, architecture);
    const bool known = LoadValues(plan.fused.graph).contains(value_named(plan.fused.graph, "f"));
    CHECK(plan.fuses() != known);
    return known;
  };
  CHECK_FALSE(at_load(4096, "bf16", TargetKind::cpu, Architecture::none));
  CHECK_FALSE(at_load(64, "bf16", TargetKind::hip, Architecture::gfx942));
  CHECK_FALSE(at_load(64, "f32", TargetKind::cuda, Architecture::sm_90a));
  CHECK(at_load(4096, "bf16", TargetKind::hip, Architecture::gfx942));
  // A tile of matrix cores has 128 rows, one without them 64.
  CHECK_FALSE(at_load(128, "bf16", TargetKind::hip, Architecture::gfx942));
  CHECK(at_load(129, "bf16", TargetKind::hip, Architecture::gfx942));
  CHECK(at_load(64, "bf16", TargetKind::cuda, Architecture::sm_80));  // which are much faster on memory
  CHECK(at_load(128, "f32", TargetKind::hip, Architecture::gfx942));
  CHECK(at_load(64, "bf16", TargetKind::cuda, Architecture::sm_90a));
}

namespace {

// y = x times a weight of few bits, which `makes` makes of q and s as "w" or, in lines along the depth, as "lines".
std::string quantised(const std::string& rows, const std::string& q, const std::string& s, const std::string& makes) {
  return "graph: g\ndims: {M: " + rows + "}\ninputs: {x: \"bf16[M, 256]\"}\nconstants:\n" + "  q: {type: \"" + q +
         "\", file: w.safetensors, key: q}\n  s: {type: \"" + s + "\", file: w.safetensors, key: s}\nnodes:\n" + makes +
         "  - {op: matmul, in: [x, w], out: \"y\"}\noutputs: [\"y\"]\n";
}
const std::string in_groups =
    "  - {op: dequantize_linear, in: [q, s], out: f}\n  - {op: reshape, in: f, out: lines, shape: [512, 256]}\n"
    "  - {op: transpose, in: lines, out: w, perm: [1, 0]}\n";

// Which node makes what the product reads of the weight, whether its kernel takes that as a prologue, and what that is
// in the weight's codes, as the kernel is told.
struct Streamed {
  PlannedTarget plan;
  bool fused = false, at_load = false;
  std::int64_t degree = 0;

  explicit Streamed(const std::string& text, Architecture architecture = Architecture::sm_90a)
      : plan(text, TargetKind::cuda, architecture) {
    const Graph& graph = plan.fused.graph;
    const LoadValues known(graph);
    for (const Node& node : graph.nodes) {
      if (!std::holds_alternative<Structured>(node.kind)) continue;
      at_load = known.contains(node.inputs[1]);
      const Group& group = plan.fused.groups[plan.fused.group_of[static_cast<std::size_t>(&node - graph.nodes.data())]];
      fused = !group.prologues.empty();
      for (const auto* choice : node.tuning) degree = choice->parameter == "Degree" ? choice->value : degree;
    }
  }
};

}  // namespace

TEST_CASE("Hopper's kernel takes weights of few bits that lie down their columns as a prologue, unless rows are many") {
  const Streamed few(quantised("1..16", "i4[512, 2, 128]", "bf16[512, 2, 1]", in_groups));
  CHECK((few.fused && !few.at_load && few.degree == 1));
  const Streamed unknown(quantised("1..2048", "i4[512, 2, 128]", "bf16[512, 2, 1]", in_groups));
  CHECK((unknown.fused && !unknown.at_load));
  const Streamed many(quantised("65..2048", "i4[512, 2, 128]", "bf16[512, 2, 1]", in_groups));
  CHECK((!many.fused && many.at_load));
  const std::string of_columns =
      "  - {op: dequantize_linear, in: [q, s], out: f}\n"
      "  - {op: transpose, in: f, out: w, perm: [1, 0]}\n";
  const Streamed bytes(quantised("1..2048", "f8e4m3[512, 256]", "bf16[512, 1]", of_columns));
  CHECK((bytes.fused && !bytes.at_load && bytes.degree == 1));
}

TEST_CASE("weights that lie along rows, and those of wider elements, are made at load for Hopper") {
  const std::string along =
      "  - {op: dequantize_linear, in: [q, s], out: f}\n"
      "  - {op: reshape, in: f, out: w, shape: [256, 512]}\n";
  const Streamed rows(quantised("1..16", "i4[2, 128, 512]", "bf16[2, 1, 512]", along));
  CHECK((!rows.fused && rows.at_load && rows.degree == 0));
  const std::string scaled = "  - {op: mul, in: [q, s], out: f}\n  - {op: transpose, in: f, out: w, perm: [1, 0]}\n";
  const Streamed wide(quantised("1..16", "bf16[512, 256]", "bf16[512, 1]", scaled));
  CHECK((!wide.fused && wide.at_load && wide.degree == 0));
}

TEST_CASE("what a kernel is told of a weight of few bits follows from the definitions of what makes it") {
  const auto degree = [](const std::string& makes, const std::string& more = "") {
    return Streamed(quantised("1..16", "i4[512, 256]", "f32[512, 1]",
                              "  - {op: cast, in: q, out: c, to: f32}\n" + makes +
                                  "  - {op: cast, in: n, out: r, to: bf16}\n"
                                  "  - {op: transpose, in: r, out: w, perm: [1, 0]}\n") +
                    more)
        .degree;
  };
  CHECK(degree("  - {op: sub, in: [c, s], out: n}\n") == 0);  // an explicit cast rounds
  const auto implied = [](const std::string& q, const std::string& makes) {
    return Streamed(quantised("1..16", q, "bf16[512, 1]", makes + "  - {op: transpose, in: n, out: w, perm: [1, 0]}\n"))
        .degree;
  };
  const std::string cast = "  - {op: cast, in: q, out: c, to: bf16}\n";
  CHECK(implied("i4[512, 256]", cast + "  - {op: mul, in: [s, c], out: n}\n") == 1);
  CHECK(implied("i4[512, 256]", cast + "  - {op: div, in: [c, s], out: n}\n") == 1);
  CHECK(implied("i4[512, 256]", cast + "  - {op: sub, in: [c, s], out: d}\n  - {op: mul, in: [d, s], out: n}\n") == 2);
  CHECK(implied("i4[512, 256]", cast + "  - {op: div, in: [s, c], out: n}\n") == 0);
  CHECK(implied("i4[512, 256]", cast + "  - {op: exp, in: c, out: d}\n  - {op: mul, in: [d, s], out: n}\n") == 0);
}

TEST_CASE("what is forced is taken, though it is slow") {
  const PlannedTarget forced(product("bf16", "relu", "fusion: {force: [[f, \"y\"]]}\n"), TargetKind::cuda,
                             Architecture::sm_90a);
  CHECK(forced.fuses());
}

TEST_CASE("a prologue is refused where the kernel repeats more work than memory is worth") {
  const PlannedTarget cheap(product("f32", "relu"), TargetKind::cuda, Architecture::sm_90a);
  CHECK(cheap.why() == "a prologue of kgen::matmul takes it, and computes it up to 8 times over");
  const PlannedTarget dear(product("f32", "gelu"), TargetKind::cuda, Architecture::sm_90a);
  CHECK_FALSE(dear.fuses());
  CHECK(dear.why() ==
        "kgen::matmul would compute 'f' up to 8 times over, which takes longer than another launch, and to write and "
        "read 2048*M bytes");
  CHECK(PlannedTarget(product("f32", "gelu"), TargetKind::cpu).fuses());
  CHECK(PlannedTarget(product("f32", "gelu", "", "64"), TargetKind::cuda, Architecture::sm_90a).fuses());
}

TEST_CASE("siblings ask for what they share by all their columns") {
  const auto text = [](const std::string& columns) {
    return "graph: g\ndims: {M: 1..4096}\ninputs: {x: \"f32[M, 256]\", w: \"f32[256, " + columns +
           "]\", v: \"f32[256, " + columns +
           "]\"}\nnodes:\n  - {op: relu, in: x, out: f}\n  - {op: matmul, in: [f, w], out: \"y\"}\n"
           "  - {op: matmul, in: [f, v], out: z}\noutputs: [\"y\", z]\n";
  };
  const PlannedTarget few(text("1024"), TargetKind::cuda, Architecture::sm_90a);
  CHECK(together(few.fused, "y", "z"));
  CHECK(few.why() == "a prologue of kgen::matmul takes it, and computes it up to 32 times over");
  CHECK_FALSE(PlannedTarget(text("4096"), TargetKind::cuda, Architecture::sm_90a).fuses());
}

TEST_CASE("what several calls would repeat is priced as what one would") {
  const auto text = [](const std::string& function) {
    return "graph: g\ndims: {M: 16..4096}\ninputs: {x: \"f32[M, 64]\", v: \"f32[64, 512]\", w: \"f32[64, "
           "512]\"}\nnodes:\n"
           "  - {op: " +
           function +
           ", in: x, out: f}\n  - {op: matmul, in: [f, v], out: \"y\"}\n"
           "  - {op: matmul, in: [f, w], out: z}\noutputs: [\"y\", z]\nfusion: {forbid: [[\"y\", z]]}\n";
  };
  const PlannedTarget dear(text("exp"), TargetKind::cuda, Architecture::sm_90a);
  REQUIRE(dear.fused.recomputations.size() == 1);
  CHECK(dear.fused.recomputations[0].reason ==
        "they read 512*M bytes of 'x' for it, instead of 1024*M to make it once, write it and read it there, but would "
        "compute it up to 16 times over");
  CHECK(PlannedTarget(text("relu"), TargetKind::cuda, Architecture::sm_90a).fused.recomputations[0].copies.size() == 1);
  CHECK(PlannedTarget(text("exp")).fused.recomputations[0].copies.size() == 1);
  const PlannedTarget hopper(
      "graph: g\ninputs: {x: \"bf16[16, 64]\", v: \"bf16[64, 32]\"}\nnodes:\n  - {op: relu, in: x, out: f}\n"
      "  - {op: matmul, in: [f, v], out: \"y\"}\n  - {op: sum, in: f, out: z, axes: [0]}\noutputs: [\"y\", z]\n",
      TargetKind::cuda, Architecture::sm_90a);
  CHECK(hopper.fused.recomputations.empty());
}

// A stub that runs for so little time takes longer to start than to do its work a few times over.
TEST_CASE("what is repeated is weighed against the launch that it spares") {
  const auto text = [](const std::string& rows, const std::string& more = "") {
    return "graph: g\ndims: {M: 1.." + rows +
           "}\ninputs: {x: \"f32[M, 64]\", v: \"f32[64, 512]\", w: \"f32[64, 512]\"}\nnodes:\n"
           "  - {op: exp, in: x, out: f}\n  - {op: matmul, in: [f, v], out: \"y\"}\n"
           "  - {op: matmul, in: [f, w], out: z}\noutputs: [\"y\", z" +
           more + "]\nfusion: {forbid: [[\"y\", z]]}\n";
  };
  const PlannedTarget few(text("512"), TargetKind::cuda, Architecture::sm_90a);
  REQUIRE(few.fused.recomputations.size() == 1);
  CHECK(few.fused.recomputations[0].copies.size() == 1);
  CHECK(few.fused.recomputations[0].reason ==
        "they read 512*M bytes of 'x' for it, instead of 1024*M to make it once, write it and read it there, and would "
        "compute it up to 16 times over, which takes less time than one more launch: at most that of 7489800 bytes");
  const PlannedTarget many(text("8192"), TargetKind::cuda, Architecture::sm_90a);
  CHECK(many.fused.recomputations[0].copies.empty());
  // Where the stub runs anyway, nothing is spared; nor where a stub is a call.
  CHECK(PlannedTarget(text("512", ", f"), TargetKind::cuda, Architecture::sm_90a).fused.recomputations.empty());
  const PlannedTarget alone(product("f32", "gelu", "", "512").replace(19, 7, "1..64"), TargetKind::cuda,
                            Architecture::sm_90a);
  CHECK(alone.fuses());
}

TEST_CASE("a convolution asks for its images by the taps that meet at an element") {
  const auto text = [](const std::string& strides) {
    return "graph: g\ninputs: {x: \"f32[4, 32, 32, 16]\", w: \"f32[3, 3, 16, 64]\"}\nnodes:\n"
           "  - {op: gelu, in: x, out: f}\n  - {op: conv2d, in: [f, w], out: \"y\", strides: " +
           strides + "}\noutputs: [\"y\"]\n";
  };
  CHECK_FALSE(PlannedTarget(text("[1, 1]")).fuses());
  CHECK(PlannedTarget(text("[3, 3]")).fuses());
}

TEST_CASE("a batch of products asks for what it repeats") {
  const auto text = [](const std::string& function) {
    return "graph: g\ndims: {B: 1..16}\ninputs: {x: \"f32[1, 8, 64]\", w: \"f32[B, 64, 32]\"}\nnodes:\n  - {op: " +
           function + ", in: x, out: f}\n  - {op: matmul, in: [f, w], out: \"y\"}\noutputs: [\"y\"]\n";
  };
  const PlannedTarget cheap(text("relu"));
  CHECK(cheap.why() == "a prologue of kgen::batched_matmul takes it, and computes it up to 16 times over");
  CHECK_FALSE(PlannedTarget(text("gelu")).fuses());
}

TEST_CASE("introspect: what a declaration says of its operands") {
  const std::string kernel =
      "template <Source<1> X, Sink<float, 1> Out>\nKGEN_KERNEL(f)\nKGEN_EVALUATED(x, \"2 * N\", \"target == gpu\")\n"
      "KGEN_EVALUATED(x, \"N\")\nKGEN_IN_MEMORY(x, \"architecture == sm_90a\")\n"
      "void f(const X& x, const Out& out, Stream stream = {});\n";
  const Introspected found = introspected(kernel);
  CHECK(found.messages == "");
  CHECK(found.kernels.find("accepts: source, memory: \"architecture == sm_90a\", evaluations: [{times: \"2 * N\", "
                           "when: \"target == gpu\"}, {times: \"N\"}], at: 9:17}") != std::string::npos);
}

TEST_CASE("introspect, bad: facts of operands that are none") {
  CHECK_EQ(introspected("template <Source<1> X, Sink<float, 1> Out>\nKGEN_KERNEL(f)\nKGEN_EVALUATED(y, \"N\")\n"
                        "void f(const X& x, const Out& out, Stream stream = {});\n"
                        "KGEN_IN_MEMORY(x, \"N == 1\") void g();\n")
               .messages,
           R"text(my.hpp:8:1: error: this says something of a kernel, and no kernel is here
    8 | KGEN_IN_MEMORY(x, "N == 1") void g();
      | ^
help: write KGEN_KERNEL(operator) in front of it
my.hpp:6:1: error: 'y' is no operand of 'my::f' that takes a prologue
    6 | KGEN_EVALUATED(y, "N")
      | ^
my.hpp:5:1: note: 'my::f' is registered here as a kernel of 'f'
    5 | KGEN_KERNEL(f)
      | ^
help: name one that is a Source
)text");
  const std::string twice = introspected(
                                "template <Source<1> X, Sink<float, 1> Out>\nKGEN_KERNEL(f)\n"
                                "KGEN_IN_MEMORY(x, \"N == 1\")\nKGEN_IN_MEMORY(x, \"N == 2\")\n"
                                "KGEN_EVALUATED(x, \"N\", \"N == 1\", \"N == 2\")\n"
                                "void f(const X& x, const Out& out, Stream stream = {});\n")
                                .messages;
  CHECK(twice.find("'x' has such a condition already") != std::string::npos);
  CHECK(twice.find("3 texts are said of 'x'") != std::string::npos);
}
