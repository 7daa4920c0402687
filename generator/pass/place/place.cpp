#include "generator/pass/place/place.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "generator/pass/graph/layout.hpp"
#include "generator/pass/place/slots.hpp"
#include "generator/pass/place/streams.hpp"

namespace kgen {
namespace {

using Kind = Placement::Kind;

const IndexMap* view_of(const Node& node) { return std::get_if<IndexMap>(&node.kind); }

IndexMap slice_of(int axis, Dim begin, Dim length) {
  IndexMap slice;
  slice.form = ViewRule::Form::slice;
  slice.axis = axis;
  slice.begin = std::move(begin);
  slice.length = std::move(length);
  return slice;
}

// ---- which memory: everything but the slots ------------------------------------------------------------------------

void place_parts(const Graph& graph, std::vector<Placement>& placements) {
  for (const Node& node : graph.nodes) {
    const IndexMap* view = view_of(node);
    if (!view || !is_destination(*view)) continue;
    Dim begin = view->begin;
    for (std::size_t i = first_part(node); i < node.inputs.size(); ++i) {
      const ValueId part = node.inputs[i];
      if (view->written_through) {
        placements[part] = {Kind::part_of, 0, node.outputs[0], *inverse_view(*view, graph.type(part).shape)};
        continue;
      }
      const Dim& length = graph.type(part).shape[static_cast<std::size_t>(view->axis)];
      if (placements[part].kind == Kind::arena) {
        placements[part] = {Kind::part_of, 0, node.outputs[0], slice_of(view->axis, begin, length)};
      }
      begin = begin + length;
    }
  }
}

// Slots are open yet: a value in the arena has no index, and a result of load is in the arena.
std::vector<Placement> place_values(const FusedGraph& fused) {
  const Graph& graph = fused.graph;
  std::vector<Placement> placements(graph.values.size());
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.value(id);
    if (value.kind == ValueKind::input) placements[id] = {Kind::input, value.index, no_id, {}};
    if (value.kind == ValueKind::constant) placements[id] = {Kind::constant, value.index, no_id, {}};
    if (value.kind == ValueKind::state) placements[id] = {Kind::state, value.index, no_id, {}};
  }
  for (const Group& group : fused.groups) {
    for (const ValueId output : group.outputs) placements[output] = {Kind::arena, no_id, no_id, {}};
  }
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId buffer = updated_operand(node, i);
      if (buffer != no_id && placements[buffer].kind == Kind::state) placements[node.outputs[i]] = placements[buffer];
    }
    const IndexMap* view = view_of(node);
    if (!view || view->form == ViewRule::Form::update) continue;
    Placement& result = placements[node.outputs[0]];
    const Placement& operand = placements[node.inputs[0]];
    if (view->form == ViewRule::Form::concat || view->written_through) {
      result = {Kind::arena, no_id, no_id, {}};
    } else if (operand.kind != Kind::registers) {
      result = {Kind::view_of, 0, node.inputs[0], *view};
    }
  }
  place_parts(graph, placements);
  for (std::uint32_t i = 0; i < graph.outputs.size(); ++i) {
    Placement& output = placements[graph.outputs[i]];
    if (output.kind == Kind::arena) output = {Kind::output, i, no_id, {}};
  }
  for (const StateData& state : graph.states) {
    if (state.next == no_id || placements[state.next].kind != Kind::arena) continue;
    placements[state.next] = {Kind::state, graph.value(state.value).index, no_id, {}};
  }
  return placements;
}

// By ValueId: the value whose memory it is a view or a part of; itself where it has memory of its own.
std::vector<ValueId> find_roots(const std::vector<Placement>& placements) {
  std::vector<ValueId> roots(placements.size(), no_id);
  std::vector<ValueId> path;
  for (ValueId id = 0; id < placements.size(); ++id) {
    ValueId at = id;
    while (roots[at] == no_id && placements[at].base != no_id) {
      path.push_back(at);
      at = placements[at].base;
    }
    const ValueId root = roots[at] == no_id ? at : roots[at];
    roots[at] = root;
    for (; !path.empty(); path.pop_back()) roots[path.back()] = root;
  }
  return roots;
}

// Rule: load writes no memory of a call, and reads none. What breaks it runs in the call.
void keep_load_apart(FusedGraph& fused, const std::vector<Placement>& placements, const std::vector<ValueId>& roots) {
  std::vector<bool> of_call(roots.size(), false);  // by root: some step of a call writes it
  for (ValueId id = 0; id < roots.size(); ++id) {
    const Kind kind = placements[roots[id]].kind;
    of_call[roots[id]] = kind == Kind::output || kind == Kind::state || kind == Kind::input;
  }
  const auto in_call = [&](ValueId value) { return of_call[roots[value]]; };
  for (bool changed = true; changed;) {
    changed = false;
    for (Group& group : fused.groups) {
      if (group.at_load && std::none_of(group.inputs.begin(), group.inputs.end(), in_call) &&
          std::none_of(group.outputs.begin(), group.outputs.end(), in_call)) {
        continue;
      }
      changed = changed || group.at_load;
      group.at_load = false;
      for (const ValueId output : group.outputs) {
        changed = changed || !of_call[roots[output]];
        of_call[roots[output]] = true;
      }
    }
  }
}

// ---- which slot ----------------------------------------------------------------------------------------------------

// Gives slots to the values that the steps of one phase (load, or a call) write, in the order of the steps.
class Arena {
 public:
  Arena(FunctionPlan& plan, const std::vector<FunctionPlan>& functions, const std::vector<ValueId>& roots)
      : plan_(plan),
        functions_(functions),
        roots_(roots),
        sizes_(ranges_of(plan.fused.graph)),
        last_(roots.size(), no_id),
        first_(roots.size(), no_id),
        barred_(roots.size(), no_id) {}

  void fill(std::vector<Step>& steps, std::vector<Slot>& slots) {
    const StepOrder order(plan_.fused.groups, steps);
    order_ = &order;
    SlotPool pool(sizes_, slots);
    for (std::uint32_t at = 0; at < steps.size(); ++at) {
      const Group& group = group_of(steps[at]);
      for (const ValueId value : group.inputs) last_[roots_[value]] = at;
      for (const ValueId value : group.outputs) add_writer(roots_[value], at);
    }
    for (std::uint32_t at = 0; at < steps.size(); ++at) {
      const Group& group = group_of(steps[at]);
      now_ = at;
      if (group.kind != GroupKind::call) take_over(group);
      for (const ValueId output : group.outputs) {
        Placement& root = plan_.placements[roots_[output]];
        if (root.kind != Kind::arena || root.index != no_id) continue;
        root.index = pool.take(size_of(roots_[output]), [&](auto slot) { return is_left_to(roots_[output], slot); });
      }
      if (group.kind == GroupKind::call) place_call(steps[at], group, pool);
      for (const ValueId value : group.inputs) touch(value);
      for (const ValueId value : group.outputs) touch(value);
      for (const ValueId value : group.inputs) release(value, pool);
      for (const ValueId value : group.outputs) release(value, pool);
    }
  }

 private:
  const Graph& graph() const { return plan_.fused.graph; }
  const Group& group_of(const Step& step) const { return plan_.fused.groups[step.group]; }
  SizeId size_of(ValueId value) { return sizes_.of(graph().type(value)); }

  void add_writer(ValueId root, std::uint32_t step) {
    last_[root] = step;
    if (first_[root] == no_id) {
      first_[root] = step;
    } else {
      other_writers_[root].push_back(step);
    }
  }

  Touches& touches_of(std::uint32_t slot) {
    if (slot >= touches_.size()) touches_.resize(slot + 1);
    return touches_[slot];
  }

  void touch(ValueId value) {
    const Placement& root = plan_.placements[roots_[value]];
    if (root.kind == Kind::arena && root.index != no_id) touches_of(root.index).add(now_, *order_);
  }

  // Whether all that has touched the slot is done when `root`, or the first part of it that is, is written; on one
  // stream it is.
  bool is_left_to(ValueId root, std::uint32_t slot) {
    const Touches& touches = touches_of(slot);
    if (!touches.all_before(now_, *order_)) return false;
    const auto others = other_writers_.find(root);
    return others == other_writers_.end() ||
           std::all_of(others->second.begin(), others->second.end(),
                       [&](std::uint32_t writer) { return touches.all_before(writer, *order_); });
  }

  void release(ValueId value, SlotPool& pool) {
    const ValueId root = roots_[value];
    if (last_[root] != now_ || plan_.placements[root].kind != Kind::arena) return;
    pool.give(plan_.placements[root].index);
    last_[root] = no_id;
  }

  // The function's own arena, and a second buffer for each result that goes round.
  void place_call(Step& step, const Group& group, SlotPool& pool) {
    const Node& node = graph().nodes[group.root];
    const auto& call = std::get<Call>(node.kind);
    step.arguments = node.outputs;
    step.arguments.insert(step.arguments.end(), node.inputs.begin(), node.inputs.end());
    const auto is_left = [&](std::uint32_t slot) { return touches_of(slot).all_before(now_, *order_); };
    const FunctionPlan& callee = functions_[call.function];  // which takes an arena also where that is of no bytes
    if (!callee.slots.empty()) step.call_slot = pool.take(sizes_.of(arena_bytes(callee)), is_left);
    if (call.repeat > 1) {
      for (const ValueId result : node.outputs) step.carried_slots.push_back(pool.take(size_of(result), is_left));
    }
    std::vector<std::uint32_t> own = step.carried_slots;
    if (step.call_slot != no_id) own.insert(own.begin(), step.call_slot);
    for (const std::uint32_t slot : own) {
      touches_of(slot).add(now_, *order_);
      pool.give(slot);
    }
  }

  // The rule "in place" at the head of place.hpp.
  void take_over(const Group& group) {
    if (group.kind == GroupKind::structured && !stores_at_once(group)) return;
    const bool only_output = group.outputs.size() == 1;
    if (group.kind == GroupKind::rows && !only_output) return;
    const Shape& loop = group.kind == GroupKind::structured ? result_shape(group) : group.loop;
    if (!bar_inputs(group)) return;
    for (const ValueId output : group.outputs) {
      const Placement& placement = plan_.placements[output];
      if (placement.kind != Kind::arena || placement.index != no_id || graph().type(output).shape != loop) continue;
      // With several outputs, another's store could come before the load, unless this output's own node reads it.
      const std::vector<ValueId>& candidates =
          only_output ? group.inputs : graph().nodes[graph().value(output).producer].inputs;
      const auto heir_of = std::find_if(candidates.begin(), candidates.end(),
                                        [&](ValueId input) { return may_give_way(input, output); });
      if (heir_of == candidates.end()) continue;
      plan_.placements[output].index = plan_.placements[*heir_of].index;
      last_[*heir_of] = no_id;
    }
  }

  // A kernel of several results stores each when it likes, but for those that it gives to one epilogue of siblings.
  bool stores_at_once(const Group& group) const {
    const std::size_t results = graph().nodes[group.root].outputs.size();
    const bool joint = group.epilogues.size() == 1 && group.epilogues[0].results.size() == group.siblings.size() + 1;
    return results == 1 && (group.siblings.empty() || joint);
  }

  const Shape& result_shape(const Group& group) const {
    return graph().type(graph().nodes[group.root].outputs[0]).shape;
  }

  bool may_give_way(ValueId input, ValueId output) {
    if (input == no_id || input == output || roots_[input] != input || last_[input] != now_) return false;
    const Placement& placement = plan_.placements[input];
    if (placement.kind != Kind::arena || placement.index == no_id || barred_[input] == now_) return false;
    if (same_group(input, output)) return false;  // written in this very step, and read by nobody else
    const TensorType& from = graph().type(input);
    const TensorType& to = graph().type(output);
    return element_bits(from) == element_bits(to) && from.shape == to.shape && is_left_to(output, placement.index);
  }

  bool same_group(ValueId a, ValueId b) const {
    const NodeId first = graph().value(a).producer, second = graph().value(b).producer;
    return first != no_id && plan_.fused.group_of[first] == plan_.fused.group_of[second];
  }

  // Bars what the group reads through a view or in lines, and what its kernel reads but in an epilogue. False: the
  // group holds a view of a value in registers, so that no input is known to be read at the index that is written.
  bool bar_inputs(const Group& group) {
    for (const NodeId id : group.nodes) {
      const std::vector<ValueId>& inputs = graph().nodes[id].inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const ValueId input = inputs[i];
        if (input == no_id) continue;
        if (line_axis(graph().nodes[id], i) >= 0) barred_[input] = now_;
        const Value& value = graph().value(input);
        const bool is_view = value.kind == ValueKind::result && view_of(graph().nodes[value.producer]);
        if (is_view && plan_.placements[input].kind == Kind::registers) return false;
        if (roots_[input] != input) barred_[roots_[input]] = now_;
      }
    }
    if (group.kind == GroupKind::structured) bar_operands(group);
    return true;
  }

  // What the kernel and its prologues read, and what it makes numbers of rows of.
  void bar_operands(const Group& group) {
    const auto bar = [&](NodeId id) {
      for (const ValueId input : graph().nodes[id].inputs) {
        if (input != no_id) barred_[input] = barred_[roots_[input]] = now_;
      }
    };
    bar(group.root);
    std::for_each(group.siblings.begin(), group.siblings.end(), bar);
    for (const Prologue& prologue : group.prologues) std::for_each(prologue.nodes.begin(), prologue.nodes.end(), bar);
    std::for_each(group.row_state.nodes.begin(), group.row_state.nodes.end(), bar);
  }

  FunctionPlan& plan_;
  const std::vector<FunctionPlan>& functions_;
  const std::vector<ValueId>& roots_;
  SizeTable sizes_;
  const StepOrder* order_ = nullptr;  // of the steps being filled
  std::vector<Touches> touches_;      // by slot
  std::vector<std::uint32_t> last_;   // by root: the last step that touches it; no_id once its slot is given on
  std::vector<std::uint32_t> first_;  // by root: the first step that writes it or a part of it
  std::unordered_map<ValueId, std::vector<std::uint32_t>> other_writers_;  // by root: the later ones
  std::vector<std::uint32_t> barred_;  // by value: the step in which it may not give way
  std::uint32_t now_ = 0;
};

// Results of load that a call reads are kept; the rest lives in the arena of load.
void place_persistent(FunctionPlan& plan, const std::vector<ValueId>& roots) {
  std::vector<bool> of_load(roots.size(), false);
  for (const Group& group : plan.fused.groups) {
    if (!group.at_load) continue;
    for (const ValueId output : group.outputs) of_load[roots[output]] = true;
  }
  for (const Group& group : plan.fused.groups) {
    if (group.at_load) continue;
    for (const ValueId input : group.inputs) {
      const ValueId root = roots[input];
      if (!of_load[root] || plan.placements[root].kind != Kind::arena) continue;
      plan.placements[root] = {Kind::persistent, static_cast<std::uint32_t>(plan.persistent.size()), no_id, {}};
      plan.persistent.push_back(root);
    }
  }
}

}  // namespace

FunctionPlan place(FusedGraph fused, const std::vector<FunctionPlan>& functions, std::uint32_t streams) {
  FunctionPlan plan;
  plan.placements = place_values(fused);
  const std::vector<ValueId> roots = find_roots(plan.placements);
  keep_load_apart(fused, plan.placements, roots);
  plan.fused = assign_streams(std::move(fused), streams);
  for (const Group& group : plan.fused.groups) plan.streams = std::max(plan.streams, group.stream + 1);
  place_persistent(plan, roots);
  for (std::uint32_t i = 0; i < plan.fused.groups.size(); ++i) {
    Step step;
    step.group = i;
    (plan.fused.groups[i].at_load ? plan.load_steps : plan.steps).push_back(std::move(step));
  }
  Arena(plan, functions, roots).fill(plan.load_steps, plan.load_slots);
  Arena(plan, functions, roots).fill(plan.steps, plan.slots);
  return plan;
}

}  // namespace kgen
