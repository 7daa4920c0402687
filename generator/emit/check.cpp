#include "generator/emit/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "generator/base/writer.hpp"
#include "generator/emit/banner.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/names.hpp"
#include "generator/emit/structs.hpp"
#include "generator/emit/stub.hpp"

namespace kgen {
namespace {

// One use of a stub: all uses compute the same, so any will do.
struct Use {
  const FunctionPlan* plan = nullptr;
  const UnfusedGraph* unfused = nullptr;
  const Step* step = nullptr;
};

std::vector<Use> first_uses(const Plan& plan) {
  std::vector<Use> uses(plan.stubs.size());
  const auto visit = [&](const FunctionPlan& function, const UnfusedGraph& unfused) {
    for (const auto* steps : {&function.load_steps, &function.steps}) {
      for (const Step& step : *steps) {
        if (step.stub != no_id && !uses[step.stub].plan) uses[step.stub] = {&function, &unfused, &step};
      }
    }
  };
  for (std::size_t i = 0; i < plan.functions.size(); ++i) visit(plan.functions[i], plan.check->functions[i]);
  visit(plan.main, plan.check->main);
  return uses;
}

void write_declaration(Writer& out, const StubProgram& stub, const char* tail) {
  std::vector<std::string> parameters{"kgen::Call& call"};
  const std::vector<std::string> names = parameter_names(stub);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const StubParameter& p = stub.parameters[i];
    parameters.push_back(fmt::format("{} {}", view_type(p.type, p.type.shape.size(), p.writable), names[i]));
  }
  write_list(out, fmt::format("void {}(", checked_name(stub)), parameters, tail);
}

class CheckFunction {
 public:
  CheckFunction(Writer& out, const Plan& plan, const StubProgram& stub, const Use& use)
      : out_(out),
        plan_(plan),
        stub_(stub),
        use_(use),
        graph_(use.plan->fused.graph),
        group_(use.plan->fused.groups[use.step->group]),
        parameters_(parameter_names(stub)) {
    names_.reserve("call");
    names_.reserve("scratch");
    for (const std::string& name : parameters_) names_.reserve(name);
    for (std::size_t i = 0; i < use.step->arguments.size(); ++i) {
      const ValueId value = use.step->arguments[i];
      if (i >= group_.outputs.size()) known_[value] = parameters_[i];
    }
  }

  void write() {
    std::vector<std::string> arguments = parameters_;
    arguments.push_back(fmt::format("call.launch({})", quoted(stub_.name)));
    write_list(out_, fmt::format("if (!call.checking()) return {}(", stub_.name), arguments, ");");
    out_.line("const auto scratch = call.scratch_scope();");
    for (const NodeId id : group_.nodes) write_node(id);
    write_list(out_, stub_.name + "(", arguments, ");");
    for (std::size_t i = 0; i < group_.outputs.size(); ++i) write_compare(i);
  }

 private:
  // An extent, read off a parameter that has it.
  std::string extent_text(const Dim& extent) const {
    if (extent.is_constant()) return std::to_string(extent.constant());
    for (std::size_t i = 0; i < stub_.parameters.size(); ++i) {
      const Shape& shape = graph_.type(use_.step->arguments[i]).shape;
      const auto axis = std::find(shape.begin(), shape.end(), extent);
      if (axis != shape.end()) return fmt::format("{}.extent({})", parameters_[i], axis - shape.begin());
    }
    assert(false && "what a stub computes has extents of what it reads or writes");
    return {};
  }

  std::vector<std::string> extents(const Shape& shape) const {
    std::vector<std::string> texts;
    for (const Dim& extent : shape) texts.push_back(extent_text(extent));
    return texts;
  }

  // Memory of its own for a value that the group makes.
  std::string make(ValueId value) {
    const TensorType& type = graph_.type(value);
    const bool output = std::find(group_.outputs.begin(), group_.outputs.end(), value) != group_.outputs.end();
    const std::string name = names_.unique(graph_.value(value).name + (output ? "_reference" : ""));
    write_list(out_, fmt::format("const auto {} = call.scratch<{}, {}>({{", name, cpp_element(type), type.shape.size()),
               extents(type.shape), "});");
    known_[value] = name;
    return name;
  }

  // A value that a node reads: a parameter, what an earlier node made, or that with axes of extent 1 more or fewer.
  std::string read(ValueId value) {
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    const Node& view = graph_.nodes[graph_.value(value).producer];
    assert(std::holds_alternative<View>(view.kind));
    const std::string base = read(view.inputs[0]);
    const Shape& shape = graph_.type(value).shape;
    const std::string name = names_.unique(graph_.value(value).name);
    write_list(out_, fmt::format("const auto {} = {}.reshape<{}>({{", name, base, shape.size()), extents(shape), "});");
    return known_[value] = name;
  }

  void write_node(NodeId id) {
    const std::uint32_t own = use_.unfused->fused.group_of[id];
    const Group& alone = use_.unfused->fused.groups[own];
    const StubProgram& reference = plan_.check->stubs[use_.unfused->stub_of[own]];
    std::vector<std::string> arguments;
    for (const ValueId output : alone.outputs) arguments.push_back(make(output));
    for (const ValueId input : alone.inputs) arguments.push_back(read(input));
    arguments.push_back("call.stream()");
    const SourceLocation& where = graph_.nodes[id].where;
    write_list(out_, reference.name + "(", arguments, ");", where.known() ? fmt::format("// :{}", where.line) : "");
  }

  // The coarsest floating type that the group computes through.
  DType precision(ValueId value) const {
    DType coarsest = graph_.type(value).dtype;
    for (const NodeId id : group_.nodes) {
      for (const ValueId output : graph_.nodes[id].outputs) {
        const DType dtype = graph_.type(output).dtype;
        if (info(dtype).floating && info(coarsest).floating && dtype > coarsest) coarsest = dtype;
      }
    }
    return coarsest;
  }

  void write_compare(std::size_t i) {
    const ValueId value = group_.outputs[i];
    if (const StructType* structure = graph_.type(value).structure) {
      write_comment(out_, fmt::format("{} is a {}: only what kernels make of it can be compared.", parameters_[i],
                                      structure->name));
      return;
    }
    const Node& node = graph_.nodes[graph_.value(value).producer];
    std::vector<std::string> arguments = {quoted(stub_.name), quoted(node.within.empty() ? node.op->name : node.within),
                                          quoted(short_text(node.where)), parameters_[i], known_.at(value)};
    const DType dtype = precision(value);
    if (dtype != graph_.type(value).dtype) arguments.push_back(fmt::format("kgen::ElementType::{}", info(dtype).name));
    write_list(out_, "call.compare(", arguments, ");");
  }

  Writer& out_;
  const Plan& plan_;
  const StubProgram& stub_;
  const Use& use_;
  const Graph& graph_;
  const Group& group_;
  std::vector<std::string> parameters_;
  NameTable names_;
  std::unordered_map<ValueId, std::string> known_;  // what stands for a value
};

}  // namespace

std::string checked_name(const StubProgram& stub) { return "checked_" + stub.name; }

SourceFile emit_check_header(const Plan& plan, const EmitOptions& options) {
  Writer out;
  out.line("// Every stub beside its unfused reference. Outside check mode these run the stub alone.");
  out.line("#pragma once");
  out.line();
  out.line("#include \"kgen/runtime/call.hpp\"");
  out.line("#include \"kgen/view.hpp\"");
  write_struct_headers(out, structs_of(plan));
  out.line();
  out.line("namespace {} {{", plan.main.fused.graph.name);
  out.line();
  for (const StubProgram& stub : plan.stubs) write_declaration(out, stub, ");");
  out.line();
  out.line("}}  // namespace {}", plan.main.fused.graph.name);
  return {"check.hpp", with_banner(options, out.text())};
}

SourceFile emit_check_source(const Plan& plan, const EmitOptions& options) {
  Writer out;
  out.line("#include \"check.hpp\"");
  out.line();
  out.line("#include \"stubs.hpp\"");
  out.line();
  out.line("namespace {} {{", plan.main.fused.graph.name);
  out.line();
  out.line("// One stub for each operator.");
  for (const StubProgram& stub : plan.check->stubs) out.append(stub_declaration(stub) + ";\n");
  const std::vector<Use> uses = first_uses(plan);
  for (std::size_t i = 0; i < plan.stubs.size(); ++i) {
    out.line();
    write_declaration(out, plan.stubs[i], ") {");
    const auto scope = out.indent();
    CheckFunction(out, plan, plan.stubs[i], uses[i]).write();
  }
  out.line();
  out.line("}}  // namespace {}", plan.main.fused.graph.name);
  return {"check.cpp", with_banner(options, out.text())};
}

}  // namespace kgen
