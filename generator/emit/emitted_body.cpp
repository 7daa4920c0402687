#include "generator/emit/emitted_body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/base/ensure.hpp"
#include "generator/base/languages.hpp"
#include "generator/emit/check.hpp"
#include "generator/emit/cpp_text.hpp"

namespace kgen {
namespace {

using Kind = Placement::Kind;

// A member function of kgen::View and its arguments.
struct ViewCall {
  std::string head;
  std::vector<std::string> arguments;
  std::string tail = ")";
};

ViewCall view_call(EmittedBody& body, const IndexMap& view, const Shape& result) {
  switch (view.form) {
    case ViewRule::Form::permute:
      return {fmt::format(".permute<{}>(", fmt::join(view.axes, ", ")), {}};
    case ViewRule::Form::reshape:
      return {fmt::format(".reshape<{}>({{", result.size()), body.sizes(result), "})"};
    case ViewRule::Form::broadcast:
      return {fmt::format(".broadcast_to(kgen::Index<{}>{{", result.size()), body.sizes(result), "})"};
    case ViewRule::Form::slice: {
      ViewCall call = {fmt::format(".slice<{}>(", view.axis), {body.size(view.begin), body.size(view.length)}};
      if (view.step != 1) call.arguments.push_back(std::to_string(view.step));
      return call;
    }
    case ViewRule::Form::select:
      return {fmt::format(".select<{}>(", view.axis), {body.size(view.begin)}};
    case ViewRule::Form::unsqueeze:
      return {fmt::format(".unsqueeze<{}>(", view.axis), {}};
    case ViewRule::Form::squeeze:
      return {fmt::format(".squeeze<{}>(", view.axis), {}};
    case ViewRule::Form::flip:
      return {fmt::format(".flip<{}>(", view.axis), {}};
    case ViewRule::Form::concat:
    case ViewRule::Form::update:
      break;  // destinations are memory, not views
  }
  return {};
}

}  // namespace

EmittedBody::EmittedBody(const WrapperFacts& facts, GraphIndex graph)
    : facts_(facts),
      index_(graph),
      plan_(graph_of(facts.plan, graph)),
      locals_(&facts.globals),
      texts_(plan_.placements.size()),
      states_(plan_.fused.graph.states.size()) {
  for (const DimDeclaration& dim : plan_.fused.graph.dims) locals_.reserve(dim.name);
  names_ = {locals_.unique("call"),   locals_.unique("arena"), locals_.unique("slot"),
            locals_.unique("memory"), locals_.unique("index"), locals_.unique("i"),     locals_.unique("streams")};
}

// ---- names ----------------------------------------------------------------------------------------------------------

std::string EmittedBody::size(const Dim& dim) {
  for (std::string& symbol : dim.symbols()) used_dims_.insert(std::move(symbol));
  return cpp_text(dim);
}

std::vector<std::string> EmittedBody::sizes(const Shape& shape) {
  std::vector<std::string> texts;
  for (const Dim& extent : shape) texts.push_back(size(extent));
  return texts;
}

std::vector<std::string> EmittedBody::used_dims() const {
  std::vector<std::string> dims;
  for (const DimDeclaration& dim : graph().dims) {
    if (used_dims_.contains(dim.name)) dims.push_back(dim.name);
  }
  return dims;
}

// All versions of a state are the same memory.
std::string& EmittedBody::text_of(ValueId value) {
  const Placement& placement = plan_.placements[value];
  return placement.kind == Kind::state ? states_[placement.index] : texts_[value];
}

void EmittedBody::set_text(ValueId value, std::string text) { text_of(value) = std::move(text); }

const std::string& EmittedBody::name_value(ValueId value) {
  return text_of(value) = locals_.unique(graph().value(value).name);
}

const std::string& EmittedBody::express(Writer& writer, ValueId value) {
  std::vector<ValueId> undefined;
  for (ValueId at = value; text_of(at).empty(); at = plan_.placements[at].base) {
    ensure(plan_.placements[at].base != no_id, "a value without a text is a view of one");
    undefined.push_back(at);
  }
  for (; !undefined.empty(); undefined.pop_back()) write_view(writer, undefined.back());
  return text_of(value);
}

void EmittedBody::write_view(Writer& writer, ValueId value) {
  const Placement& placement = plan_.placements[value];
  const bool part = placement.kind == Kind::part_of;
  const ViewCall call = view_call(*this, placement.view, graph().type(value).shape);
  const std::string base = text_of(placement.base);
  write_list(writer, fmt::format("const auto {} = {}{}", name_value(value), base, call.head), call.arguments,
             call.tail + ";", part ? "// written in place" : "// a view: no copy");
}

// ---- the arena ------------------------------------------------------------------------------------------------------

void EmittedBody::write_arena_views(Writer& writer, const std::vector<bool>& values) {
  for (ValueId id = 0; id < values.size(); ++id) {
    const Placement& placement = plan_.placements[id];
    if (!values[id] || placement.kind != Kind::arena) continue;
    const TensorType& type = graph().type(id);
    const std::string head = fmt::format("const auto {} = {}.view<{}, {}>({}[{}], {{", name_value(id), names_.arena,
                                         cpp_element(type), type.shape.size(), names_.slot, placement.index);
    write_list(writer, head, sizes(type.shape), "});");
  }
}

// By slot: "C, sum", whatever takes the slot in turn.
std::vector<std::string> EmittedBody::slot_owners(const std::vector<Slot>& slots,
                                                  const std::vector<Step>& steps) const {
  std::vector<std::string> owners(slots.size());
  const auto add = [&](std::uint32_t slot, const std::string& owner) {
    owners[slot] += (owners[slot].empty() ? "" : ", ") + owner;
  };
  const std::vector<bool> touched = touched_values(plan_, steps);
  for (ValueId id = 0; id < touched.size(); ++id) {
    const Placement& placement = plan_.placements[id];
    if (touched[id] && placement.kind == Kind::arena) add(placement.index, graph().value(id).name);
  }
  for (const Step& step : steps) {
    if (step.call_slot != no_id) {
      const Node& node = graph().nodes[plan_.fused.groups[step.group].root];
      add(step.call_slot, "the arena of " + facts_.functions[std::get<Call>(node.kind).function].name);
    }
    for (std::size_t i = 0; i < step.carried_slots.size(); ++i) {
      add(step.carried_slots[i], "the other " + graph().value(step.arguments[i]).name);
    }
  }
  return owners;
}

std::string EmittedBody::slot_size(std::uint32_t slot, const Dim& bytes, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (step.call_slot != slot) continue;
    const Node& node = graph().nodes[plan_.fused.groups[step.group].root];
    const FunctionFacts& callee = facts_.functions[std::get<Call>(node.kind).function];
    if (callee.arena_bytes != bytes) continue;
    use(callee.slots_dims);
    return fmt::format("{}({}).total", callee.slots, fmt::join(callee.slots_dims, ", "));
  }
  return size(bytes);
}

void EmittedBody::write_slots(Writer& writer, const std::string& head, const std::string& tail,
                              const std::vector<Slot>& slots, const std::vector<Step>& steps) {
  const std::vector<std::string> owners = slot_owners(slots, steps);
  std::vector<Step> calls;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(calls),
               [](const Step& s) { return s.call_slot != no_id; });
  std::vector<std::string> lines;
  std::size_t column = 0;
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    lines.push_back(slot_size(i, slots[i].bytes, calls) + ",");
    column = std::max(column, lines.back().size());
  }
  writer.raw_line(head);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    // An argument list that goes on is indented by four.
    std::string line = fmt::format("    {:<{}}  // {}", lines[i], column, owners[i]);
    const std::size_t room = line_width - writer.indentation();
    const std::size_t comma = line.size() > room ? line.rfind(',', room - 5) : line.npos;
    if (comma != line.npos && comma > column + 8) line = line.substr(0, comma) + ", ...";  // within the comment
    writer.raw_line(line);
  }
  writer.raw_line(tail);
}

// ---- steps ----------------------------------------------------------------------------------------------------------

void EmittedBody::write_steps(Writer& writer, const std::vector<Step>& steps) {
  bool after_blank = true;
  for (const Step& step : steps) {
    // A step that needs views begins a paragraph with them.
    const bool needs_views = std::any_of(step.arguments.begin(), step.arguments.end(),
                                         [&](ValueId argument) { return text_of(argument).empty(); });
    if (needs_views && !after_blank) writer.line();
    after_blank = false;
    for (const ValueId argument : step.arguments) express(writer, argument);
    if (plan_.fused.groups[step.group].kind == GroupKind::call) {
      write_call(writer, step);
    } else {
      write_stub(writer, step);
    }
  }
}

const StubUse& EmittedBody::use_of(const Step& step) const {
  const CheckPlan& check = *facts_.plan.check;
  const UnfusedGraph& graph = index_ == main_graph ? check.main : check.functions[index_];
  return check.uses[graph.use_of[step.group]];
}

void EmittedBody::write_stub(Writer& writer, const Step& step) {
  const StubProgram& stub = facts_.plan.stubs[step.stub];
  std::vector<std::string> arguments;
  for (const ValueId argument : step.arguments) arguments.push_back(text_of(argument));
  if (facts_.plan.check) {
    arguments.insert(arguments.begin(), names_.call);
  } else {
    const std::string order = launch_order(plan_.fused, step.group, facts_.events(index_));
    const char* separator = order.empty() ? "" : ", ";
    arguments.push_back(fmt::format("{}.launch({}{}{})", names_.call, cpp_string(step.name), separator, order));
  }
  write_list(writer, (facts_.plan.check ? checked_name(use_of(step)) : stub.name) + "(", arguments, ");");
}

// The number of this call among all calls of its function.
std::string EmittedBody::call_number(const Call& call) const {
  std::vector<std::string> terms;
  if (index_ != main_graph && call.index_stride != 0) {
    terms.push_back(call.index_stride == 1 ? names_.index : fmt::format("{} * {}", names_.index, call.index_stride));
  }
  if (call.repeat > 1) terms.push_back(names_.count);
  if (call.first_index != 0 || terms.empty()) terms.push_back(std::to_string(call.first_index));
  return fmt::format("{}", fmt::join(terms, " + "));
}

// Two buffers for each result, used in turn, so that the last call writes the result itself.
std::vector<std::string> EmittedBody::write_carried(Writer& writer, const Step& step, std::int64_t repeat) {
  std::vector<std::string> carried;
  if (!step.carried_slots.empty()) writer.line("// Each call reads what the call before it wrote.");
  for (std::size_t i = 0; i < step.carried_slots.size(); ++i) {
    const ValueId result = step.arguments[i];
    const TensorType& type = graph().type(result);
    std::string other = fmt::format("{}.view<{}, {}>({}[{}], {})", names_.arena, cpp_element(type), type.shape.size(),
                                    names_.slot, step.carried_slots[i], braced(sizes(type.shape)));
    std::vector<std::string> buffers = {std::move(other), text_of(result)};
    if (repeat % 2 == 1) std::swap(buffers[0], buffers[1]);
    carried.push_back(locals_.unique(graph().value(result).name + "_carried"));
    write_list(writer, fmt::format("const {} {}[2] = {{", view_type(type, type.shape.size(), true), carried.back()),
               buffers, "};");
  }
  return carried;
}

void EmittedBody::write_fork(Writer& writer) {
  if (plan_.streams == 1) return;
  writer.line("const auto {} = {}.fork({});  // streams beside stream 0: from here to the end of this function",
              names_.streams, names_.call, plan_.streams);
}

// A call is on stream 0, whatever streams the function itself forks to.
void EmittedBody::write_call(Writer& writer, const Step& step) {
  const EventNumbers& events = facts_.events(index_);
  const std::string awaited = awaited_events(plan_.fused.groups[step.group], events);
  if (!awaited.empty()) writer.line("{}.wait({{{}}});", names_.call, awaited);
  write_call_itself(writer, step);
  if (events[step.group] != no_id) writer.line("{}.signal({});", names_.call, events[step.group]);
}

void EmittedBody::write_call_itself(Writer& writer, const Step& step) {
  const Group& group = plan_.fused.groups[step.group];
  const Node& node = graph().nodes[group.root];
  const auto& call = std::get<Call>(node.kind);
  const FunctionFacts& callee = facts_.functions[call.function];
  const std::vector<std::string> carried = write_carried(writer, step, call.repeat);

  std::vector<std::string> arguments = {names_.call};
  if (step.call_slot != no_id)
    arguments.push_back(fmt::format("{}.part({}[{}])", names_.arena, names_.slot, step.call_slot));
  const std::string number = call_number(call);
  if (callee.has_memory) {
    use(callee.memory_dims);
    std::vector<std::string> memory = {names_.call, number};
    memory.insert(memory.end(), callee.memory_dims.begin(), callee.memory_dims.end());
    arguments.push_back(fmt::format("{}({})", callee.memory_of, fmt::join(memory, ", ")));
  }
  if (callee.needs_index) arguments.push_back(number);
  for (std::size_t i = 0; i < step.arguments.size(); ++i) {
    const std::string& argument = text_of(step.arguments[i]);
    const std::size_t results = node.outputs.size();
    if (i < carried.size()) {
      arguments.push_back(fmt::format("{}[{} % 2]", carried[i], names_.count));
    } else if (i - results < carried.size()) {
      arguments.push_back(
          fmt::format("{0} == 0 ? {1} : {2}[({0} + 1) % 2]", names_.count, argument, carried[i - results]));
    } else {
      arguments.push_back(argument);
    }
  }
  use(callee.dims);
  arguments.insert(arguments.end(), callee.dims.begin(), callee.dims.end());
  if (call.repeat == 1) return write_list(writer, callee.name + "(", arguments, ");");
  const auto loop =
      writer.block(fmt::format("for (std::int64_t {0} = 0; {0} < {1}; ++{0}) {{", names_.count, call.repeat));
  write_list(writer, callee.name + "(", arguments, ");");
}

}  // namespace kgen
