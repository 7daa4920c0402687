// Numbers of rows that a kernel makes for its epilogues: where it does, and why it does not.
#include <doctest/doctest.h>

#include "generator/emit/stub.hpp"
#include "tests/unit/introspect_fixture.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// A normalisation ahead of a product; its factor is behind the product when fuse sees it.
std::string normalised(const std::string& rows, const std::string& dtype = "bf16", const std::string& columns = "256") {
  const auto constant = [&](const std::string& name, const std::string& shape) {
    return "  " + name + ": {type: \"" + dtype + shape + "\", file: w.safetensors, key: " + name + "}\n";
  };
  return "graph: g\ndims: {M: " + rows + "}\ninputs: {x: \"" + dtype + "[M, 512]\"}\nconstants:\n" +
         constant("g", "[512]") + constant("w", "[512, " + columns + "]") +
         "nodes:\n  - {op: rms_norm, in: [x, g], out: n}\n  - {op: matmul, in: [n, w], out: \"y\"}\noutputs: [\"y\"]\n";
}

struct PlannedRows {
  Fixture f;
  FusedGraph fused;
  std::string factor;  // the number of each row that the product's epilogue reads

  explicit PlannedRows(const std::string& text, TargetKind target = TargetKind::cuda,
                       Architecture architecture = Architecture::sm_90a, std::vector<FusionRule> without = {}) {
    Module module = f.prepare(text, target, architecture);
    REQUIRE_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    fused = fuse(module.main, {.without = std::move(without)});
    verify_fused(fused, "fuse", f.diagnostics);
    CHECK_MESSAGE(!f.diagnostics.has_errors(), f.diagnostics.text(false));
    for (const Node& node : fused.graph.nodes) {
      if (node.op && node.op->name == "rsqrt") factor = fused.graph.value(node.outputs[0]).name;
    }
  }
  bool fuses() const { return together(fused, factor, "y"); }
  // The factor's reader is the one node of the epilogue that is not a cast.
  std::string why() const {
    const NodeId maker = fused.graph.value(value_named(fused.graph, factor)).producer;
    for (const Decision& made : fused.decisions) {
      if (made.producer == maker) return made.reason;
    }
    return "no decision";
  }
  std::uint32_t product() const { return group_making(fused, "y"); }
};

}  // namespace

TEST_CASE("row state: few rows of a normalisation are gone over by the product's own stub") {
  const PlannedRows plan(normalised("1..64"));
  REQUIRE(plan.fuses());
  for (const Group& each : plan.fused.groups) CHECK((each.at_load || each.root != no_id));
  const Group& group = plan.fused.groups[plan.product()];
  CHECK(group.kind == GroupKind::structured);
  CHECK(group.row_state.nodes.size() >= 3);
  REQUIRE(group.row_state.results.size() == 1);
  CHECK(plan.fused.graph.value(group.row_state.results[0]).name == plan.factor);
  CHECK(plan.why() == "the stub of kgen::matmul makes it of each row for the epilogue");
}

TEST_CASE("row state: the emitted epilogue reads the number beside its lanes") {
  PlannedRows plan(normalised("1..64"));
  StubTable table;
  lower(plan.fused, plan.f.ops, "stub_", table);
  const std::vector<StubProgram> stubs = table.take();
  const auto stub = std::find_if(stubs.begin(), stubs.end(), [](const auto& each) { return each.name == "stub_y"; });
  REQUIRE(stub != stubs.end());
  const std::string text = emit_stub(*stub, "g", "stubs", {.target = find_target("cuda")}).content;
  CHECK(text.find("#include \"kgen/row_state.hpp\"") != std::string::npos);
  CHECK(text.find("struct stub_y_rows {") != std::string::npos);
  CHECK(text.find("kgen::Index<2> shape() const { return x.shape(); }") != std::string::npos);
  CHECK(text.find("return kgen::row_state(" + plan.factor + ");") != std::string::npos);
  CHECK(text.find("stub_y_rows rows;") != std::string::npos);
  CHECK(text.find(", float " + plan.factor + ") const {") != std::string::npos);
  CHECK(text.find("const stub_y_epilogue epilogue{rows, y};") != std::string::npos);
}

TEST_CASE("row state: refused where it takes longer, or where the kernel does not make such numbers") {
  CHECK(PlannedRows(normalised("64")).why() ==
        "kgen::matmul makes numbers of a row only where 'elements(a) <= 16 * K' holds: K is 512");
  CHECK(PlannedRows(normalised("1..64", "f32")).why() ==
        "kgen::matmul makes numbers of a row only where 'T == bf16 || T == f16' holds: T is f32");
  CHECK_FALSE(PlannedRows(normalised("1..64"), TargetKind::hip, Architecture::gfx942).fuses());
  CHECK_FALSE(PlannedRows(normalised("1..64"), TargetKind::cpu, Architecture::none).fuses());
  Fixture f("", R"yaml(kernels:
- {kernel: mine::matmul, header: my/matmul.hpp, operator: matmul, kind: structured,
   operands: [{name: a, rank: 2, types: number, accepts: view}, {name: b, rank: 2, types: number, accepts: view}],
   results: [{name: c, rank: 2, accepts: sink, rows: [{times: "(N + 127) / 128"}]}]}
)yaml");
  const FusedGraph wide = f.fuse_main(
      "graph: g\ninputs: {x: \"bf16[16, 32768]\", w: \"bf16[32768, 8192]\"}\nnodes:\n"
      "  - {op: matmul, in: [x, w], out: p}\n  - {op: mean, in: x, axes: [1], keepdims: true, out: m}\n"
      "  - {op: add, in: [p, m], out: \"y\"}\noutputs: [\"y\"]\n",
      TargetKind::cuda, Architecture::sm_90a);
  CHECK(reason(wide, "m", "y") ==
        "mine::matmul would go over each row up to 64 times, at least 67108864 bytes in all, which takes longer than "
        "one more launch");
}

TEST_CASE("row state: a number that others read too stays in memory") {
  const std::string text =
      "graph: g\ninputs: {x: \"bf16[4, 512]\", w: \"bf16[512, 256]\"}\nnodes:\n"
      "  - {op: matmul, in: [x, w], out: p}\n"
      "  - {op: mean, in: x, axes: [1], keepdims: true, out: m}\n"
      "  - {op: add, in: [p, m], out: \"y\"}\noutputs: [\"y\"";
  const auto fused = [&](const std::string& end) {
    Fixture f;
    return f.fuse_main(text + end, TargetKind::cuda, Architecture::sm_90a);
  };
  CHECK(together(fused("]\n"), "m", "y"));
  const FusedGraph kept = fused(", m]\n");
  CHECK_FALSE(together(kept, "m", "y"));
  CHECK(reason(kept, "m", "y") == "'m' is read elsewhere too, so it goes through memory anyway");
  CHECK_FALSE(together(fused("]\nfusion: {forbid: [[m, \"y\"]]}\n"), "m", "y"));
}

TEST_CASE("row state: a row of other memory, of as many rows") {
  const auto fused = [](const std::string& shape, const std::string& axis, const std::string& of) {
    Fixture f;
    return f.fuse_main("graph: g\ninputs: {x: \"bf16[4, 512]\", w: \"bf16[512, 256]\", s: \"bf16" + shape +
                           "\"}\nnodes:\n  - {op: matmul, in: [x, w], out: p}\n  - {op: max, in: s, axes: [" + axis +
                           "], keepdims: true, out: m}\n  - {op: add, in: [p, m], out: \"y\"}\noutputs: [\"y\"]\n" + of,
                       TargetKind::cuda, Architecture::sm_90a);
  };
  CHECK(together(fused("[4, 96]", "1", ""), "m", "y"));
  const FusedGraph columns = fused("[7, 256]", "0", "");
  CHECK_FALSE(together(columns, "m", "y"));
  CHECK(reason(columns, "m", "y") == "the rows of [7, 256] are not those of [4, 256], which kgen::matmul walks");
}

TEST_CASE("row state: switched off by its rule's name") {
  const PlannedRows plan(normalised("1..64"), TargetKind::cuda, Architecture::sm_90a, {FusionRule::row_state});
  CHECK_FALSE(plan.fuses());
  CHECK(plan.why() == "the rule 'row_state' is switched off (--without)");
}

TEST_CASE("verify: numbers of rows that no epilogue may read, and rows of another shape") {
  PlannedRows plan(normalised("1..64"));
  REQUIRE(plan.fuses());
  const std::uint32_t product = plan.product();
  const auto problems = [&](auto spoil) {
    FusedGraph fused = plan.fused;
    spoil(fused.groups[product]);
    Diagnostics diagnostics;
    verify_fused(fused, "fuse", diagnostics);
    return diagnostics.text(false);
  };
  CHECK(problems([](Group&) {}) == "");
  CHECK(problems([](Group& group) {
          group.row_state.results.clear();
        }).find("is read by an epilogue, and not among the numbers that are made of each row") != std::string::npos);
  CHECK(problems([](Group& group) {
          group.row_state.loop[0] = Dim(3);
        }).find("is not one number for each row that its epilogue takes") != std::string::npos);
  CHECK(problems([](Group& group) {
          std::vector<NodeId>& epilogue = group.epilogues[0].nodes;
          epilogue.push_back(group.row_state.nodes.back());
          std::sort(epilogue.begin(), epilogue.end());
        }).find("rides in two ports") != std::string::npos);
  CHECK(problems([](Group& group) { group.row_state.nodes.pop_back(); }).find("rides in no port") != std::string::npos);
}

TEST_CASE("introspect: which results may use numbers of their rows") {
  const std::string kernel =
      "template <Source<2> X, Sink<float, 2> Out>\nKGEN_KERNEL(f)\nKGEN_ROWS(out, \"N\", \"target == gpu\")\n"
      "KGEN_ROWS(out, \"2\")\nvoid f(const X& x, const Out& out, Stream stream = {});\n";
  const Introspected found = introspected(kernel);
  CHECK(found.messages == "");
  CHECK(found.kernels.find("accepts: sink, element: f32, rows: [{times: \"N\", when: \"target == gpu\"}, {times: "
                           "\"2\"}]") != std::string::npos);
  CHECK_EQ(introspected("template <Source<1> X, Sink<float, 1> Out>\nKGEN_KERNEL(f)\nKGEN_ROWS(out, \"N\")\n"
                        "void f(const X& x, const Out& out, Stream stream = {});\n")
               .messages,
           R"text(my.hpp:6:1: error: 'out' is no result of 'my::f' whose epilogue walks rows
    6 | KGEN_ROWS(out, "N")
      | ^
my.hpp:5:1: note: 'my::f' is registered here as a kernel of 'f'
    5 | KGEN_KERNEL(f)
      | ^
help: name one that is a Sink of rank 2
)text");
  CHECK(introspected("template <Source<2> X, Sink<float, 2> Out>\nKGEN_KERNEL(f)\nKGEN_ROWS(out, \"1\", \"2\", \"3\")\n"
                     "void f(const X& x, const Out& out, Stream stream = {});\n")
            .messages.find("3 texts are said of 'out'") != std::string::npos);
}
