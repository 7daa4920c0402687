#include "generator/emit/check_stub.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/base/ensure.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/emit/functor.hpp"
#include "generator/emit/observe.hpp"
#include "generator/emit/stub.hpp"

namespace kgen {

ValueId CheckedStub::shown(ValueId value) const {
  while (graph.value(value).kind == ValueKind::result) {
    const Node& node = graph.nodes[graph.value(value).producer];
    if (!std::holds_alternative<IndexMap>(node.kind) || node.inputs.size() != 1) break;
    value = node.inputs[0];
  }
  return value;
}

bool CheckedStub::makes(ValueId value) const {
  return std::binary_search(group.nodes.begin(), group.nodes.end(), graph.value(value).producer);
}

bool CheckedStub::writes(ValueId value) const {
  return std::find(group.outputs.begin(), group.outputs.end(), value) != group.outputs.end();
}

bool CheckedStub::compares(ValueId value) const {
  return !std::binary_search(use.stepped.begin(), use.stepped.end(), value) && !graph.type(value).structure;
}

const std::vector<ValueId>& CheckedStub::results(NodeId node) const {
  return unfused.fused.groups[unfused.fused.group_of[node]].outputs;
}

const Node& CheckedStub::maker(ValueId value) const {
  const auto held =
      std::find_if(use.held.begin(), use.held.end(), [&](const HeldValue& h) { return h.value == value; });
  return graph.nodes[held == use.held.end() ? graph.value(value).producer : held->maker];
}

CheckedStub checked_stub(const Plan& plan, const StubUse& use) {
  const bool in_main = use.function == no_id;
  const FunctionPlan& function = in_main ? plan.main : plan.functions[use.function];
  const UnfusedGraph& unfused = in_main ? plan.check->main : plan.check->functions[use.function];
  return {plan.stubs[use.stub], use, function.fused.graph, function.fused.groups[use.group], unfused, plan.check->stubs};
}

std::vector<WatchedValue> watched_values(const CheckedStub& stub) {
  std::vector<std::vector<std::vector<std::string>>> names;  // by functor
  for (const Functor& functor : stub.program.functors) names.push_back(statement_names(functor));
  std::vector<WatchedValue> watched;
  for (const HeldValue& held : stub.use.held) {
    if (!held.shown || stub.writes(held.value)) continue;
    const Functor& functor = stub.program.functors[held.functor];
    if (!functor.structure.empty()) continue;  // which of its objects was seen, nobody knows
    std::string name;
    if (held.statement == Functor::none) {
      name = incoming_names(functor)[held.result];
    } else if (const auto& results = names[held.functor][held.statement]; !results.empty()) {
      name = results[held.result];
    } else if (functor.role == Functor::Role::prologue && held.statement + 1 == functor.statements.size()) {
      name = observed_return;
    }
    if (!name.empty()) watched.push_back({&held, observed_key(functor.name, name)});
  }
  return watched;
}

CheckBody::CheckBody(Writer& out, const CheckedStub& stub, const std::vector<const char*>& locals)
    : out_(out), stub_(stub), parameters_(parameter_names(stub.program)) {
  names_.reserve("call");
  for (const char* local : locals) names_.reserve(local);
  for (const std::string& name : parameters_) names_.reserve(name);
  for (std::size_t i = stub.group.outputs.size(); i < parameters_.size(); ++i) {
    known_[stub.use.arguments[i]] = parameters_[i];
  }
}

std::vector<std::string> CheckBody::arguments(const std::vector<std::string>& outputs,
                                              const std::string& stream) const {
  std::vector<std::string> texts = parameters_;
  std::copy(outputs.begin(), outputs.end(), texts.begin());
  texts.push_back(stream);
  return texts;
}

// An extent, read off a parameter that has it.
std::string CheckBody::extent_text(const Dim& extent) const {
  if (extent.is_constant()) return std::to_string(extent.constant());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Shape& shape = stub_.graph.type(stub_.use.arguments[i]).shape;
    const auto axis = std::find(shape.begin(), shape.end(), extent);
    if (axis != shape.end()) return fmt::format("{}.extent({})", parameters_[i], axis - shape.begin());
  }
  internal_error("what a stub computes has extents of what it reads or writes");
}

std::vector<std::string> CheckBody::extents(const Shape& shape) const {
  std::vector<std::string> texts;
  for (const Dim& extent : shape) texts.push_back(extent_text(extent));
  return texts;
}

std::string CheckBody::index(const Shape& shape) const {
  return fmt::format("kgen::Index<{}>{{{}}}", shape.size(), fmt::join(extents(shape), ", "));
}

std::string CheckBody::make(ValueId value, const char* suffix) {
  const TensorType& type = stub_.graph.type(value);
  std::string name = names_.unique(stub_.graph.value(value).name + suffix);
  write_list(out_, fmt::format("const auto {} = call.scratch<{}, {}>({{", name, cpp_element(type), type.shape.size()),
             extents(type.shape), "});");
  return name;
}

std::string CheckBody::read(ValueId value) {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  const Node& node = stub_.graph.nodes[stub_.graph.value(value).producer];
  ensure(std::holds_alternative<IndexMap>(node.kind), "what a stub's reference reads is known, or a view of it");
  const IndexMap& view = std::get<IndexMap>(node.kind);
  const std::string base = read(node.inputs[0]);
  const Shape& shape = stub_.graph.type(value).shape;
  const std::string name = names_.unique(stub_.graph.value(value).name);
  if (view.form == ViewRule::Form::slice) {
    const ConstantSlice slice{view.axis, view.begin.constant(), view.length.constant(), view.step};
    out_.line("const auto {} = {};", name, view_text(base, {.slices = {slice}}, {}));
  } else {
    write_list(out_, fmt::format("const auto {} = {}.reshape<{}>({{", name, base, shape.size()), extents(shape), "});");
  }
  return known_[value] = name;
}

std::vector<std::string> CheckBody::read_inputs(NodeId node) {
  std::vector<std::string> inputs;
  const std::vector<ValueId>& arguments = stub_.unfused.arguments[stub_.unfused.fused.group_of[node]];
  for (std::size_t i = stub_.results(node).size(); i < arguments.size(); ++i) inputs.push_back(read(arguments[i]));
  return inputs;
}

void CheckBody::call_reference(NodeId node, std::vector<std::string> outputs, const std::vector<std::string>& inputs) {
  const StubProgram& reference = stub_.references[stub_.unfused.stub_of[stub_.unfused.fused.group_of[node]]];
  outputs.insert(outputs.end(), inputs.begin(), inputs.end());
  outputs.push_back("call.stream()");
  write_list(out_, reference.name + "(", outputs, ");");
}

}  // namespace kgen
