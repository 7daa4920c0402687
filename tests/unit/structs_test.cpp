// Structs that one opaque kernel hands to another: in graphs, in memory and in emitted source.
#include <fmt/format.h>

#include "generator/emit/project.hpp"
#include "generator/emit/stub.hpp"
#include "generator/pass/place/place.hpp"
#include "tests/unit/plan_fixture.hpp"

namespace kgen::test {
namespace {

const std::string own_ops = R"(structs:
- {struct: fractal::Region, header: my/fractal.hpp, bytes: 32, alignment: 8}
- {struct: fractal::Palette, header: my/palette.hpp, bytes: 12, alignment: 4}
ops:
- {op: region, kind: opaque, operands: {x: f64}, results: {out: fractal::Region}, kernel: fractal::region}
- {op: palette, kind: opaque, operands: {x: f64}, results: {out: fractal::Palette, size: i32}, kernel: fractal::palette}
- op: render
  kind: opaque
  operands: {region: {type: fractal::Region, shape: "[]"}, palette: {type: fractal::Palette, optional: true}}
  results: {out: {type: f32, shape: "[n]"}}
  attributes: {n: {type: dim}}
  kernel: fractal::render
)";
const std::string own_kernels = R"(kernels:
- {kernel: fractal::region, header: my/fractal.hpp, operator: region, kind: opaque,
   operands: [{name: x}], results: [{name: out, struct: "fractal::Region"}]}
- {kernel: fractal::palette, header: my/palette.hpp, operator: palette, kind: opaque,
   operands: [{name: x}], results: [{name: out, struct: "fractal::Palette"}, {name: size}]}
- {kernel: fractal::render, header: my/fractal.hpp, operator: render, kind: opaque,
   operands: [{name: region, rank: 0, struct: "fractal::Region"}, {name: palette, struct: "fractal::Palette", optional: true}],
   results: [{name: out, rank: 1}]}
)";

// What is printed of a graph whose nodes these are; x is f64[], r a region.
std::string messages(const std::string& nodes, const std::string& outputs = "y", const std::string& more = "") {
  Fixture f(own_ops, own_kernels);
  const SourceText& source = f.sources.add("graph.yaml", "graph: g\ninputs: {x: \"f64[]\"}\nconstants: {half: 0.5}\n" +
                                                             more + "nodes:\n- {op: region, in: x, out: r}\n" + nodes +
                                                             "outputs: [" + outputs + "]\n");
  auto module = load_graph(source, f.ops, f.diagnostics);
  if (module) infer(std::move(*module), f.ops, f.diagnostics);
  std::string text;
  for (const Diagnostic& each : f.diagnostics.all()) {
    if (each.severity == Severity::warning) continue;
    text += fmt::format("{}: {}", each.where.line, each.message);
    for (const auto& [where, note] : each.notes) text += "; " + (where.known() ? short_text(where) + ": " : "") + note;
    if (!each.help.empty()) text += "; " + each.help;
    text += '\n';
  }
  return text;
}

const std::string render = "- {op: render, in: r, out: y, n: 4}\n";
const std::string only_region =
    "; only operators that are declared with fractal::Region make or take one: nothing converts it\n";
const std::string not_a_number =
    "; its elements must each be a number, not a fractal::Region; my_ops.yaml:2: the struct is declared here" +
    only_region;
const std::string not_a_region =
    "; its elements must each be a fractal::Region, not a number; my_ops.yaml:2: the struct is declared here" +
    only_region;

}  // namespace

TEST_CASE("structs: one operator makes it, another takes it") { CHECK(messages(render) == ""); }

TEST_CASE("structs, bad: as an operand of other operators") {
  CHECK(messages("- {op: exp, in: r, out: y}\n") ==
        "6: exp: 'r' (fractal::Region[]) cannot be operand 'x'" + not_a_number);
  CHECK(messages("- {op: cast, in: r, out: y, to: f32}\n") ==
        "6: cast: 'r' (fractal::Region[]) cannot be operand 'x'" + not_a_number);
  CHECK(messages("- {op: reshape, in: r, out: y, shape: [1]}\n") ==
        "6: reshape: 'r' (fractal::Region[]) cannot be operand 'x'" + not_a_number);
}

TEST_CASE("structs, bad: something else in its place") {
  CHECK(messages("- {op: render, in: x, out: y, n: 4}\n") ==
        "6: render: 'x' (f64[]) cannot be operand 'region'" + not_a_region);
  CHECK(messages("- {op: render, in: 0.5, out: y, n: 4}\n") ==
        "6: render: a number cannot be operand 'region'" + not_a_region);
  CHECK(messages("- {op: palette, in: x, out: [p, count]}\n- {op: render, in: p, out: y, n: 4}\n") ==
        "7: render: 'p' (fractal::Palette[]) cannot be operand 'region'; its elements must each be a fractal::Region, "
        "not a "
        "fractal::Palette; my_ops.yaml:2: the struct is declared here" +
            only_region);
}

TEST_CASE("structs, bad: at the borders of a graph") {
  const std::string output =
      "5: 'r' (fractal::Region[]) cannot be an output; my_ops.yaml:2: only kernels know what this struct holds; let an "
      "operator turn it into numbers, and return those\n";
  CHECK(messages(render, "y, r") == output);
  CHECK(messages(render, "y", "state: {s: {type: \"f64[]\", next: r}}\n") ==
        "4: state 's' (f64[]) cannot become 'r' (fractal::Region[]); the next value of a state has the type of the "
        "state\n");
  CHECK(messages(render, "y", "state: {s: \"fractal::Region[]\"}\n").starts_with("4: "));
}

TEST_CASE("structs: alone in stubs, in the arena by their bytes, made at each call, all results written") {
  Fixture f(own_ops, own_kernels);
  const FusedGraph fused = f.fuse_main(
      "graph: g\ninputs: {w: \"f32[4]\"}\nconstants: {x: {type: \"f64[]\", values: 2}}\nnodes:\n"
      "- {op: region, in: x, out: r}\n- {op: palette, in: x, out: [p, unread]}\n"
      "- {op: render, in: [r, p], out: t, n: 4}\n- {op: add, in: [t, w], out: y}\noutputs: [y]\n");
  for (const char* value : {"r", "p", "t", "y"}) CHECK(fused.groups[group_making(fused, value)].nodes.size() == 1);
  for (const Group& group : fused.groups) CHECK_FALSE(group.at_load);
  CHECK(reason(fused, "r", "t") == "fractal::render is opaque: nothing fuses into it");
  CHECK(reason(fused, "t", "y") == "the result of fractal::render takes no epilogue");
  CHECK(fused.groups[group_making(fused, "p")].outputs.size() == 2);

  StubTable stubs;
  lower(fused, f.ops, "stub_", stubs);
  Plan plan;
  plan.stubs = stubs.take();
  plan.main = place(fused, {});
  const auto bytes_of = [&](const char* value) {
    const Placement& placement = plan.main.placements[value_named(fused.graph, value)];
    REQUIRE(placement.kind == Placement::Kind::arena);
    return plan.main.slots[placement.index].bytes;
  };
  CHECK(bytes_of("r") == Dim(32));
  CHECK(bytes_of("p") == Dim(12));

  const std::string header = emit_stub_header(plan, {}).content;
  CHECK(header.find("#include \"my/fractal.hpp\"\n#include \"my/palette.hpp\"\n") != std::string::npos);
  CHECK(
      header.find("static_assert(sizeof(fractal::Region) == 32, \"fractal::Region has 32 bytes: my_ops.yaml\");\n") !=
      std::string::npos);
  CHECK(header.find("static_assert(alignof(fractal::Palette) == 4, \"fractal::Palette is aligned to 4 bytes: "
                    "my_ops.yaml\");\n") != std::string::npos);
  const auto stub =
      std::find_if(plan.stubs.begin(), plan.stubs.end(), [](const auto& each) { return each.name == "stub_t"; });
  REQUIRE(stub != plan.stubs.end());
  const std::string text = emit_stub(*stub, "g", "stubs", {}).content;
  CHECK(text.find("void stub_t(kgen::View<float, 1> t, kgen::View<const fractal::Region, 0> r, kgen::View<const "
                  "fractal::Palette, 0> p,\n") != std::string::npos);
  CHECK(text.find("fractal::render(r, p, t, stream);") != std::string::npos);
}

}  // namespace kgen::test
