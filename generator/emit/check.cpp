#include "generator/emit/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/base/contains.hpp"
#include "generator/base/languages.hpp"
#include "generator/base/writer.hpp"
#include "generator/emit/banner.hpp"
#include "generator/emit/check_stub.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/names.hpp"
#include "generator/emit/structs.hpp"
#include "generator/emit/stub.hpp"

namespace kgen {
namespace {

std::string locating_name(const StubUse& use) { return "locate_in_" + use.name; }

void write_declaration(Writer& out, const std::string& name, const StubProgram& stub, const char* tail) {
  std::vector<std::string> parameters{"kgen::Call& call"};
  const std::vector<std::string> names = parameter_names(stub);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const StubParameter& p = stub.parameters[i];
    parameters.push_back(fmt::format("{} {}", view_type(p.type, p.type.shape.size(), p.writable), names[i]));
  }
  write_list(out, fmt::format("void {}(", name), parameters, tail);
}

DType coarser(DType a, DType b) { return info(a).floating && info(b).floating && b > a ? b : a; }

// The coarsest floating type that the group computes through.
DType precision_of_group(const CheckedStub& stub, ValueId value) {
  DType coarsest = stub.graph.type(value).dtype;
  for (const NodeId id : stub.group.nodes) {
    for (const ValueId output : stub.graph.nodes[id].outputs)
      coarsest = coarser(coarsest, stub.graph.type(output).dtype);
  }
  return coarsest;
}

// The coarsest floating type that is rounded to between `node` and its reference: its result's, and those of what the
// stub holds for it in wider lanes.
DType precision_of_node(const CheckedStub& stub, const Node& node, ValueId value) {
  DType coarsest = stub.graph.type(value).dtype;
  for (const ValueId input : node.inputs) {
    if (input != no_id && stub.makes(stub.shown(input))) coarsest = coarser(coarsest, stub.graph.type(input).dtype);
  }
  return coarsest;
}

// f(x, 0) = x: a sum or a difference.
bool is_sum(const Node& node) {
  if (!node.op || node.op->kind != OpKind::elementwise) return false;
  const auto& identity = node.op->algebra.identity;
  return std::any_of(identity.begin(), identity.end(), [](const auto& each) { return each.second == Number(0); });
}

// Which terms of a value's sum: those of the node that makes it, or of all sums that it is one of.
enum class Terms { of_node, of_group };
constexpr std::size_t most_terms = 8;  // the nearest, where there are more

// Of what the value is the sum, as far as the stub makes that: what it reads is the same for the reference. A term that
// is seen through a view stands for itself: those of a sum behind the view lie in other shapes.
std::vector<ValueId> terms_of(const CheckedStub& stub, ValueId value, Terms which) {
  std::vector<ValueId> terms;
  if (!info(stub.graph.type(value).dtype).floating) return terms;
  const auto add_terms = [&](ValueId sum) {
    const NodeId id = stub.graph.value(sum).producer;
    if (!is_sum(stub.graph.nodes[id])) return;
    const std::vector<ValueId>& read = stub.unfused.arguments[stub.unfused.fused.group_of[id]];
    for (const ValueId input : stub.graph.nodes[id].inputs) {
      const bool is_read = std::find(read.begin() + 1, read.end(), input) != read.end();
      if (!is_read || contains(terms, input) || terms.size() == most_terms) continue;
      if (stub.makes(stub.shown(input))) terms.push_back(input);
    }
  };
  add_terms(value);
  if (which == Terms::of_group) {
    for (std::size_t i = 0; i < terms.size(); ++i) add_terms(terms[i]);
  }
  return terms;
}

// The two views that are compared and, where it is not that of their own type alone, the precision.
std::vector<std::string> compared(CheckBody& body, const CheckedStub& stub, ValueId value, const std::string& found,
                                  const std::string& reference, DType precision, Terms which) {
  std::vector<std::string> arguments{found, reference};
  std::vector<std::string> terms;
  for (const ValueId term : terms_of(stub, value, which)) terms.push_back(body.read(term));
  const std::string type = fmt::format("kgen::ElementType::{}", info(precision).name);
  if (!terms.empty()) {
    arguments.push_back(fmt::format("{{{}, call.terms({})}}", type, fmt::join(terms, ", ")));
  } else if (precision != stub.graph.type(value).dtype) {
    arguments.push_back(type);
  }
  return arguments;
}

void write_compare(Writer& out, const std::string& head, const CheckedStub& stub, ValueId value,
                   const std::vector<std::string>& views) {
  if (const StructType* structure = stub.graph.type(value).structure) {
    write_comment(out,
                  fmt::format("{} is a {}: only what kernels make of it can be compared.", views[0], structure->name));
    return;
  }
  if (!stub.compares(value)) {
    write_comment(out, fmt::format("{} follows from a step function of numbers that only the reference rounds: where "
                                   "they differ, both may be right.",
                                   views[0]));
    return;
  }
  const Node& node = stub.maker(value);
  std::vector<std::string> arguments = {cpp_string(node.within.empty() ? node.op->name : node.within),
                                        cpp_string(short_text(node.where))};
  arguments.insert(arguments.end(), views.begin(), views.end());
  write_list(out, head, arguments, ");");
}

std::string compare_stored(const CheckedStub& stub) {
  return fmt::format("call.compare({}, ", cpp_string(stub.program.name));
}

// void checked_stub_y(...), for one use of a stub: the references in a chain, then the stub. Where the stub names
// values on the way, it first runs into memory of its own, so that what it reads is still there to look into it.
void write_checked(Writer& out, const CheckedStub& stub, bool locates) {
  CheckBody body(out, stub, {"scratch"});
  const std::string& name = stub.program.name;
  const auto launch = body.arguments({}, fmt::format("call.launch({})", cpp_string(stub.use.step)));
  write_list(out, fmt::format("if (!call.checking()) return {}(", name), launch, ");");
  out.line("const auto scratch = call.scratch_scope();");
  for (const NodeId id : stub.group.nodes) {
    std::vector<std::string> made;
    const std::vector<ValueId>& results = stub.results(id);
    for (const ValueId result : results) made.push_back(body.make(result, stub.writes(result) ? "_reference" : ""));
    body.call_reference(id, made, body.read_inputs(id));
    for (std::size_t i = 0; i < made.size(); ++i) body.use(results[i], made[i]);
  }
  const std::vector<ValueId>& outputs = stub.group.outputs;
  const auto views = [&](std::size_t i, const std::string& found) {
    return compared(body, stub, outputs[i], found, body.read(outputs[i]), precision_of_group(stub, outputs[i]),
                    Terms::of_group);
  };
  if (locates) {
    std::vector<std::string> found;
    for (const ValueId output : outputs) found.push_back(body.make(output, "_found"));
    write_list(out, name + "(", body.arguments(found, "call.stream()"), ");");
    std::vector<std::string> arguments = body.arguments(found, "");
    arguments.pop_back();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!stub.compares(outputs[i])) continue;
      const auto block = out.block(fmt::format("if (call.differs({})) {{", fmt::join(views(i, found[i]), ", ")));
      write_list(out, locating_name(stub.use) + "(call, ", arguments, ");");
    }
  }
  write_list(out, name + "(", launch, ");");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    write_compare(out, compare_stored(stub), stub, outputs[i], views(i, body.parameters()[i]));
  }
}

// Runs the reference of one node on what the stub computed before it, and compares.
void write_located_node(Writer& out, const CheckedStub& stub, CheckBody& body, NodeId id) {
  const Node& node = stub.graph.nodes[id];
  const std::vector<std::string> inputs = body.read_inputs(id);
  const auto block = out.block("{");
  out.line("const auto scratch_of_operator = call.scratch_scope();");
  std::vector<std::string> references;
  for (const ValueId result : stub.results(id)) references.push_back(body.make(result, "_reference"));
  body.call_reference(id, references, inputs);
  for (std::size_t i = 0; i < references.size(); ++i) {
    const ValueId value = stub.results(id)[i];
    const std::string head = stub.writes(value) ? compare_stored(stub) : "observer.compare(";
    write_compare(out, head, stub, value,
                  compared(body, stub, value, body.read(value), references[i], precision_of_node(stub, node, value),
                           Terms::of_node));
  }
}

// void locate_in_stub_y(...): the copy of the stub that hands out what it computes on the way.
void write_locating(Writer& out, const CheckedStub& stub, const std::vector<WatchedValue>& watched) {
  CheckBody body(out, stub, {"scratch", "scratch_of_operator", "observer", "observed"});
  out.line("const auto scratch = call.scratch_scope();");
  out.line("kgen::Observer observer(call, {});", cpp_string(stub.program.name));
  for (std::size_t i = 0; i < stub.group.outputs.size(); ++i) body.use(stub.group.outputs[i], body.parameters()[i]);
  for (const NodeId id : stub.group.nodes) {
    for (const ValueId value : stub.results(id)) {
      if (stub.writes(value)) continue;
      const std::string name = body.make(value, "");
      body.use(value, name);
      const auto found =
          std::find_if(watched.begin(), watched.end(), [&](const WatchedValue& w) { return w.held->value == value; });
      if (found == watched.end()) continue;
      const std::string shape = body.index(found->held->reshaped);
      out.line("observer.watch({}, {});", cpp_string(found->key), view_text(name, found->held->view, {shape}));
    }
  }
  write_list(out, fmt::format("observed::{}(", stub.program.name), body.arguments({}, "call.stream()"), ");");
  for (const NodeId id : stub.group.nodes) write_located_node(out, stub, body, id);
}

void write_locating_functions(Writer& out, const Plan& plan, const std::vector<bool>& locates) {
  out.line();
  out.line("// Copies of the stubs, made from their files by `kgen observe`, that hand out each value that they name.");
  out.line("namespace observed {{");
  for (std::size_t i = 0; i < plan.stubs.size(); ++i) {
    if (locates[i]) out.append(stub_declaration(plan.stubs[i]) + ";\n");
  }
  out.line("}}  // namespace observed");
  out.line();
  out.line("namespace {{");
  out.line();
  out.line(
      "// Which operator of a stub differs: the reference of each runs on what the stub computed before it. The "
      "outputs");
  out.line("// are memory of their own.");
  for (const StubUse& use : plan.check->uses) {
    if (!locates[use.stub]) continue;
    const CheckedStub stub = checked_stub(plan, use);
    write_declaration(out, locating_name(use), stub.program, ") {");
    {
      const auto block = out.indent();
      write_locating(out, stub, watched_values(stub));
    }
    out.line();
  }
  out.line("}}  // namespace");
}

// By stub: whether its copy hands out values that no use stores. The copies do so on the host.
std::vector<bool> which_locate(const Plan& plan, const Target& target) {
  std::vector<bool> locates(plan.stubs.size(), false);
  if (!target.device.empty()) return locates;
  for (const StubUse& use : plan.check->uses) {
    if (!watched_values(checked_stub(plan, use)).empty()) locates[use.stub] = true;
  }
  return locates;
}

}  // namespace

std::string checked_name(const StubUse& use) { return "checked_" + use.name; }

std::vector<std::string> observed_stubs(const Plan& plan, const Target& target) {
  std::vector<std::string> names;
  const std::vector<bool> locates = which_locate(plan, target);
  for (std::size_t i = 0; i < plan.stubs.size(); ++i) {
    if (locates[i]) names.push_back(plan.stubs[i].name);
  }
  return names;
}

SourceFile emit_check_header(const Plan& plan, const EmitOptions& options) {
  Writer out;
  out.line("// Every use of a stub beside its unfused reference. Outside check mode these run the stub alone.");
  out.line("#pragma once");
  out.line();
  out.line("#include \"kgen/runtime/call.hpp\"");
  out.line("#include \"kgen/view.hpp\"");
  write_struct_headers(out, structs_of(plan));
  out.line();
  out.line("namespace {} {{", namespace_name(plan.main.fused.graph.name));
  out.line();
  for (const StubUse& use : plan.check->uses) write_declaration(out, checked_name(use), plan.stubs[use.stub], ");");
  out.line();
  out.line("}}  // namespace {}", namespace_name(plan.main.fused.graph.name));
  return {"check.hpp", with_banner(options, out.text())};
}

SourceFile emit_check_source(const Plan& plan, const EmitOptions& options) {
  const std::vector<bool> locates = which_locate(plan, *options.target);
  const bool any_locates = std::count(locates.begin(), locates.end(), true) > 0;
  Writer out;
  out.line("#include \"check.hpp\"");
  out.line();
  if (any_locates) out.line("#include \"kgen/runtime/observer.hpp\"");
  out.line("#include \"stubs.hpp\"");
  out.line();
  out.line("namespace {} {{", namespace_name(plan.main.fused.graph.name));
  out.line();
  out.line("// One stub for each operator.");
  for (const StubProgram& stub : plan.check->stubs) out.append(stub_declaration(stub) + ";\n");
  if (any_locates) write_locating_functions(out, plan, locates);
  for (const StubUse& use : plan.check->uses) {
    const CheckedStub stub = checked_stub(plan, use);
    out.line();
    write_declaration(out, checked_name(use), stub.program, ") {");
    const auto block = out.indent();
    write_checked(out, stub, locates[use.stub]);
  }
  out.line();
  out.line("}}  // namespace {}", namespace_name(plan.main.fused.graph.name));
  return {"check.cpp", with_banner(options, out.text())};
}

}  // namespace kgen
