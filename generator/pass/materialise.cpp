#include "generator/pass/materialise.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "generator/pass/graph_edit.hpp"
#include "generator/pass/layout.hpp"
#include "generator/pass/widening.hpp"

namespace kgen {
namespace {

// A graph while copies are inserted: the nodes in front of which a copy goes are visited in order.
class Copies {
 public:
  Copies(Graph& graph, const OpSpec& copy, const KernelSignature* kernel)
      : graph_(graph), copy_(copy), kernel_(kernel), names_(graph) {}

  // A new value that holds `source` in dense memory; its node stands before node `before`.
  ValueId insert(ValueId source, NodeId before, const SourceLocation& where, std::string name = {}) {
    if (name.empty()) name = unique(graph_.value(source).name + "_copy");
    Node node{.op = &copy_, .kernel = kernel_, .kind = Elementwise{}, .inputs = {source}, .where = where};
    return insert(std::move(node), before, std::move(name), graph_.type(source));
  }

  // The result of a new node, which stands before node `before`.
  ValueId insert(Node node, NodeId before, std::string name, TensorType type) {
    const ValueId id = add_result(graph_, std::move(name), std::move(type), node.where);
    node.outputs = {id};
    inserted_[before].push_back(std::move(node));
    return id;
  }

  std::string unique(const std::string& wish) { return names_.take(wish); }

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
  UniqueNames names_;
  std::unordered_map<NodeId, std::vector<Node>> inserted_;
};

const View* destination(const Graph& graph, ValueId value) {
  if (graph.value(value).kind != ValueKind::result) return nullptr;
  const auto* view = std::get_if<View>(&graph.nodes[graph.value(value).producer].kind);
  return view && is_destination(*view) ? view : nullptr;
}

const View* plain_view(const Graph& graph, ValueId value) {
  if (graph.value(value).kind != ValueKind::result) return nullptr;
  const auto* view = std::get_if<View>(&graph.nodes[graph.value(value).producer].kind);
  return view && !is_destination(*view) ? view : nullptr;
}

// The state whose buffer `value` lives in: the state itself or a chain of updates of it.
ValueId updated_state(const Graph& graph, ValueId value) {
  while (true) {
    if (graph.value(value).kind == ValueKind::state) return value;
    const View* view = destination(graph, value);
    if (!view || view->form != ViewRule::Form::update) return no_id;
    value = graph.nodes[graph.value(value).producer].inputs[0];
  }
}

// What an update leaves of `source` along its axis, from `begin` on: a slice, whose node stands before node `update`.
ValueId insert_rest(const Graph& graph, Copies& copies, NodeId update, const Dim& begin, const Dim& length,
                    const char* suffix) {
  const Node& node = graph.nodes[update];
  const ValueId source = node.inputs[0];
  View slice;
  slice.form = ViewRule::Form::slice;
  slice.axis = std::get<View>(node.kind).axis;
  slice.begin = begin;
  slice.length = length;
  TensorType type = graph.type(source);
  type.shape[static_cast<std::size_t>(slice.axis)] = length;
  Node rest{.op = node.op, .kind = std::move(slice), .inputs = {source}, .where = node.where};
  return copies.insert(std::move(rest), update, copies.unique(graph.value(source).name + suffix), std::move(type));
}

// Rule: update(x, part) -> concat(x[0, begin), part, x[end, extent)), where x lies in no state's buffer: the result has
// memory of its own, and x stays as it is for its other readers.
void replace_updates_of_values(Graph& graph, Copies& copies) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const auto* view = std::get_if<View>(&graph.nodes[id].kind);
    if (!view || view->form != ViewRule::Form::update || updated_state(graph, graph.nodes[id].inputs[0]) != no_id) continue;
    const auto axis = static_cast<std::size_t>(view->axis);
    const ValueId part = graph.nodes[id].inputs[1];
    const Dim begin = view->begin;
    const Dim end = begin + graph.type(part).shape[axis];
    const Dim extent = graph.type(graph.nodes[id].inputs[0]).shape[axis];
    std::vector<ValueId> parts;
    if (begin != Dim(0)) parts.push_back(insert_rest(graph, copies, id, 0, begin, "_before"));
    parts.push_back(part);
    if (end != extent) parts.push_back(insert_rest(graph, copies, id, end, extent - end, "_after"));
    View concat;
    concat.form = ViewRule::Form::concat;
    concat.axis = view->axis;
    graph.nodes[id].kind = std::move(concat);
    graph.nodes[id].inputs = std::move(parts);
  }
}

// Rule: an update writes into its state's buffer. Nothing but that update may read the version before it, and the
// version after all updates must be the state's `next`.
void check_updates(const Graph& graph, Diagnostics& diagnostics) {
  std::unordered_map<ValueId, NodeId> update_of;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const auto* view = std::get_if<View>(&node.kind);
    if (!view || view->form != ViewRule::Form::update) continue;
    const Value& buffer = graph.value(node.inputs[0]);
    if (!update_of.emplace(node.inputs[0], id).second) {
      diagnostics.error(node.where, "'" + buffer.name + "' is updated twice")
          .note(graph.nodes[update_of[node.inputs[0]]].where, "first updated here")
          .advise("update the result of the first update instead");
    }
  }
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) {
      const auto found = input == no_id ? update_of.end() : update_of.find(input);
      if (found == update_of.end() || &graph.nodes[found->second] == &node) continue;
      const Node& update = graph.nodes[found->second];
      const std::string& after = graph.value(update.outputs[0]).name;
      diagnostics.error(node.where, "'" + graph.value(input).name + "' is read here, but its buffer is updated in place")
          .note(update.where, "updated here, as '" + after + "'")
          .advise("read '" + after + "', or copy what must be kept before the update");
    }
  }
  std::unordered_map<ValueId, ValueId> next_of;
  for (const StateData& state : graph.states) next_of[state.value] = state.next;
  for (const auto& [buffer, id] : update_of) {
    const ValueId result = graph.nodes[id].outputs[0];
    if (update_of.contains(result)) continue;
    const ValueId state = updated_state(graph, buffer);
    if (state == no_id || next_of[state] == result) continue;
    diagnostics
        .error(graph.nodes[id].where, "the state '" + graph.value(state).name + "' is updated in place, but its `next` is not '" +
                                          graph.value(result).name + "'")
        .advise("declare the state with `next: " + graph.value(result).name + "`");
  }
}

// Rule: a part is written by the stub that makes it, straight into the whole. So a node of this graph must make it, for
// this destination only, and it must not have to live somewhere else.
void copy_parts(Graph& graph, Copies& copies) {
  std::unordered_set<ValueId> elsewhere(graph.outputs.begin(), graph.outputs.end());
  for (const StateData& state : graph.states) {
    if (state.next != no_id) elsewhere.insert(state.next);
  }
  std::unordered_set<ValueId> taken;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const auto* view = std::get_if<View>(&graph.nodes[id].kind);
    if (!view || !is_destination(*view)) continue;
    const std::size_t first_part = view->form == ViewRule::Form::update ? 1 : 0;
    for (std::size_t i = first_part; i < graph.nodes[id].inputs.size(); ++i) {
      const ValueId part = graph.nodes[id].inputs[i];
      const Value& value = graph.value(part);
      const bool made_here = value.kind == ValueKind::result && !plain_view(graph, part) &&
                             !std::holds_alternative<Call>(graph.nodes[value.producer].kind) &&
                             updated_state(graph, part) == no_id;
      if (made_here && !elsewhere.contains(part) && taken.insert(part).second) continue;
      const ValueId copy = copies.insert(part, id, graph.nodes[id].where);
      graph.nodes[id].inputs[i] = copy;
      taken.insert(copy);
    }
  }
}

// Rule: results go where the caller or the state wants them, each written by a stub, once.
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
    const auto* view = std::get_if<View>(&node.kind);
    if (!view || !is_destination(*view)) continue;
    parts.insert(node.inputs.begin() + (view->form == ViewRule::Form::update ? 1 : 0), node.inputs.end());
  }
  for (ValueId& output : graph.outputs) {
    const Value& value = graph.value(output);
    const bool own = value.kind == ValueKind::result && !plain_view(graph, output) && updated_state(graph, output) == no_id &&
                     !parts.contains(output);
    if (own && written.insert(output).second) continue;
    // The copy takes the public name; what it copies is renamed where nobody outside knows it.
    std::string name = value.name;
    const SourceLocation where = value.where;
    if (value.kind == ValueKind::result) {
      graph.value(output).name = copies.unique(name + "_source");
    } else {
      name = copies.unique(name + "_output");
    }
    output = copies.insert(output, end, where, name);
    written.insert(output);
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

// Rule: memory that a reshape, a call or a kernel cannot walk as it lies is copied first.
void copy_awkward_operands(Graph& graph, Copies& copies) {
  std::vector<Strides> strides = layouts(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    Node& node = graph.nodes[id];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == no_id) continue;
      bool fits = true;
      if (const auto* view = std::get_if<View>(&node.kind)) {
        if (is_destination(*view)) continue;
        fits = view_strides(*view, graph.type(input), strides[input], graph.type(node.outputs[0]).shape).has_value();
      } else if (std::holds_alternative<Call>(node.kind)) {
        fits = is_dense(graph.type(input).shape, strides[input]);
      } else if (calls_kernel(node)) {
        fits = leading_axes_merge(graph, input, strides[input], node.kernel->operands[i].rank);
      }
      if (fits) continue;
      const ValueId copy = copies.insert(input, id, graph.nodes[id].where);
      strides.push_back(dense_strides(graph.type(copy).shape));
      graph.nodes[id].inputs[i] = copy;
    }
    if (const auto* view = std::get_if<View>(&graph.nodes[id].kind); view && !is_destination(*view)) {
      const Node& done = graph.nodes[id];
      const ValueId base = done.inputs[0];
      strides[done.outputs[0]] =
          *view_strides(*view, graph.type(base), strides[base], graph.type(done.outputs[0]).shape);
    }
  }
}

// Whether `node` may load an operand of type `from` where it reads one of type `to`: elementwise nodes and reductions
// load any float in its compute type, kernels the types that their signatures name.
bool loads_as(const Node& node, std::size_t operand, DType from, DType to) {
  if (!info(from).floating || compute_dtype(from) != to) return false;
  if (std::holds_alternative<Elementwise>(node.kind) || std::holds_alternative<Reduction>(node.kind)) {
    return node.op->role == OpRole::none;
  }
  if (!calls_kernel(node) || operand >= node.kernel->operands.size()) return false;
  const std::vector<DType>& taken = node.kernel->operands[operand].dtypes;
  return std::find(taken.begin(), taken.end(), from) != taken.end();
}

// Rule: f(cast(x)) -> f(x), where the cast widens and f would load x in that type anyhow. The cast would only keep a
// loop, or memory, for itself.
void absorb_widening_casts(Graph& graph) {
  for (Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId source = before_widening(graph, node.inputs[i]);
      if (source == node.inputs[i]) continue;
      if (loads_as(node, i, graph.type(source).dtype, graph.type(node.inputs[i]).dtype)) node.inputs[i] = source;
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

void materialise_graph(Graph& graph, const OpSet& ops, const OpSpec& copy, Diagnostics& diagnostics) {
  Copies copies(graph, copy, ops.kernel_of(copy));
  replace_updates_of_values(graph, copies);
  copies.finish();
  check_updates(graph, diagnostics);
  if (diagnostics.has_errors()) return;
  absorb_widening_casts(graph);
  copy_results(graph, copies);
  copies.finish();
  copy_parts(graph, copies);
  copies.finish();
  copy_awkward_operands(graph, copies);
  copies.finish();
}

}  // namespace

Module materialise(Module module, const OpSet& ops, Diagnostics& diagnostics) {
  const OpSpec* copy = ops.with_role(OpRole::copy);
  if (!copy) {
    diagnostics.error({}, "no operator has the role `copy`").advise("give one of the specs `role: copy`");
    return module;
  }
  for (Graph& function : module.functions) materialise_graph(function, ops, *copy, diagnostics);
  materialise_graph(module.main, ops, *copy, diagnostics);
  return module;
}

}  // namespace kgen
