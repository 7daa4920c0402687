#include "generator/pass/materialise/materialise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "generator/pass/choose/choose_kernels.hpp"
#include "generator/pass/graph/graph_edit.hpp"
#include "generator/pass/graph/layout.hpp"
#include "generator/pass/graph/load_values.hpp"
#include "generator/pass/materialise/order_updates.hpp"
#include "generator/spec/widening.hpp"

namespace kgen {
namespace {

// A graph while copies are inserted: the nodes in front of which a copy goes are visited in order.
class Copies {
 public:
  Copies(Graph& graph, const OpSpec& copy, const KernelSignature* kernel)
      : graph_(graph), copy_(copy), kernel_(kernel) {}

  // A new value that holds `source` in dense memory; its node stands before node `before`.
  ValueId insert(ValueId source, NodeId before, const SourceLocation& where, std::string name = {}) {
    if (name.empty()) name = unique(graph_.value(source).name + "_copy");
    const ValueId id = add_result(graph_, std::move(name), graph_.type(source), where);
    inserted_[before].push_back(
        {.op = &copy_, .kernel = kernel_, .kind = Elementwise{}, .inputs = {source}, .outputs = {id}, .where = where});
    return id;
  }

  std::string unique(const std::string& wish) {
    if (!names_) names_.emplace(graph_);
    return names_->take(wish);
  }

  // Puts the inserted nodes in their places and numbers producers again.
  void finish() {
    if (!inserted_.empty()) {
      std::vector<Node> nodes;
      nodes.reserve(graph_.nodes.size() + inserted_.size());
      for (NodeId id = 0; id <= graph_.nodes.size(); ++id) {
        if (const auto found = inserted_.find(id); found != inserted_.end()) {
          for (Node& node : found->second) nodes.push_back(std::move(node));
        }
        if (id < graph_.nodes.size()) nodes.push_back(std::move(graph_.nodes[id]));
      }
      graph_.nodes = std::move(nodes);
      inserted_.clear();
    }
    number_producers(graph_);
  }

 private:
  Graph& graph_;
  const OpSpec& copy_;
  const KernelSignature* kernel_;
  std::optional<UniqueNames> names_;  // made when the first name is needed
  std::unordered_map<NodeId, std::vector<Node>> inserted_;
};

const IndexMap* plain_view(const Graph& graph, ValueId value) {
  if (graph.value(value).kind != ValueKind::result) return nullptr;
  const auto* view = std::get_if<IndexMap>(&graph.nodes[graph.value(value).producer].kind);
  return view && !is_destination(*view) ? view : nullptr;
}

// By version of a state: the one that an update in its buffer makes of it.
using Updates = std::unordered_map<ValueId, ValueId>;

Updates find_updates(const Graph& graph, Diagnostics& diagnostics) {
  Updates updates;
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId buffer = updated_operand(node, i);
      if (buffer == no_id || updated_state(graph, buffer) == no_id) continue;
      const auto [first, is_first] = updates.emplace(buffer, node.outputs[i]);
      if (is_first) continue;
      diagnostics.error(node.where, "'" + graph.value(buffer).name + "' is updated twice")
          .note(graph.nodes[graph.value(first->second).producer].where, "first updated here")
          .advise("update the result of the first update instead");
    }
  }
  return updates;
}

// Whether the node reads, as a kernel, the version that it updates by another operand as well.
bool reads_beside(const Node& node, ValueId buffer) {
  const bool is_view = std::holds_alternative<IndexMap>(node.kind);  // of which a part is copied first
  return !is_view && std::count(node.inputs.begin(), node.inputs.end(), buffer) > 1;
}

// Rule: an update writes into its state's buffer. Nothing but that update may read the version before it, and the
// version after all updates must be the state's `next`.
void validate_updates(const Graph& graph, Diagnostics& diagnostics) {
  const Updates update_of = find_updates(graph, diagnostics);
  const auto update_making = [&](ValueId value) -> const Node& { return graph.nodes[graph.value(value).producer]; };
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) {
      const auto found = input == no_id ? update_of.end() : update_of.find(input);
      if (found == update_of.end()) continue;
      const Node& update = update_making(found->second);
      if (&update == &node && !reads_beside(node, input)) continue;
      const std::string& after = graph.value(found->second).name;
      diagnostics.error(node.where, "'" + graph.value(input).name + "' is read here, but its buffer is updated in place")
          .note(update.where, "updated here, as '" + after + "'")
          .advise("read '" + after + "', or copy what must be kept before the update");
    }
  }
  const auto refuse_kept = [&](ValueId value, std::string_view as) {
    const auto found = update_of.find(value);
    if (found == update_of.end()) return;
    const Node& update = update_making(found->second);
    const std::string& after = graph.value(found->second).name;
    diagnostics
        .error(update.where, fmt::format("'{}' is {}, but its buffer is updated in place here", graph.value(value).name, as))
        .advise("use '" + after + "', or copy what must be kept before the update");
  };
  for (const ValueId output : graph.outputs) refuse_kept(output, "an output");
  for (const StateData& state : graph.states) {
    refuse_kept(state.next, "the next value of the state '" + graph.value(state.value).name + "'");
  }
  std::unordered_map<ValueId, ValueId> next_of;
  for (const StateData& state : graph.states) next_of[state.value] = state.next;
  for (const auto& [buffer, result] : update_of) {
    if (update_of.contains(result)) continue;
    const ValueId state = updated_state(graph, buffer);
    if (state == no_id || next_of[state] == result) continue;
    diagnostics
        .error(update_making(result).where, "the state '" + graph.value(state).name +
                                                "' is updated in place, but its `next` is not '" +
                                                graph.value(result).name + "'")
        .advise("declare the state with `next: " + graph.value(result).name + "`");
  }
}

// Axes of an operand of `rank` that a kernel of fixed lower rank wants walked as one.
bool leading_axes_merge(const Graph& graph, ValueId value, const Strides& strides, int kernel_rank) {
  const Shape& shape = graph.type(value).shape;
  if (kernel_rank < 1 || static_cast<int>(shape.size()) <= kernel_rank) return true;
  return axes_merge(shape, strides, 0, shape.size() - static_cast<std::size_t>(kernel_rank));
}

// A node whose kernel is called with views of its operands; a kernel is missing where only tests plan.
bool calls_kernel(const Node& node) {
  const bool calls = std::holds_alternative<Structured>(node.kind) || std::holds_alternative<Opaque>(node.kind);
  return calls && node.kernel;
}

// Why node `id` cannot read operand `input` where it lies, with these strides; empty where it can.
std::string why_copied(const Graph& graph, const Node& node, std::size_t operand, const Strides& strides) {
  const ValueId input = node.inputs[operand];
  const TensorType& type = graph.type(input);
  const std::string& name = graph.value(input).name;
  if (const auto* view = std::get_if<IndexMap>(&node.kind)) {
    if (is_destination(*view) || view_strides(*view, type, strides, graph.type(node.outputs[0]).shape)) return {};
    return fmt::format("no strides show '{}' as '{}'", name, graph.value(node.outputs[0]).name);
  }
  if (std::holds_alternative<Call>(node.kind)) {
    if (is_dense(type.shape, strides)) return {};
    return fmt::format("a function reads dense memory, and '{}' is a view", name);
  }
  if (!calls_kernel(node) || leading_axes_merge(graph, input, strides, node.kernel->operands[operand].rank)) return {};
  return fmt::format("{} walks the leading axes of '{}' as one", node.kernel->name, name);
}

// Rule: memory that a reshape, a call or a kernel cannot walk as it lies is copied first.
void copy_awkward_operands(Graph& graph, Copies& copies) {
  std::vector<Strides> strides = layouts(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    Node& node = graph.nodes[id];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == no_id) continue;
      std::string reason = why_copied(graph, node, i, strides[input]);
      if (reason.empty()) continue;
      const auto* call = std::get_if<Call>(&node.kind);
      const ValueId copy = copies.insert(input, id, graph.nodes[id].where);
      graph.copies.push_back({copy, call ? call->function : no_id, std::move(reason)});
      strides.push_back(dense_strides(graph.type(copy).shape));
      graph.nodes[id].inputs[i] = copy;
    }
    if (const auto* view = std::get_if<IndexMap>(&graph.nodes[id].kind); view && !is_destination(*view)) {
      const Node& done = graph.nodes[id];
      const ValueId base = done.inputs[0];
      strides[done.outputs[0]] =
          *view_strides(*view, graph.type(base), strides[base], graph.type(done.outputs[0]).shape);
    }
  }
}

// Whether the stub that makes `value` can write it into memory with these strides. What rides in a kernel's epilogue is
// for `fuse` to ask.
bool can_be_written(const Graph& graph, ValueId value, const Strides& strides) {
  const Value& made = graph.value(value);
  if (made.kind != ValueKind::result || plain_view(graph, value) || updated_state(graph, value) != no_id) return false;
  const Node& node = graph.nodes[made.producer];
  if (std::holds_alternative<Call>(node.kind)) return false;
  return !calls_kernel(node) || leading_axes_merge(graph, value, strides, node.kernel->results[made.index].rank);
}

// How far apart in memory neighbours along the last axis are.
Dim distance_of_neighbours(const Shape& shape, const Strides& strides) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != Dim(1)) return strides[axis];
  }
  return Dim(1);
}

// Results that are stored far apart, one element at a time, cost more than to write them densely and to turn them in
// blocks after that.
bool keeps_neighbours(const Shape& shape, const Strides& strides) {
  const Dim distance = distance_of_neighbours(shape, strides);
  return distance == Dim(1) || distance == Dim(-1);
}

// Lets the node behind the views that `value` is of another value write through them, into the memory of `value`, and
// notes where the values between lie then. False, doing nothing, where `value` is no view, where something else reads a
// value between, or where that node cannot write it there.
bool write_through(Graph& graph, const std::vector<std::uint32_t>& readers, ValueId value,
                   std::vector<Strides>& strides) {
  std::vector<std::pair<NodeId, Strides>> views;  // each with the strides of its operand
  while (const IndexMap* view = plain_view(graph, value)) {
    const NodeId id = graph.value(value).producer;
    const ValueId operand = graph.nodes[id].inputs[0];
    const Shape& shape = graph.type(operand).shape;
    const auto inverse = inverse_view(*view, shape);
    if (!inverse || readers[operand] != 1) return false;
    const auto shown = view_strides(*inverse, graph.type(value), views.empty() ? strides[value] : views.back().second, shape);
    if (!shown) return false;
    views.emplace_back(id, *shown);
    value = operand;
  }
  // Where only axes of extent 1 come and go, a copy rides with what is copied.
  const bool moves = std::any_of(views.begin(), views.end(), [&](const auto& view) {
    const ViewRule::Form form = std::get<IndexMap>(graph.nodes[view.first].kind).form;
    return form != ViewRule::Form::unsqueeze && form != ViewRule::Form::squeeze;
  });
  if (!moves || !keeps_neighbours(graph.type(value).shape, views.back().second)) return false;
  if (!can_be_written(graph, value, views.back().second)) return false;
  for (auto& [id, shown] : views) {
    std::get<IndexMap>(graph.nodes[id].kind).written_through = true;
    strides[graph.nodes[id].inputs[0]] = std::move(shown);
  }
  return true;
}

// Rule: results go where the caller or the state wants them, each written by a stub, once. One that is a view is written
// through it.
void copy_results(Graph& graph, Copies& copies) {
  const auto end = static_cast<NodeId>(graph.nodes.size());
  for (StateData& state : graph.states) {
    if (state.next == no_id || updated_state(graph, state.next) == state.value) continue;
    ValueId source = state.next;
    const bool reads_state = graph.value(source).kind == ValueKind::state || plain_view(graph, source) ||
                             updated_state(graph, source) != no_id;
    if (reads_state) source = copies.insert(source, end, state.where);
    state.next = copies.insert(source, end, state.where, copies.unique(graph.value(state.value).name + "_next"));
  }
  std::unordered_set<ValueId> written;
  for (const StateData& state : graph.states) {
    if (state.next != no_id) written.insert(state.next);
  }
  std::unordered_set<ValueId> parts;
  for (const Node& node : graph.nodes) {
    for (std::size_t i = first_part(node); i < node.inputs.size(); ++i) parts.insert(node.inputs[i]);
  }
  const std::vector<std::uint32_t> readers = count_readers(graph);
  std::vector<Strides> strides(graph.values.size());
  for (ValueId& output : graph.outputs) {
    const Value& value = graph.value(output);
    const bool free = value.kind == ValueKind::result && updated_state(graph, output) == no_id &&
                      !parts.contains(output) && !written.contains(output);
    if (free) strides[output] = dense_strides(value.type->shape);
    const bool own = free && (!plain_view(graph, output) || write_through(graph, readers, output, strides));
    if (own && written.insert(output).second) continue;
    // The copy takes the public name; what it copies is renamed where nobody outside knows it.
    std::string name = value.name;
    const SourceLocation where = value.where;
    if (value.kind == ValueKind::result) {
      graph.value(output).name = copies.unique(name + "_source");
      graph.value(output).where = {};  // nobody wrote that name
    } else {
      name = copies.unique(name + "_output");
    }
    output = copies.insert(output, end, where, name);
    written.insert(output);
  }
}

// By ValueId: the destination that it is a part of; the first, where it is a part of several. no_id: none, or it has to
// live somewhere else.
std::vector<NodeId> find_wholes(const Graph& graph) {
  std::vector<NodeId> whole_of(graph.values.size(), no_id);
  std::vector<bool> elsewhere(graph.values.size(), false);
  for (const ValueId output : graph.outputs) elsewhere[output] = true;
  for (const StateData& state : graph.states) {
    if (state.next != no_id) elsewhere[state.next] = true;
  }
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    for (std::size_t i = first_part(node); i < node.inputs.size(); ++i) {
      NodeId& whole = whole_of[node.inputs[i]];
      if (whole == no_id && !elsewhere[node.inputs[i]]) whole = id;
    }
  }
  return whole_of;
}

// Rule: a part is written by the stub that makes it, straight into the whole. So a node of this graph must make it, for
// this destination only, it must not have to live somewhere else, and its stub must be able to walk it there. A part that
// is a view is written through it. Wholes come before their parts: what a whole lies in decides how its parts lie.
void copy_parts(Graph& graph, Copies& copies) {
  const std::vector<NodeId> whole_of = find_wholes(graph);
  const std::vector<std::uint32_t> readers = count_readers(graph);
  std::vector<Strides> strides = layouts(graph);
  std::vector<std::pair<NodeId, std::size_t>> copied;  // operands of nodes
  for (NodeId id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
    const Node& node = graph.nodes[id];
    if (const auto* view = std::get_if<IndexMap>(&node.kind); view && view->written_through)
      continue;  // nothing to decide
    std::unordered_set<ValueId> taken;
    for (std::size_t i = first_part(node); i < node.inputs.size(); ++i) {
      const ValueId part = node.inputs[i];
      const bool is_ours = whole_of[part] == id && taken.insert(part).second;
      if (is_ours) strides[part] = strides[node.outputs[0]];
      if (is_ours && (can_be_written(graph, part, strides[part]) || write_through(graph, readers, part, strides))) continue;
      if (is_ours) strides[part] = dense_strides(graph.type(part).shape);
      copied.emplace_back(id, i);
    }
  }
  std::sort(copied.begin(), copied.end());
  for (const auto& [id, i] : copied) {
    const ValueId copy = copies.insert(graph.nodes[id].inputs[i], id, graph.nodes[id].where);
    graph.nodes[id].inputs[i] = copy;
  }
}

// Rule: where two updates of one state meet, what the later one brings is written after the other is whole.
void copy_parts_out_of_order(Graph& graph, Copies& copies, const DimRanges& ranges) {
  std::vector<ValueId> copied = updates_of_parts_kept(graph, ranges);
  do {
    for (const ValueId result : copied) {
      const NodeId update = graph.value(result).producer;
      const ValueId copy = copies.insert(graph.nodes[update].inputs[1], update, graph.nodes[update].where);
      graph.nodes[update].inputs[1] = copy;
    }
    copies.finish();
    copied = order_updates(graph, ranges);
  } while (!copied.empty());
}

// Whether `node` may load `source` instead of that widened: elementwise nodes and reductions load any float in its
// compute type, kernels where they still take the node. What a kernel reads from memory alone it computes with in a type
// of its own, so that floats of 8 bits do for the same ones in 16: the cast would need memory.
bool loads_as(const Graph& graph, const Node& node, std::size_t operand, ValueId source, const DimRanges& ranges,
              const LoadValues& constants) {
  const DType from = graph.type(source).dtype, to = graph.type(node.inputs[operand]).dtype;
  if (!info(from).floating || !info(to).floating) return false;
  const bool is_compute_type = compute_dtype(from) == to;
  if (std::holds_alternative<Elementwise>(node.kind) || std::holds_alternative<Reduction>(node.kind)) {
    return is_compute_type && node.op->role == OpRole::none;
  }
  if (!calls_kernel(node) || operand >= node.kernel->operands.size()) return false;
  if (!is_compute_type && node.kernel->operands[operand].accepts != Accepts::view) return false;
  const std::vector<DType>& taken = node.kernel->operands[operand].dtypes;
  if (std::find(taken.begin(), taken.end(), from) == taken.end()) return false;
  Node changed = node;
  changed.inputs[operand] = source;
  return takes_node(*node.kernel, graph, changed, ranges, constants);
}

// Rule: f(cast(x)) -> f(x), where the cast widens and f would load x in that type anyhow. The cast would only keep a
// loop, or memory, for itself. A cast that a fusion directive names stays.
void absorb_widening_casts(Graph& graph, const DimRanges& ranges) {
  const std::vector<bool> named = named_values(graph);
  const LoadValues constants(graph);
  for (Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId source = before_widening(graph, node.inputs[i]);
      if (source == node.inputs[i] || named[node.inputs[i]]) continue;
      if (loads_as(graph, node, i, source, ranges, constants)) node.inputs[i] = source;
    }
  }
  const std::vector<std::uint32_t> readers = count_readers(graph);
  std::vector<bool> removed(graph.nodes.size(), false);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    removed[id] = node.op && node.op->role == OpRole::cast && readers[node.outputs[0]] == 0;
  }
  drop_nodes(graph, removed);
  drop_unused_values(graph);
}

// Rule: on a CPU, constants of which a kernel unpacks a weight at each call lie as it walks them: where a view shows
// one across its lines, that is copied, at load. A GPU's kernels read such weights down their columns.
void turn_weights(Graph& graph, Copies& copies) {
  if (graph.target != TargetKind::cpu) return;
  const LoadValues load(graph);
  const std::vector<Strides> strides = layouts(graph);
  std::unordered_set<ValueId> unpacked;  // of constants alone, at each call
  const auto follows = [&](ValueId id) { return id == no_id || load.contains(id) || unpacked.contains(id); };
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const bool is_elementwise = std::holds_alternative<Elementwise>(node.kind);
    const bool goes_on = is_elementwise || std::holds_alternative<IndexMap>(node.kind);
    if (!goes_on || load.contains(node.outputs[0])) continue;
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), follows)) continue;
    unpacked.insert(node.outputs[0]);
    for (std::size_t i = 0; is_elementwise && i < node.inputs.size(); ++i) {
      const ValueId input = graph.nodes[id].inputs[i];
      if (input == no_id || !load.contains(input) || !plain_view(graph, input)) continue;
      const Dim distance = distance_of_neighbours(graph.type(input).shape, strides[input]);
      if (distance == Dim(0) || distance == Dim(1)) continue;
      const ValueId copy = copies.insert(input, id, graph.nodes[id].where);
      graph.nodes[id].inputs[i] = copy;
    }
  }
}

void materialise_graph(Graph& graph, const OpSet& ops, const OpSpec& copy, const DimRanges& ranges,
                       Diagnostics& diagnostics) {
  Copies copies(graph, copy, ops.kernel_of(copy));
  validate_updates(graph, diagnostics);
  if (diagnostics.has_errors()) return;
  absorb_widening_casts(graph, ranges);
  copy_results(graph, copies);
  copies.finish();
  copy_parts(graph, copies);
  copies.finish();
  copy_parts_out_of_order(graph, copies, ranges);
  copy_awkward_operands(graph, copies);
  copies.finish();
  turn_weights(graph, copies);
  copies.finish();
}

}  // namespace

Module materialise(Module module, const OpSet& ops, Diagnostics& diagnostics) {
  const OpSpec* copy = ops.with_role(OpRole::copy);
  if (!copy) {
    diagnostics.error({}, "no operator has the role `copy`").advise("give one of the specs `role: copy`");
    return module;
  }
  const DimRanges ranges = ranges_of(module.main);
  for (Graph& function : module.functions) materialise_graph(function, ops, *copy, ranges, diagnostics);
  materialise_graph(module.main, ops, *copy, ranges, diagnostics);
  return module;
}

}  // namespace kgen
