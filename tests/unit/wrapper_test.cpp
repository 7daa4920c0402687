#include "generator/emit/wrapper.hpp"

#include <limits>
#include <sstream>

#include "generator/emit/banner.hpp"
#include "generator/pass/place/bind_dims.hpp"
#include "generator/pass/place/place.hpp"
#include "generator/pass/place/schedule.hpp"
#include "tests/unit/plan_builder.hpp"

namespace kgen {
namespace {

using Names = PlanBuilder::Names;

// What `lower` does, as far as a wrapper sees it: a stub for each group, named after its first output.
void add_stubs(Plan& plan, FunctionPlan& function) {
  for (std::vector<Step>* steps : {&function.load_steps, &function.steps}) {
    for (Step& step : *steps) {
      const Group& group = function.fused.groups[step.group];
      if (group.kind == GroupKind::call) continue;
      step.stub = static_cast<std::uint32_t>(plan.stubs.size());
      step.arguments = group.outputs;
      step.arguments.insert(step.arguments.end(), group.inputs.begin(), group.inputs.end());
      StubProgram stub;
      stub.name = "stub_" + function.fused.graph.value(group.outputs[0]).name;
      stub.uses = {stub.name + ": a stub."};
      step.name = function.fused.graph.value(group.outputs[0]).name;
      for (std::size_t i = 0; i < step.arguments.size(); ++i) {
        const Value& value = function.fused.graph.value(step.arguments[i]);
        stub.parameters.push_back({value.name, value.name, *value.type, i < group.outputs.size(), {}});
      }
      plan.stubs.push_back(std::move(stub));
    }
  }
}

Plan plan_of(const PlanBuilder& main, const std::vector<const PlanBuilder*>& functions = {}) {
  Plan plan;
  plan.file = "graph.yaml";
  for (const PlanBuilder* function : functions) {
    plan.functions.push_back(place(schedule(function->fused()), plan.functions));
    add_stubs(plan, plan.functions.back());
  }
  plan.main = place(schedule(main.fused()), plan.functions);
  add_stubs(plan, plan.main);
  return bind_dims(std::move(plan));
}

const EmitOptions options{"graph.yaml", "kgen plan graph.yaml"};

std::string file_of(const Plan& plan, const std::string& path) {
  for (const SourceFile& file : emit_wrapper(plan, options)) {
    if (file.path == path) return file.content;
  }
  FAIL("no file " << path);
  return {};
}

std::string source_of(const Plan& plan) { return file_of(plan, plan.main.fused.graph.name + ".cpp"); }

// Whether `text` holds the lines of `part` one after another, whatever their indentation.
bool has_lines(const std::string& text, const std::string& part) {
  const auto stripped = [](const std::string& lines) {
    std::istringstream in(lines);
    std::string all = "\n";
    for (std::string line; std::getline(in, line);) {
      const std::size_t first = line.find_first_not_of(' ');
      if (first != std::string::npos) all += line.substr(first) + "\n";
    }
    return all;
  };
  return stripped(text).find(stripped(part)) != std::string::npos;
}

PlanBuilder example() {
  PlanBuilder b("example");
  const Dim m = Dim::symbol("M"), p = Dim::symbol("P");
  b.dim("M", 1, 8192).dim("P", 0, 4095, "position").dim("K", 64, 64);
  b.input("A", {m, 64}, DType::bf16).input("x", {m, 8}, DType::f32, true).input("position", {}, DType::i64);
  b.constant("w", {64, 8}).constant("eps", {}, {1e-5}).state("cache", {4096, 8});
  b.structured("w_t", {"w"}, {8, 64})
      .structured("C", {"A", "w_t"}, {m, 8})
      .view(reshape_view({m, 2, 4}), "heads", "C", {m, 2, 4});
  b.elementwise("row", {"x"}, TensorType{DType::f32, {1, 8}}).update(0, p, "all", "cache", "row");
  b.structured("h", {"heads", "all"}, {m, 8}).elementwise("y", {"h", "x"});
  b.alone(GroupKind::structured, "w_t", true).alone(GroupKind::structured, "C").alone(GroupKind::elementwise, "row");
  b.alone(GroupKind::structured, "h").alone(GroupKind::elementwise, "y").next("cache", "all").outputs({"y"});
  b.requirement(p + Dim(2), 4096, "all: the update must end within axis 0 of cache");
  b.requirement(p, 4096, "all: never in doubt");
  return b;
}

TEST_CASE("wrapper: sizes that are elements of an input") {
  PlanBuilder b("listed");
  const Dim n = Dim::symbol("N");
  b.dim("N", 0, 9, "sizes", 1);
  b.input("x", {n, 8}, DType::f32).input("sizes", {2}, DType::i64);
  b.elementwise("y", {"x"}).alone(GroupKind::elementwise, "y").outputs({"y"});
  const std::string source = source_of(plan_of(b));
  CHECK(has_lines(source, R"(
const std::int64_t N = call.dim("N", 0, 9, call.input_element(1, 1));
// Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
const auto x = call.input<float, 2>(0, {N, 8});
const auto y = call.output<float, 2>(0, {N, 8});
)"));
  CHECK(source.find(".name = \"sizes\", .type = kgen::ElementType::i64, .dims = {\"2\"}, .on_host = true}") != std::string::npos);
}

TEST_CASE("wrapper: sizes, arguments, memory, arena and launches, in the order in which a reader needs them") {
  const std::string source = source_of(plan_of(example()));
  CHECK(has_lines(source, R"(
void run(kgen::Call& call) {
// Sizes, each checked against its range.
const std::int64_t M = call.dim("M", 1, 8192, call.input_extent(0, 0));
const std::int64_t P = call.dim("P", 0, 4095, call.input_scalar(2));
call.require(P + 2, 4096, "all: the update must end within axis 0 of cache");
// Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
const auto A = call.input<kgen::bf16, 2>(0, {M, 64});
const auto x = call.strided_input<float, 2>(1, {M, 8});
const auto y = call.output<float, 2>(0, {M, 8});
// Memory of the model.
const auto cache = call.state<float, 2>(0, {4096, 8});
const auto w_t = call.persistent<float, 2>(0);
// Arena: values that are never alive together share a slot.
const auto slot = kgen::lay_out({
32 * M,  // C
32 * M,  // h
});
const kgen::Arena arena = call.arena(slot.total);
const auto C = arena.view<float, 2>(slot[0], {M, 8});
const auto h = arena.view<float, 2>(slot[1], {M, 8});
stub_C(C, A, w_t, call.launch("C"));
const auto row = cache.slice<0>(P, 1);  // written in place
stub_row(row, x, call.launch("row"));
const auto heads = C.reshape<3>({M, 2, 4});  // a view: no copy
stub_h(h, heads, cache, call.launch("h"));
stub_y(y, h, x, call.launch("y"));
})"));
  CHECK(source.find("int64_t K") == std::string::npos);  // nothing needs it
  CHECK(source.find("never in doubt") == std::string::npos);
}

TEST_CASE("wrapper: load computes what is kept, and only then is there a load") {
  const std::string source = source_of(plan_of(example()));
  CHECK(has_lines(source, R"(
void load(kgen::Call& call) {
const auto w = call.constant<float, 2>(0);
const auto w_t = call.persistent<float, 2>(0);
stub_w_t(w_t, w, call.launch("w_t"));
call.release_constant(0);  // w
})"));
  CHECK(has_lines(source, ".load = graph_example::load,\n.run = graph_example::run,"));

  PlanBuilder b("plain");
  b.input("x", {8}).elementwise("y", {"x"}).alone(GroupKind::elementwise, "y").outputs({"y"});
  const std::string plain = source_of(plan_of(b));
  CHECK(plain.find("load") == std::string::npos);
  CHECK(plain.find("Sizes") == std::string::npos);
  CHECK(plain.find("Arena") == std::string::npos);
}

TEST_CASE("wrapper: the descriptor has a row for all that the runtime provides, and none for what stands in stubs") {
  CHECK(has_lines(source_of(plan_of(example())), R"(
const kgen_graph* kgen_graph_example(void) {
static const kgen::GraphInfo graph = {
.name = "example",
.inputs{
{.name = "A", .type = kgen::ElementType::bf16, .dims = {"M", "64"}},
{.name = "x", .type = kgen::ElementType::f32, .dims = {"M", "8"}, .strided = true},
{.name = "position", .type = kgen::ElementType::i64, .dims = {}, .on_host = true},
},
.outputs{
{.name = "y", .type = kgen::ElementType::f32, .dims = {"M", "8"}},
},
.constants{
{.name = "w", .type = kgen::ElementType::f32, .shape = {64, 8}, .file = "weights.safetensors", .key = "w",
.load_only = true},
},
.states{
{.name = "cache", .type = kgen::ElementType::f32, .shape = {4096, 8}},
},
.persistents{
{.name = "w_t", .type = kgen::ElementType::f32, .shape = {8, 64}},
},
.load = graph_example::load,
.run = graph_example::run,
};
return kgen::as_c(graph);
})"));
}

TEST_CASE("wrapper: what a state begins as stands in its row") {
  PlanBuilder b("begins");
  b.input("x", {8})
      .state("scale", {8}, {{}, "m.safetensors", "layers.0.scale"})
      .state("count", {}, {{2}, "", ""})
      .elementwise("y", {"x", "scale", "count"})
      .alone(GroupKind::elementwise, "y")
      .outputs({"y"});
  CHECK(has_lines(source_of(plan_of(b)), R"(
.states{
{.name = "scale", .type = kgen::ElementType::f32, .shape = {8}, .file = "m.safetensors", .key = "layers.0.scale"},
{.name = "count", .type = kgen::ElementType::f32, .shape = {}, .values = {2}},
},)"));
}

TEST_CASE("wrapper: a constant of no elements is in no file") {
  PlanBuilder b("no_elements");
  b.input("x", {0}).constant("w", {0}, {}).elementwise("y", {"x", "w"}).alone(GroupKind::elementwise, "y").outputs({"y"});
  const std::string source = source_of(plan_of(b));
  CHECK(source.find(".shape = {0}}") != std::string::npos);
  CHECK(source.find(".file") == std::string::npos);
}

TEST_CASE("wrapper: inline values of constants, with infinities, within the width of a line") {
  PlanBuilder b("inline_values");
  std::vector<Number> values(100, 0.25);
  values[1] = -std::numeric_limits<double>::infinity();
  values[99] = -0.0;
  b.input("x", {100})
      .constant("w", {100}, values)
      .elementwise("y", {"x", "w"})
      .alone(GroupKind::elementwise, "y")
      .outputs({"y"});
  const std::string source = source_of(plan_of(b));
  CHECK(source.find(".shape = {100}, .values = {0.25,") != std::string::npos);
  CHECK(source.find("-std::numeric_limits<double>::infinity(), 0.25") != std::string::npos);
  CHECK(source.find("0.25, -0.0}") != std::string::npos);
  CHECK(source.find("#include <limits>") != std::string::npos);
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    CHECK(line.size() <= 120);
    CHECK((line.empty() || line.back() != ' '));
  }
}

TEST_CASE("wrapper: extents that are expressions are checked, also where nothing reads them") {
  PlanBuilder b("checked");
  const Dim d = Dim::symbol("D"), s = Dim::symbol("S"), p = Dim::symbol("P");
  b.dim("D", 1, 64).dim("S", 1, 8).dim("P", 0, 8).input("x", {Dim(2) * d, p + s}).input("z", {s * d, s + Dim(1)});
  b.input("w", {d, s, p}).elementwise("y", {"x", "w"}, TensorType{DType::f32, {d, s, p}}).elementwise("unused", {"z"});
  b.alone(GroupKind::elementwise, "y").outputs({"y"});
  CHECK(has_lines(source_of(plan_of(b)), R"(
const std::int64_t D = call.dim("D", 1, 64, call.input_extent(2, 0));
const std::int64_t S = call.dim("S", 1, 8, call.input_extent(2, 1));
const std::int64_t P = call.dim("P", 0, 8, call.input_extent(2, 2));
// Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
const auto x = call.input<float, 2>(0, {2 * D, P + S});
call.input<float, 2>(1, {D * S, S + 1});  // not read, but checked
const auto w = call.input<float, 3>(2, {D, S, P});
const auto y = call.output<float, 3>(0, {D, S, P});)"));
}

TEST_CASE("wrapper: names of values that mean something in C++ are changed, and nothing else is") {
  PlanBuilder b("names");
  const Dim m = Dim::symbol("call");
  b.dim("call", 1, 8).input("float", {m}).input("slot", {m}).structured("stub_arena", {"float", "slot"}, {m});
  b.structured("arena", {"stub_arena"}, {m}).structured("assert", {"arena"}, {m});
  for (const char* name : {"stub_arena", "arena", "assert"}) b.alone(GroupKind::structured, name);
  b.outputs({"assert"});
  const std::string source = source_of(plan_of(b));
  CHECK(has_lines(source, "void run(kgen::Call& call_) {"));
  CHECK(has_lines(source, "const std::int64_t call = call_.dim(\"call\", 1, 8, call_.input_extent(0, 0));"));
  CHECK(has_lines(source, "const auto float_ = call_.input<float, 1>(0, {call});"));
  CHECK(has_lines(source, "const auto slot_ = call_.input<float, 1>(1, {call});"));
  CHECK(has_lines(source, "const auto stub_arena_ = arena.view<float, 1>(slot[0], {call});"));
  CHECK(has_lines(source, "stub_arena(arena_, stub_arena_, call_.launch(\"arena\"));"));
}

Shape rows_of_8() { return {Dim::symbol("M"), 8}; }

// A function with a constant, a result of load, a state and an arena.
PlanBuilder layer(const std::string& key = "layers.{index}.w") {
  PlanBuilder b("layer");
  b.dim("M", 1, 100)
      .input("h", rows_of_8())
      .input("mask", {Dim::symbol("M")})
      .constant("w", {8, 8}, {}, key)
      .state("k", rows_of_8());
  b.structured("wt", {"w"}, {8, 8}).structured("a", {"h", "wt"}, rows_of_8()).elementwise("k_new", {"a"});
  b.structured("h_out", {"a", "k_new"}, rows_of_8()).alone(GroupKind::structured, "wt", true);
  b.alone(GroupKind::structured, "a").alone(GroupKind::elementwise, "k_new").alone(GroupKind::structured, "h_out");
  b.next("k", "k_new").outputs({"h_out"});
  return b;
}

PlanBuilder model(std::int64_t repeat) {
  PlanBuilder b("model");
  b.dim("M", 1, 100).input("x", rows_of_8()).input("mask", {Dim::symbol("M")}).structured("h", {"x"}, rows_of_8());
  b.call(Call{0, repeat, 0}, {"y"}, {"h", "mask"}, {{DType::f32, rows_of_8()}});
  b.alone(GroupKind::structured, "h").alone(GroupKind::call, "y").outputs({"y"});
  return b;
}

TEST_CASE("wrapper: a function is emitted once, with the memory of one call and its own arena") {
  const PlanBuilder function = layer(), main = model(1);
  const std::string source = source_of(plan_of(main, {&function}));
  CHECK(has_lines(source, R"(
struct layer_memory {
kgen::View<float, 2> k;
kgen::View<const float, 2> wt;  // computed by load
};
layer_memory layer_memory_of(kgen::Call& call, std::int64_t index, std::int64_t M) {
return {
.k = call.state<float, 2>(0, {M, 8}, index),
.wt = call.persistent<float, 2>(0, index),
};
})"));
  CHECK(has_lines(source, R"(
kgen::Offsets<1> layer_slots(std::int64_t M) {
return kgen::lay_out({
32 * M,  // a
});
})"));
  CHECK(has_lines(source, R"(
void layer(kgen::Call& call, const kgen::Arena& arena, const layer_memory& memory, kgen::View<float, 2> h_out,
kgen::View<const float, 2> h, kgen::View<const float, 1> /*mask*/, std::int64_t M) {
const auto slot = layer_slots(M);
const auto a = arena.view<float, 2>(slot[0], {M, 8});
stub_a(a, h, memory.wt, call.launch("a"));
stub_k_new(memory.k, a, call.launch("k_new"));
stub_h_out(h_out, a, memory.k, call.launch("h_out"));
})"));
  CHECK(has_lines(source, "layer(call, arena.part(slot[1]), layer_memory_of(call, 0, M), y, h, mask, M);"));
  CHECK(has_lines(source, "layer_slots(M).total,  // the arena of layer"));
}

TEST_CASE("wrapper: what follows from constants that all calls share is computed and kept once") {
  const PlanBuilder own = layer(), shared = layer("w"), main = model(3);
  const std::string each = source_of(plan_of(main, {&own})), once = source_of(plan_of(main, {&shared}));
  CHECK(has_lines(each, R"(
void layer_load(kgen::Call& call, std::int64_t index) {
const auto w = call.constant<float, 2>(0, index);
const auto wt = call.persistent<float, 2>(0, index);
stub_wt(wt, w, call.launch("wt"));
call.release_constant(0, index);  // w
})"));
  CHECK(has_lines(each, "{.name = \"layer.wt\", .type = kgen::ElementType::f32, .shape = {8, 8}, .calls = 3},"));
  CHECK(each.find("load_shared") == std::string::npos);
  CHECK(has_lines(once, R"(
void layer_load_shared(kgen::Call& call) {
const auto w = call.constant<float, 2>(0);
const auto wt = call.persistent<float, 2>(0);
stub_wt(wt, w, call.launch("wt"));
call.release_constant(0);  // w
})"));
  CHECK(has_lines(once, "void load(kgen::Call& call) {\nlayer_load_shared(call);\n}"));
  CHECK(has_lines(once, ".wt = call.persistent<float, 2>(0),"));
  CHECK(has_lines(once, "{.name = \"layer.wt\", .type = kgen::ElementType::f32, .shape = {8, 8}},"));
}

TEST_CASE("wrapper: repeated calls pass two buffers to and fro, and the last writes the result") {
  const PlanBuilder function = layer();
  for (const std::int64_t repeat : {3, 32}) {
    const PlanBuilder main = model(repeat);
    const std::string source = source_of(plan_of(main, {&function}));
    const std::string other = "arena.view<float, 2>(slot[2], {M, 8})";
    const std::string buffers = repeat % 2 == 0 ? other + ", y" : "y, " + other;
    CHECK(has_lines(source,
                    "// Each call reads what the call before it wrote.\n"
                    "const kgen::View<float, 2> y_carried[2] = {" +
                        buffers +
                        "};\n"
                        "for (std::int64_t i = 0; i < " +
                        std::to_string(repeat) +
                        "; ++i) {\n"
                        "layer(call, arena.part(slot[1]), layer_memory_of(call, i, M), y_carried[i % 2], "
                        "i == 0 ? h : y_carried[(i + 1) % 2],\nmask, M);\n}"));
    CHECK(has_lines(source, "for (std::int64_t index = 0; index < " + std::to_string(repeat) +
                                "; ++index) layer_load(call, index);"));
    CHECK(has_lines(source, "{.name = \"layer.k\", .type = kgen::ElementType::f32, .shape = {100, 8}, .calls = " +
                                std::to_string(repeat) + "},"));
  }
}

TEST_CASE("wrapper: calls within functions have the numbers that the graph gives them") {
  const PlanBuilder inner = layer();
  PlanBuilder block("block"), main("outer");
  const TensorType type{DType::f32, rows_of_8()};
  block.dim("M", 1, 100).input("h", rows_of_8()).input("mask", {Dim::symbol("M")});
  block.call(Call{0, 2, 0, 3}, {"b"}, {"h", "mask"}, {type}).call(Call{0, 1, 2, 3}, {"c"}, {"b", "mask"}, {type});
  block.alone(GroupKind::call, "b").alone(GroupKind::call, "c").outputs({"c"});
  main.dim("M", 1, 100).input("x", rows_of_8()).input("mask", {Dim::symbol("M")});
  main.call(Call{0, 1, 12, 2}, {"p"}, {"x", "mask"}, {type}).call(Call{1, 4, 0, 4}, {"q"}, {"p", "mask"}, {type});
  main.call(Call{0, 1, 13, 2}, {"r"}, {"q", "mask"}, {type});
  for (const char* name : {"p", "q", "r"}) main.alone(GroupKind::call, name);
  main.outputs({"r"});
  const std::string source = source_of(plan_of(main, {&inner, &block}));
  CHECK(source.find("layer_memory_of(call, 12, M)") != std::string::npos);
  CHECK(source.find("layer_memory_of(call, 13, M)") != std::string::npos);
  CHECK(source.find("layer_memory_of(call, index * 3 + i, M)") != std::string::npos);
  CHECK(source.find("layer_memory_of(call, index * 3 + 2, M)") != std::string::npos);
  CHECK(source.find(".calls = 14}") != std::string::npos);  // 2 + 4 * 3
  CHECK(has_lines(source,
                  "void block(kgen::Call& call, const kgen::Arena& arena, std::int64_t index, kgen::View<float, 2> c,\n"
                  "kgen::View<const float, 2> h, kgen::View<const float, 1> mask, std::int64_t M) {"));
}

TEST_CASE("wrapper: a function that nothing calls is not emitted") {
  const PlanBuilder function = layer();
  PlanBuilder b("lonely");
  b.input("x", {8}).elementwise("y", {"x"}).alone(GroupKind::elementwise, "y").outputs({"y"});
  CHECK(source_of(plan_of(b, {&function})).find("layer") == std::string::npos);
}

TEST_CASE("wrapper: every kind of view") {
  PlanBuilder b("views");
  const auto form = [](ViewRule::Form form, int axis = 0) {
    IndexMap view;
    view.form = form;
    view.axis = axis;
    return view;
  };
  using Form = ViewRule::Form;
  IndexMap sliced = slice_view(1, 2, 3), chosen = form(Form::select, 1);
  sliced.step = 2;
  chosen.begin = Dim(5);
  b.input("x", {4, 8}).view(permute_view({1, 0}), "a", "x", {8, 4}).view(sliced, "b", "x", {4, 3});
  b.view(chosen, "c", "x", {4})
      .view(form(Form::unsqueeze, 2), "d", "x", {4, 8, 1})
      .view(form(Form::flip, 1), "e", "x", {4, 8});
  b.view(form(Form::broadcast), "f", "c", {2, 4}).view(form(Form::squeeze, 2), "g", "d", {4, 8});
  b.structured("y", {"a", "b", "c", "e", "f", "g"}, {4}).alone(GroupKind::structured, "y").outputs({"y"});
  CHECK(has_lines(source_of(plan_of(b)), R"(
const auto a = x.permute<1, 0>();  // a view: no copy
const auto b = x.slice<1>(2, 3, 2);  // a view: no copy
const auto c = x.select<1>(5);  // a view: no copy
const auto e = x.flip<1>();  // a view: no copy
const auto f = c.broadcast_to(kgen::Index<2>{2, 4});  // a view: no copy
const auto d = x.unsqueeze<2>();  // a view: no copy
const auto g = d.squeeze<2>();  // a view: no copy
stub_y(y, a, b, c, e, f, g, call.launch("y"));)"));
}

TEST_CASE("wrapper: header, declarations and build files") {
  const Plan plan = plan_of(example());
  CHECK(has_lines(file_of(plan, "example.hpp"), R"(
//   inputs   A: bf16[M, 64]
//            x: f32[M, 8]
//            position: i64[]
//   outputs  y: f32[M, 8]
//   dims     M: 1..8192
//            P: 0..4095, the value of position
//            K: 64
#pragma once)"));
  CHECK(has_lines(file_of(plan, "example.hpp"), "KGEN_EXTERN_C const kgen_graph* kgen_graph_example(void);"));
  CHECK(has_lines(file_of(plan, "stubs.hpp"), R"(
// stub_C: a stub.
void stub_C(kgen::View<float, 2> C, kgen::View<const kgen::bf16, 2> A, kgen::View<const float, 2> w_t,
kgen::Stream stream);)"));
  CHECK(has_lines(file_of(plan, "sources.cmake"), R"(
set(kgen_sources
example.cpp
stubs/stub_C.cpp
stubs/stub_h.cpp
stubs/stub_row.cpp
stubs/stub_w_t.cpp
stubs/stub_y.cpp
)
set(kgen_headers
example.hpp
stubs.hpp
))"));
  CHECK(has_lines(file_of(plan, "CMakeLists.txt"), "add_library(example ${kgen_sources})"));
  CHECK(has_lines(file_of(plan, "CMakeLists.txt"), "kgen_compile_emitted(example)"));
}

TEST_CASE("wrapper: build files say where no two operators may become one instruction") {
  Plan plan = plan_of(example());
  CHECK(file_of(plan, "sources.cmake").find("kgen_numerics") == std::string::npos);
  plan.main.fused.graph.numerics = Numerics::match_unfused;
  CHECK(has_lines(file_of(plan, "sources.cmake"), "set(kgen_numerics match_unfused)"));
}

TEST_CASE("banner: names the graph, and nothing that changes while the content stays") {
  CHECK(with_banner(options, "int x;\n") ==
        "// Written by kgen from graph.yaml.\n"
        "// Edit it as you like: `kgen plan` merges what is new with your edits.\n"
        "\n"
        "int x;\n");
  CHECK(with_banner(options, "", "#").starts_with("# Written by"));
}

}  // namespace
}  // namespace kgen
