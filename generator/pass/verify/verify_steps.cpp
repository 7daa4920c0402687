#include "generator/pass/verify/verify_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "generator/pass/verify/most_problems.hpp"
#include "generator/pass/verify/steps_done.hpp"
#include "generator/pass/verify/verify_nodes.hpp"

namespace kgen {
namespace {

using Kind = Placement::Kind;
using Bytes = std::int64_t;

bool is_register_view(const PlacedGraph& placed, ValueId value) {
  const NodeId producer = placed.graph().value(value).producer;
  return producer != no_id && std::holds_alternative<IndexMap>(placed.graph().nodes[producer].kind) &&
         placed.placement(value).kind == Kind::registers;
}

// Whether the kernel of a structured group stores one result before it reads what is needed for another.
bool stores_apart(const Graph& graph, const Group& group) {
  const std::vector<NodeId> roots = roots_of(group);
  const Epilogue* first = epilogue_of(group.epilogues, 0);
  if (graph.nodes[group.root].outputs.size() > 1) return true;
  for (std::size_t number = 1; number < roots.size(); ++number) {
    if (!first || epilogue_of(group.epilogues, number) != first) return true;
  }
  return false;
}

// The values that the kernel of a structured group reads, and those that its prologues and row programs read.
std::unordered_set<ValueId> kernel_operands(const PlacedGraph& placed, const Group& group) {
  const Graph& graph = placed.graph();
  std::unordered_set<ValueId> operands;
  for (const NodeId root : roots_of(group)) {
    operands.insert(graph.nodes[root].inputs.begin(), graph.nodes[root].inputs.end());
  }
  for (const Prologue& prologue : group.prologues) {
    for (const NodeId id : prologue.nodes) operands.insert(graph.nodes[id].inputs.begin(), graph.nodes[id].inputs.end());
  }
  for (const NodeId id : group.row_state.nodes) {
    operands.insert(graph.nodes[id].inputs.begin(), graph.nodes[id].inputs.end());
  }
  return operands;
}

// ---- the walk -------------------------------------------------------------------------------------------------------

class Walk {
 public:
  Walk(const PlacedGraph& placed, const DimBindings& bindings)
      : placed_(placed),
        bindings_(bindings),
        streams_(count_streams(placed.plan.fused.groups)),
        writers_(placed.graph().values.size(), streams_),
        touches_(placed.graph().values.size(), streams_),
        replaced_(placed.graph().values.size(), streams_),
        state_touches_(placed.graph().states.size(), streams_) {
    const std::size_t count = placed.graph().values.size();
    written_.assign(count, false);
    read_at_.assign(count, no_id);
    born_at_.assign(count, no_id);
    killer_.assign(count, no_id);
    part_reads_.resize(placed.graph().states.size());
    for (const StateData& state : placed.graph().states) version_.push_back(state.value);
    for (ValueId id = 0; id < count; ++id) written_[id] = placed.graph().value(id).kind != ValueKind::result;
    for (const ValueId sample : placed.values_of_type) {
      const TensorType& type = placed.graph().type(sample);
      Bytes count = 1, bits = 0;
      for (const Dim& extent : type.shape) {
        if (__builtin_mul_overflow(count, std::max<Bytes>(0, extent.evaluate(bindings)), &count)) too_large_ = true;
      }
      if (__builtin_mul_overflow(count, element_bits(type), &bits)) too_large_ = true;
      bytes_of_type_.push_back(bits / 8 + (bits % 8 != 0 ? 1 : 0));
    }
  }

  std::vector<std::string> run() {
    if (too_large_ || !fits(placed_.plan.load_slots) || !fits(placed_.plan.slots)) return {};  // no machine runs it
    verify_destinations();
    phase(placed_.plan.load_steps, placed_.plan.load_slots);
    phase(placed_.plan.steps, placed_.plan.slots);
    if (problems_.empty()) verify_end();
    return std::move(problems_);
  }

 private:
  // A stretch of the arena that holds a value; no_id: what the call of a step uses for itself.
  struct Stretch {
    Bytes end = 0;
    ValueId root = no_id;
    std::uint32_t step = no_id;
  };
  // A part of a state, read where it lies.
  struct PartRead {
    ValueId part = no_id;
    std::uint32_t step = no_id;
  };

  const Graph& graph() const { return placed_.graph(); }
  ValueId root_of(ValueId value) const { return placed_.roots[value]; }
  const std::string& name(ValueId value) const { return placed_.name(value); }
  Bytes bytes_of(ValueId value) const { return bytes_of_type_[placed_.types[value]]; }
  void problem(std::string text) {
    if (problems_.size() < most_problems) problems_.push_back(std::move(text));
  }

  bool fits(const std::vector<Slot>& slots) const;
  void verify_destinations();
  void verify_end();
  void phase(const std::vector<Step>& steps, const std::vector<Slot>& slots);
  void lay_out(const std::vector<Slot>& slots);
  void run_step(const Step& step);
  void touch(const Group& group);
  bool are_done(const LastSteps& steps, std::size_t thing) const { return steps.all_before(thing, step_, *order_); }
  void read(ValueId value);
  bool is_whole_written(ValueId value);
  void write(ValueId value, const Group& group);
  void write_state(ValueId value, ValueId whole, const Group& group);
  void verify_writes_apart(ValueId value);
  void occupy(std::uint32_t slot, Bytes bytes, ValueId value, const Group& group);
  void overwrite(const Stretch& old, ValueId value, const Group& group);
  void verify_in_place(ValueId input, ValueId output, const Group& group);
  void run_call(const Step& step, const Group& group);
  bool overwritten_since(ValueId part) const;
  ValueId version_before(ValueId whole) const;
  bool meet(ValueId part, ValueId other) const;
  std::pair<std::vector<Bytes>, std::vector<Bytes>> box_of(ValueId part) const;

  const PlacedGraph& placed_;
  const DimBindings& bindings_;
  std::vector<std::string> problems_;
  std::vector<Bytes> bytes_of_type_;
  const Bytes alignment_ = description_of(placed_.graph()).slot_alignment;
  bool too_large_ = false;
  std::vector<Bytes> slot_begin_, slot_end_;
  std::map<Bytes, Stretch> arena_;      // by where they begin; they do not overlap
  std::vector<bool> written_;           // by value
  std::vector<std::uint32_t> read_at_;  // by value, and by root in the arena: the last step that reads it
  std::vector<std::uint32_t> born_at_;  // by root: the step that writes it first
  std::vector<ValueId> killer_;         // by root: what overwrote it
  std::vector<ValueId> version_;        // by state: the value that its buffer holds
  std::vector<ValueId> state_writes_;   // what the step has written into states
  std::uint32_t now_ = 0;               // counts the steps of both phases
  // What is done when a step begins is known by the order of streams; these count the steps of the phase.
  const StepsDone* order_ = nullptr;
  std::uint32_t step_ = 0;
  std::uint32_t streams_;
  LastSteps writers_;                              // by value: the steps that write it or a part of it
  LastSteps touches_;                              // by root
  LastSteps replaced_;                             // by root: the steps that touched what lay there before it
  LastSteps state_touches_;                        // by state
  std::vector<std::vector<PartRead>> part_reads_;  // by state
};

bool Walk::fits(const std::vector<Slot>& slots) const {
  constexpr Bytes most = Bytes{1} << 62;
  Bytes total = 0;
  for (const Slot& slot : slots) {
    const Bytes bytes = slot.bytes.evaluate(bindings_);
    if (bytes > most - alignment_ - total) return false;
    total += std::max<Bytes>(0, bytes) + alignment_;
  }
  return true;
}

// Parts of a concat tile it; the part of an update lies within it; other axes agree.
void Walk::verify_destinations() {
  for (const Node& node : graph().nodes) {
    const Node* destination = placed_.destination(node.outputs[0]);
    if (destination != &node) continue;
    const ValueId whole = node.outputs[0];
    const auto& view = std::get<IndexMap>(node.kind);
    if (view.written_through) continue;  // verify_views looks at those
    const bool update = view.form == ViewRule::Form::update;
    const auto axis = static_cast<std::size_t>(view.axis);
    const Bytes extent = graph().type(whole).shape[axis].evaluate(bindings_);
    Bytes begin = update ? view.begin.evaluate(bindings_) : 0;
    for (std::size_t i = first_written(view); i < node.inputs.size(); ++i) {
      const ValueId part = node.inputs[i];
      const IndexMap& slice = placed_.placement(part).view;
      const Bytes length = graph().type(part).shape[axis].evaluate(bindings_);
      const bool right = slice.form == ViewRule::Form::slice && slice.axis == view.axis && slice.step == 1 &&
                         slice.begin.evaluate(bindings_) == begin && slice.length.evaluate(bindings_) == length;
      if (!right) problem(fmt::format("'{}' is written into the wrong slice of '{}'", name(part), name(whole)));
      begin += length;
    }
    if (begin > extent) problem(fmt::format("the parts of '{}' do not fit into it", name(whole)));
    if (begin < extent && !update) problem(fmt::format("the parts of '{}' do not fill it", name(whole)));
  }
}

void Walk::phase(const std::vector<Step>& steps, const std::vector<Slot>& slots) {
  lay_out(slots);
  const StepsDone order(placed_.plan.fused.groups, steps);
  order_ = &order;
  for (step_ = 0; step_ < steps.size(); ++step_) {
    if (problems_.size() < most_problems) run_step(steps[step_]);
    ++now_;
  }
  // The arena of load is gone when a call runs, and what load did is done.
  for (const auto& [begin, stretch] : arena_) {
    if (stretch.root != no_id) killer_[stretch.root] = stretch.root;
  }
  arena_.clear();
  for (LastSteps* each : {&writers_, &touches_, &replaced_, &state_touches_}) each->clear();
}

void Walk::lay_out(const std::vector<Slot>& slots) {
  slot_begin_.clear();
  slot_end_.clear();
  Bytes at = 0;
  for (const Slot& slot : slots) {
    slot_begin_.push_back(at);
    slot_end_.push_back(at + std::max<Bytes>(0, slot.bytes.evaluate(bindings_)));
    at = (slot_end_.back() + alignment_ - 1) / alignment_ * alignment_;
  }
}

void Walk::run_step(const Step& step) {
  const Group& group = placed_.plan.fused.groups[step.group];
  for (const ValueId input : group.inputs) read(input);
  state_writes_.clear();
  for (const ValueId output : group.outputs) write(output, group);
  if (group.kind == GroupKind::call) run_call(step, group);
  touch(group);
}

void Walk::touch(const Group& group) {
  for (const auto* values : {&group.inputs, &group.outputs}) {
    for (ValueId value : *values) {
      while (placed_.placement(value).kind == Kind::view_of) value = placed_.placement(value).base;
      const ValueId root = root_of(value);
      const Placement& placement = placed_.placement(root);
      touches_.add(root, step_, *order_);
      if (placement.kind != Kind::state) continue;
      const bool reads_part = value != root && values == &group.inputs;
      if (reads_part) {
        part_reads_[placement.index].push_back({value, step_});
      } else {
        state_touches_.add(placement.index, step_, *order_);
      }
    }
  }
}

// ---- reads ----------------------------------------------------------------------------------------------------------

bool Walk::is_whole_written(ValueId value) {
  const Node* destination = placed_.destination(value);
  if (!destination || written_[value]) return written_[value];
  for (std::size_t i = first_written(std::get<IndexMap>(destination->kind)); i < destination->inputs.size(); ++i) {
    if (!is_whole_written(destination->inputs[i])) return false;
  }
  for (const ValueId input : destination->inputs) writers_.add_all(value, writers_, input);
  return written_[value] = true;
}

void Walk::read(ValueId value) {
  while (placed_.placement(value).kind == Kind::view_of) value = placed_.placement(value).base;
  const ValueId root = root_of(value);
  read_at_[value] = now_;
  const Placement& placement = placed_.placement(root);
  if (placement.kind == Kind::arena) read_at_[root] = now_;  // where the whole lies, its parts do
  if (!is_whole_written(value)) return problem(fmt::format("'{}' is read before it is written", name(value)));
  if (!are_done(writers_, value)) {
    problem(fmt::format("'{}' is read on another stream than it is written on, without waiting for that", name(value)));
  }
  if (killer_[root] == root)
    return problem(fmt::format("'{}' is read in a call, but lies in the arena of load", name(value)));
  if (killer_[root] != no_id) {
    return problem(fmt::format("'{}' is read, but '{}' has overwritten it", name(value), name(killer_[root])));
  }
  if (placement.kind != Kind::state) return;
  const ValueId version = version_[placement.index];
  const bool intact = version == root && (value == root || !overwritten_since(value));
  const bool older_part = version != root && value != root && !overwritten_since(value);
  if (!intact && !older_part) {
    problem(fmt::format("'{}' is read, but its buffer holds '{}'", name(value), name(version)));
  }
}

// The first element of a part in the coordinates of its root, and the one after its last; of all that it may touch, where
// it is written through a view.
std::pair<std::vector<Bytes>, std::vector<Bytes>> Walk::box_of(ValueId part) const {
  std::vector<Bytes> begin, end;
  for (const Dim& extent : graph().type(part).shape) {
    begin.push_back(0);
    end.push_back(extent.evaluate(bindings_));
  }
  for (; placed_.placement(part).kind == Kind::part_of; part = placed_.placement(part).base) {
    const IndexMap& slice = placed_.placement(part).view;
    if (slice.form != ViewRule::Form::slice) {
      const Shape& whole = graph().type(placed_.placement(part).base).shape;
      begin.assign(whole.size(), 0);
      end.clear();
      for (const Dim& extent : whole) end.push_back(extent.evaluate(bindings_));
      continue;
    }
    const Bytes shift = slice.begin.evaluate(bindings_);
    begin[static_cast<std::size_t>(slice.axis)] += shift;
    end[static_cast<std::size_t>(slice.axis)] += shift;
  }
  return {std::move(begin), std::move(end)};
}

// Whether an update of the state after the one that `part` belongs to has written over it.
bool Walk::overwritten_since(ValueId part) const {
  const ValueId root = root_of(part);
  for (ValueId version = version_[placed_.placement(root).index]; version != root;) {
    const Node* update = placed_.destination(version);
    if (!update || std::get<IndexMap>(update->kind).form != ViewRule::Form::update) return true;
    if (meet(part, update->inputs[1])) return true;
    version = update->inputs[0];
  }
  return false;
}

// Whether two parts of one buffer have elements in common.
bool Walk::meet(ValueId part, ValueId other) const {
  const auto [begin, end] = box_of(part);
  const auto [other_begin, other_end] = box_of(other);
  for (std::size_t axis = 0; axis < begin.size(); ++axis) {
    if (begin[axis] >= other_end[axis] || other_begin[axis] >= end[axis]) return false;
  }
  return true;
}

// ---- writes ---------------------------------------------------------------------------------------------------------

void Walk::write(ValueId value, const Group& group) {
  const ValueId root = root_of(value);
  const Placement& placement = placed_.placement(root);
  if (written_[value]) problem(fmt::format("'{}' is written twice", name(value)));
  if (placement.kind == Kind::state) {
    write_state(value, root, group);
    verify_writes_apart(value);
  }
  if (placement.kind == Kind::arena && born_at_[root] == no_id) occupy(placement.index, bytes_of(root), root, group);
  if (born_at_[root] == no_id) born_at_[root] = now_;
  if (!are_done(replaced_, root)) {
    problem(fmt::format("'{}' is written while another stream may still use what lay there before", name(value)));
  }
  written_[value] = true;
  writers_.add(value, step_, *order_);
}

// What lies in the buffer of a state until `whole` does.
ValueId Walk::version_before(ValueId whole) const {
  const Value& value = graph().value(whole);
  const ValueId buffer = updated_operand(graph().nodes[value.producer], value.index);
  const bool in_place = buffer != no_id && placed_.placement(buffer).kind == Kind::state;
  return in_place ? buffer : graph().states[placed_.placement(whole).index].value;
}

// The buffer of a state goes from one version to the next; whoever reads the old one must have done so.
void Walk::write_state(ValueId value, ValueId whole, const Group& group) {
  ValueId& version = version_[placed_.placement(whole).index];
  if (version == whole) return;  // another part of the same version
  const Node* destination = placed_.destination(whole);
  const bool update = destination && std::get<IndexMap>(destination->kind).form == ViewRule::Form::update;
  const ValueId before = version_before(whole);
  if (version != before) {
    problem(fmt::format("'{}' is written into a buffer that holds '{}' instead of '{}'", name(whole), name(version),
                        name(before)));
  }
  if (!is_whole_written(version)) problem(fmt::format("'{}' is updated before it is whole", name(version)));
  if (read_at_[version] == now_) verify_in_place(version, value, group);
  version = whole;
  const std::uint32_t state = placed_.placement(whole).index;
  replaced_.add_all(whole, state_touches_, state);
  for (const PartRead& read : part_reads_[state]) {
    if (read.step == step_ || (update && !meet(read.part, destination->inputs[1]))) continue;
    replaced_.add(whole, read.step, *order_);
  }
  const Node* previous = placed_.destination(before);
  const ValueId part = previous ? previous->inputs.back() : no_id;
  if (part != no_id && read_at_[part] == now_ && overwritten_since(part)) {
    problem(fmt::format("'{}' is written over '{}' while that is read", name(value), name(part)));
  }
}

// What one step writes into a buffer for several versions of a state lies apart.
void Walk::verify_writes_apart(ValueId value) {
  const std::uint32_t state = placed_.placement(root_of(value)).index;
  for (const ValueId other : state_writes_) {
    const bool same_state = placed_.placement(root_of(other)).index == state && root_of(other) != root_of(value);
    if (same_state && meet(value, other)) {
      problem(fmt::format("'{}' is written over '{}' in the step that writes that", name(value), name(other)));
    }
  }
  state_writes_.push_back(value);
}

// `value` comes to lie at the head of the slot; no_id stands for memory that a call uses for itself.
void Walk::occupy(std::uint32_t slot, Bytes bytes, ValueId value, const Group& group) {
  const std::string& what = value == no_id ? graph().value(group.outputs[0]).name : name(value);
  if (slot >= slot_begin_.size()) return problem(fmt::format("'{}' lies in a slot that does not exist", what));
  const Bytes begin = slot_begin_[slot];
  const Bytes end = begin + bytes;
  if (end > slot_end_[slot]) {
    problem(fmt::format("'{}' takes {} bytes, but its slot has {}", what, bytes, slot_end_[slot] - begin));
  }
  if (bytes == 0) return;
  auto at = arena_.lower_bound(begin);
  if (at != arena_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != arena_.end() && at->first < end) {
    overwrite(at->second, value, group);
    at = arena_.erase(at);
  }
  arena_[begin] = {end, value, step_};
}

void Walk::overwrite(const Stretch& old, ValueId value, const Group& group) {
  const std::string& what = value == no_id ? graph().value(group.outputs[0]).name : name(value);
  if (old.root == no_id) {
    if (old.step == step_)
      return problem(fmt::format("'{}' lies where the call that makes it keeps its own values", what));
    if (value != no_id) return replaced_.add(value, old.step, *order_);
    if (!order_->before(old.step, step_)) {
      problem(fmt::format("the call that makes '{}' may run while another uses its memory", what));
    }
    return;
  }
  if (born_at_[old.root] == now_) {
    return problem(fmt::format("'{}' and '{}' are written to the same place by one step", name(old.root), what));
  }
  if (read_at_[old.root] == now_) {
    if (value == no_id)
      return problem(fmt::format("'{}' lies where the call that reads it keeps its own values", name(old.root)));
    verify_in_place(old.root, value, group);
  }
  killer_[old.root] = value == no_id ? group.outputs[0] : value;
  if (value != no_id) return replaced_.add_all(value, touches_, old.root);
  if (are_done(touches_, old.root)) return;
  problem(fmt::format("'{}' may still be used when the call that makes '{}' takes its memory", name(old.root), what));
}

void Walk::verify_in_place(ValueId input, ValueId output, const Group& group) {
  std::string why;
  if (may_be_in_place(placed_, group, input, output, why)) return;
  problem(fmt::format("'{}' is written over '{}' while that is read: {}", name(output), name(input), why));
}

void Walk::run_call(const Step& step, const Group& group) {
  const Node& node = graph().nodes[group.root];
  const auto& call = std::get<Call>(node.kind);
  std::vector<ValueId> arguments = node.outputs;
  arguments.insert(arguments.end(), node.inputs.begin(), node.inputs.end());
  if (step.arguments != arguments)
    problem(fmt::format("the call of '{}' has other arguments than its node", name(node.outputs[0])));
  const std::size_t rounds = call.repeat > 1 ? node.outputs.size() : 0;
  if (step.carried_slots.size() != rounds) {
    return problem(fmt::format("the call of '{}' has {} second buffers and needs {}", name(node.outputs[0]),
                               step.carried_slots.size(), rounds));
  }
  const Bytes arena = arena_bytes(placed_.functions[call.function]).evaluate(bindings_);
  if (step.call_slot != no_id) {
    occupy(step.call_slot, arena, no_id, group);
  } else if (arena > 0) {
    problem(fmt::format("the call of '{}' has no arena and needs {} bytes", name(node.outputs[0]), arena));
  }
  for (std::size_t i = 0; i < rounds; ++i) {
    occupy(step.carried_slots[i], bytes_of(node.outputs[i]), no_id, group);
  }
}

void Walk::verify_end() {
  for (const ValueId output : graph().outputs) {
    if (!is_whole_written(output)) problem(fmt::format("the output '{}' is never written", name(output)));
  }
  for (const StateData& state : graph().states) {
    if (state.next == no_id || state.next == state.value) continue;
    const ValueId version = version_[graph().value(state.value).index];
    if (version == state.next && is_whole_written(state.next)) continue;
    problem(fmt::format("the buffer of '{}' holds '{}' in the end, and not '{}'", name(state.value), name(version),
                        name(state.next)));
  }
}

}  // namespace

const Node* PlacedGraph::destination(ValueId value) const {
  const NodeId producer = graph().value(value).producer;
  if (producer == no_id) return nullptr;
  const auto* view = std::get_if<IndexMap>(&graph().nodes[producer].kind);
  return view && writes_operands(*view) ? &graph().nodes[producer] : nullptr;
}

bool may_be_in_place(const PlacedGraph& placed, const Group& group, ValueId input, ValueId output, std::string& why) {
  const Graph& graph = placed.graph();
  const auto refuse = [&](const char* reason) {
    why = reason;
    return false;
  };
  const TensorType& from = graph.type(input);
  const TensorType& to = graph.type(output);
  if (group.kind == GroupKind::call) return refuse("a call reads its operands whenever it likes");
  const NodeId maker = graph.value(output).producer;
  if (updated_operand(graph.nodes[maker], graph.value(output).index) == input) {
    const bool read_beside = std::any_of(group.nodes.begin(), group.nodes.end(), [&](NodeId id) {
      const std::vector<ValueId>& inputs = graph.nodes[id].inputs;
      return std::count(inputs.begin(), inputs.end(), input) > (id == maker ? 1 : 0);
    });
    return read_beside ? refuse("it is read beside what updates it") : true;
  }
  if (placed.roots[output] != output || placed.destination(output)) return refuse("it is written in parts");
  if (element_bits(from) != element_bits(to)) return refuse("their elements differ in size");
  const bool structured = group.kind == GroupKind::structured;
  if (structured && stores_apart(graph, group)) return refuse("its kernel stores another result first");
  const Shape& loop = structured ? graph.type(graph.nodes[group.root].outputs[0]).shape : group.loop;
  if (from.shape != to.shape || to.shape != loop) return refuse("they are not walked alike");
  if (group.kind == GroupKind::rows && group.outputs.size() > 1)
    return refuse("a row is stored while it is still read");
  bool read_by_maker = false;
  for (const NodeId id : group.nodes) {
    const std::vector<ValueId>& inputs = graph.nodes[id].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ValueId read = inputs[i];
      if (read == no_id) continue;
      if (read == input && line_axis(graph.nodes[id], i) >= 0) return refuse("it is read along an axis");
      if (is_register_view(placed, read)) return refuse("a view stands between them");
      if (read != input && placed.roots[read] == input) return refuse("it is also read through a view or a part");
      if (read == input && id == graph.value(output).producer) read_by_maker = true;
    }
  }
  if (group.outputs.size() > 1 && !read_by_maker) return refuse("another result may be stored before it is read");
  if (group.kind == GroupKind::structured && kernel_operands(placed, group).contains(input)) {
    return refuse("the kernel reads it at other places");
  }
  return true;
}

std::vector<std::string> walk_steps(const PlacedGraph& placed, const DimBindings& bindings) {
  return Walk(placed, bindings).run();
}

}  // namespace kgen
