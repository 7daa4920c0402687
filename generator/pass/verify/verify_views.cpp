#include "generator/pass/verify/verify_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/pass/graph/strided_memory.hpp"
#include "generator/pass/verify/most_problems.hpp"
#include "generator/pass/verify/verify_samples.hpp"

namespace kgen {
namespace {

using Kind = Placement::Kind;
using Extents = std::vector<std::int64_t>;

// By value: where its elements lie; nothing for what is in registers, and for what cannot be shown where it should lie.
using Memory = std::vector<std::optional<StridedMemory>>;

// No two axes of it can be walked as one.
StridedMemory memory_with_gaps(Extents extents) {
  StridedMemory memory = dense_memory(std::move(extents));
  std::int64_t stride = 2;
  for (std::size_t axis = memory.extents.size(); axis-- > 0;) {
    memory.strides[axis] = stride;
    stride = stride * std::max<std::int64_t>(1, memory.extents[axis]) + 1;
  }
  return memory;
}

// The axes first to last as one.
void multiply_run(Extents& extents, std::size_t first, std::size_t last) {
  for (; last > first; --last) {
    extents[last - 1] *= extents[last];
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(last));
  }
}

class ViewVerifier {
 public:
  ViewVerifier(const FunctionPlan& plan, const std::vector<StubProgram>& stubs, const DimBindings& bindings)
      : plan_(plan), graph_(plan.fused.graph), stubs_(stubs), bindings_(bindings), memory_(graph_.values.size()) {}

  std::vector<std::string> run() {
    if (!find_memory()) return {};  // no machine runs it
    verify_written_through();
    for (const auto* steps : {&plan_.load_steps, &plan_.steps}) {
      for (const Step& step : *steps) verify_step(step);
    }
    return std::move(problems_);
  }

 private:
  void problem(std::string text) {
    if (problems_.size() < most_problems) problems_.push_back(std::move(text));
  }
  const std::string& name(ValueId value) const { return graph_.value(value).name; }
  Extents extents_of(ValueId value) const {
    Extents extents;
    for (const Dim& extent : graph_.type(value).shape) extents.push_back(extent.evaluate(bindings_));
    return extents;
  }

  bool find_memory();
  bool find_own_memory(ValueId value);
  void show(ValueId value);
  void verify_written_through();
  void verify_step(const Step& step);
  void verify_call(const Step& step);
  void verify_functor(const StubProgram& stub, const Functor& functor, const Step& step);
  Extents loop_of(const Functor::Loop& loop, const Step& step) const;
  std::optional<Extents> verify_view(const StubProgram& stub, const MemberView& view, const std::vector<Extents>& loops,
                                     const Step& step);
  void verify_loop(const StubProgram& stub, const MemberView& view, const std::vector<Extents>& loops,
                   const Step& step);

  const FunctionPlan& plan_;
  const Graph& graph_;
  const std::vector<StubProgram>& stubs_;
  const DimBindings& bindings_;
  Memory memory_;
  std::vector<std::string> problems_;
};

// ---- where values lie -----------------------------------------------------------------------------------------------

// False: the value has more elements than can be counted.
bool ViewVerifier::find_own_memory(ValueId value) {
  Extents extents = extents_of(value);
  const Kind kind = plan_.placements[value].kind;
  if (kind == Kind::state) {
    const DimRanges ranges = ranges_of(graph_);
    const ValueId state = graph_.states[plan_.placements[value].index].value;
    Extents greatest;
    for (const Dim& extent : graph_.type(state).shape) greatest.push_back(extent.range(ranges).high);
    memory_[value] = dense_memory(std::move(greatest));
    memory_[value]->extents = std::move(extents);
    return true;
  }
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(1, extent), &elements)) return false;
  }
  if (elements > std::int64_t{1} << 48) return false;
  const bool has_gaps = kind == Kind::input && graph_.inputs[plan_.placements[value].index].strided;
  memory_[value] = has_gaps ? memory_with_gaps(std::move(extents)) : dense_memory(std::move(extents));
  return true;
}

void ViewVerifier::show(ValueId value) {
  const Placement& placement = plan_.placements[value];
  const std::optional<StridedMemory>& base = memory_[placement.base];
  if (!base) return;  // found there
  memory_[value] = viewed(*base, placement.view, bindings_, extents_of(value));
  if (!memory_[value])
    problem(fmt::format("'{}' cannot be shown in the memory of '{}'", name(value), name(placement.base)));
}

bool ViewVerifier::find_memory() {
  for (ValueId id = 0; id < memory_.size(); ++id) {
    const Kind kind = plan_.placements[id].kind;
    const bool in_another = kind == Kind::view_of || kind == Kind::part_of;
    if (kind != Kind::registers && !in_another && !find_own_memory(id)) return false;
  }
  // A whole stands after its parts, a view after what it shows.
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    for (const ValueId output : node->outputs) {
      if (plan_.placements[output].kind == Kind::part_of) show(output);
    }
  }
  for (const Node& node : graph_.nodes) {
    if (plan_.placements[node.outputs[0]].kind == Kind::view_of) show(node.outputs[0]);
  }
  return true;
}

// The view that a value is written through, of where it lies, is its result as that lies.
void ViewVerifier::verify_written_through() {
  for (const Node& node : graph_.nodes) {
    const auto* view = std::get_if<IndexMap>(&node.kind);
    if (!view || !view->written_through || !memory_[node.inputs[0]] || !memory_[node.outputs[0]]) continue;
    const ValueId result = node.outputs[0];
    const auto again = viewed(*memory_[node.inputs[0]], *view, bindings_, extents_of(result));
    if (again && same_elements(*again, *memory_[result])) continue;
    problem(fmt::format("'{}' is not written where '{}' shows it", name(node.inputs[0]), name(result)));
  }
}

// ---- what steps take for granted ------------------------------------------------------------------------------------

void ViewVerifier::verify_step(const Step& step) {
  if (plan_.fused.groups[step.group].kind == GroupKind::call) return verify_call(step);
  const StubProgram& stub = stubs_[step.stub];
  for (const Functor& functor : stub.functors) verify_functor(stub, functor, step);
  for (const KernelArgument& argument : stub.kernel_arguments) {
    if (argument.kind == KernelArgument::Kind::parameter) verify_view(stub, argument.view, {}, step);
  }
}

void ViewVerifier::verify_call(const Step& step) {
  for (const ValueId argument : step.arguments) {
    const std::optional<StridedMemory>& memory = memory_[argument];
    if (!memory) continue;
    const StridedMemory dense = dense_memory(memory->extents);
    for (std::size_t axis = 0; axis < dense.extents.size(); ++axis) {
      if (dense.extents[axis] == 1 || dense.strides[axis] == memory->strides[axis]) continue;
      if (std::count(dense.extents.begin(), dense.extents.end(), 0) > 0) continue;
      return problem(
          fmt::format("'{}' is passed to a function, or comes out of one, and is not dense", name(argument)));
    }
  }
}

// The extents of a loop that a functor's members are broadcast to; none where nothing says them.
Extents ViewVerifier::loop_of(const Functor::Loop& loop, const Step& step) const {
  if (loop.parameter != Functor::none) return extents_of(step.arguments[loop.parameter]);
  Extents extents;
  for (const Functor::Extent& extent : loop.extents) {
    extents.push_back(extent.parameter == Functor::none
                          ? extent.constant
                          : extents_of(step.arguments[extent.parameter])[static_cast<std::size_t>(extent.axis)]);
  }
  return extents;
}

// What a kernel calls with its positions sees all that it reads and writes by the same extents.
void ViewVerifier::verify_functor(const StubProgram& stub, const Functor& functor, const Step& step) {
  std::vector<Extents> loops;
  for (const Functor::Loop& loop : functor.loops) loops.push_back(loop_of(loop, step));
  const bool in_kernel = functor.role == Functor::Role::prologue || functor.role == Functor::Role::epilogue;
  std::optional<Extents> walked;
  for (const FunctorMember& member : functor.members) {
    if (member.line_axis >= 0) continue;
    const std::optional<Extents> seen = verify_view(stub, member.view, loops, step);
    const bool of_rows = functor.role == Functor::Role::row_state || functor.role == Functor::Role::statistics;
    if (of_rows && seen && seen->size() != 2) {
      return problem(fmt::format("{} walks '{}' by other axes than the rows of {}", stub.name,
                                 name(step.arguments[member.view.parameter]), functor.name));
    }
    if (!in_kernel || !seen) continue;
    verify_loop(stub, member.view, loops, step);
    if (walked && *walked != *seen) {
      return problem(fmt::format("{} walks '{}' by other extents than the rest of {}", stub.name,
                                 name(step.arguments[member.view.parameter]), functor.name));
    }
    walked = seen;
  }
}

// What is broadcast is so to the shape of something that the group computes.
void ViewVerifier::verify_loop(const StubProgram& stub, const MemberView& view, const std::vector<Extents>& loops,
                               const Step& step) {
  if (!view.broadcast) return;
  const Group& group = plan_.fused.groups[step.group];
  const auto has_it = [&](ValueId value) { return value != no_id && extents_of(value) == loops[view.loop]; };
  const bool computed = std::any_of(group.nodes.begin(), group.nodes.end(), [&](NodeId id) {
    const Node& node = graph_.nodes[id];
    return has_it(node.outputs[0]) ||
           (id == group.root && std::any_of(node.inputs.begin(), node.inputs.end(), has_it)) ||
           (id == group.root && std::any_of(node.outputs.begin(), node.outputs.end(), has_it));
  });
  if (computed) return;
  problem(fmt::format("{} broadcasts '{}' to a shape that nothing in it has", stub.name,
                      name(step.arguments[view.parameter])));
}

// The extents that are left, by axis of what walks the view; nothing where it cannot be shown so.
std::optional<Extents> ViewVerifier::verify_view(const StubProgram& stub, const MemberView& view,
                                                 const std::vector<Extents>& loops, const Step& step) {
  const ValueId value = step.arguments[view.parameter];
  if (!memory_[value]) return std::nullopt;
  const auto fail = [&](std::string text) {
    problem(std::move(text));
    return std::nullopt;
  };
  StridedMemory memory = *memory_[value];
  for (const ConstantSlice& slice : view.slices) {
    IndexMap sliced;
    sliced.form = ViewRule::Form::slice;
    sliced.axis = slice.axis;
    sliced.begin = Dim(slice.begin);
    sliced.length = Dim(slice.length);
    sliced.step = slice.step;
    Extents extents = memory.extents;
    extents[static_cast<std::size_t>(slice.axis)] = slice.length;
    memory = *viewed(memory, sliced, bindings_, std::move(extents));
  }
  for (const int axis : view.unsqueeze) {
    memory.extents.insert(memory.extents.begin() + axis, 1);
    memory.strides.insert(memory.strides.begin() + axis, 0);
  }
  if (view.broadcast) {
    std::optional<StridedMemory> repeated = broadcast(memory, loops[view.loop]);
    if (!repeated) return fail(fmt::format("{} cannot broadcast '{}' to its loop", stub.name, name(value)));
    memory = std::move(*repeated);
  }
  if (!view.permutation.empty()) {
    IndexMap permute;
    permute.form = ViewRule::Form::permute;
    permute.axes = view.permutation;
    Extents extents;
    for (const int axis : view.permutation) extents.push_back(memory.extents[static_cast<std::size_t>(axis)]);
    memory = *viewed(memory, permute, bindings_, std::move(extents));
  }
  if (view.reshape) {
    IndexMap reshape;
    std::optional<StridedMemory> shown = viewed(memory, reshape, bindings_, loops[*view.reshape]);
    if (!shown) return fail(fmt::format("{} cannot show '{}' by the axes of its loop", stub.name, name(value)));
    memory = std::move(*shown);
  }
  // From the last to the first: the axes of those that are still to come keep their numbers.
  for (const auto& [first, last] : view.merges) {
    if (!can_merge(memory, static_cast<std::size_t>(first), static_cast<std::size_t>(last))) {
      return fail(fmt::format("{} walks axes {} to {} of '{}' as one, which do not follow each other where it lies",
                              stub.name, first, last, name(value)));
    }
    multiply_run(memory.extents, static_cast<std::size_t>(first), static_cast<std::size_t>(last));
  }
  if (memory.extents.size() != static_cast<std::size_t>(view.rank)) {
    return fail(fmt::format("{} takes '{}' to have another number of axes", stub.name, name(value)));
  }
  std::size_t axis = 0;
  for (const int run : view.runs) {
    if (run < 1 || axis + static_cast<std::size_t>(run) > memory.extents.size()) break;
    multiply_run(memory.extents, axis, axis + static_cast<std::size_t>(run) - 1);
    ++axis;
  }
  if (!view.runs.empty() && (axis != view.runs.size() || axis != memory.extents.size())) {
    return fail(fmt::format("{} walks '{}' in runs that do not cover its axes", stub.name, name(value)));
  }
  return memory.extents;
}

}  // namespace

void verify_views(const FunctionPlan& plan, const std::vector<StubProgram>& stubs, Diagnostics& diagnostics) {
  verify_samples(
      plan.fused.graph, [&](const DimBindings& bindings) { return ViewVerifier(plan, stubs, bindings).run(); },
      diagnostics);
}

}  // namespace kgen
