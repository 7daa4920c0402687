#include "generator/emit/wrapper.hpp"

#include <sstream>

#include "generator/emit/banner.hpp"
#include "generator/pass/place.hpp"
#include "generator/pass/schedule.hpp"
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
      stub.comment = {stub.name + ": a stub."};
      for (std::size_t i = 0; i < step.arguments.size(); ++i) {
        const Value& value = function.fused.graph.value(step.arguments[i]);
        stub.parameters.push_back({value.name, value.type->dtype, value.type->shape, i < group.outputs.size()});
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
  return plan;
}

const EmitOptions options{"0.1.0", "kgen plan graph.yaml", false};

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
  b.structured("w_t", {"w"}, {8, 64}).structured("C", {"A", "w_t"}, {m, 8}).view(reshape_view({m, 2, 4}), "heads", "C", {m, 2, 4});
  b.elementwise("row", {"x"}, TensorType{DType::f32, {1, 8}}).update(0, p, "all", "cache", "row");
  b.structured("h", {"heads", "all"}, {m, 8}).elementwise("y", {"h", "x"});
  b.alone(GroupKind::structured, "w_t", true).alone(GroupKind::structured, "C").alone(GroupKind::elementwise, "row");
  b.alone(GroupKind::structured, "h").alone(GroupKind::elementwise, "y").next("cache", "all").outputs({"y"});
  b.requirement(p + Dim(1), 4096, "all: the update must end within axis 0 of cache");
  b.requirement(p, 4096, "all: never in doubt");
  return b;
}

TEST_CASE("print") { 
  PlanBuilder b = example();
  Plan p = plan_of(b);
  for (auto& f : emit_wrapper(p, options)) MESSAGE(f.path << "\n" << f.content);

  PlanBuilder layer("layer");
  const Dim m = Dim::symbol("M");
  layer.dim("M", 1, 100).input("h", {m, 8}).input("mask", {m}).constant("w", {8, 8}).state("k", {m, 8});
  layer.structured("wt", {"w"}, {8,8}).structured("a", {"h", "wt"}, {m, 8}).elementwise("k_new", {"a"}).structured("h_out", {"a", "k_new"}, {m, 8});
  layer.alone(GroupKind::structured, "wt", true).alone(GroupKind::structured, "a").alone(GroupKind::elementwise, "k_new").alone(GroupKind::structured, "h_out").next("k", "k_new").outputs({"h_out"});
  PlanBuilder block("block");
  block.dim("M", 1, 100).input("h", {m, 8}).input("mask", {m});
  block.call(Call{0, 2, 0}, {"b"}, {"h", "mask"}, {{DType::f32, {m, 8}}}).alone(GroupKind::call, "b").outputs({"b"});
  PlanBuilder model("model");
  model.dim("M", 1, 100).input("x", {m, 8}).input("mask", {m});
  model.structured("h", {"x"}, {m, 8}).call(Call{0, 32, 0}, {"h2"}, {"h", "mask"}, {{DType::f32, {m, 8}}}).call(Call{1, 1, 0}, {"h3"}, {"h2", "mask"}, {{DType::f32, {m, 8}}}).structured("y", {"h3"}, {m, 8});
  model.alone(GroupKind::structured, "h").alone(GroupKind::call, "h2").alone(GroupKind::call, "h3").alone(GroupKind::structured, "y").outputs({"y"});
  Plan q = plan_of(model, {&layer, &block});
  MESSAGE(source_of(q));
}

}  // namespace
}  // namespace kgen
