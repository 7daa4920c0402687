#include "generator/pass/pull_views.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "generator/pass/view_algebra.hpp"

namespace kgen {
namespace {

using Form = ViewRule::Form;

// What a view of the value could be pulled up to.
struct Reach {
  bool loads = false;        // nothing but memory, through elementwise nodes that nothing else reads
  bool dense_loads = false;  // nothing but dense memory of the value's own shape, and scalars
};

bool is_static(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& extent) { return extent.is_constant(); });
}

Reach reach_of_view(const Node& node, const std::vector<Reach>& reach) {
  const Form form = std::get<View>(node.kind).form;
  const bool keeps_order = form == Form::reshape || form == Form::unsqueeze || form == Form::squeeze;
  return {true, form == Form::concat || (keeps_order && reach[node.inputs[0]].dense_loads)};
}

Reach reach_of_elementwise(const Graph& graph, const Node& node, const std::vector<Reach>& reach) {
  const Shape& shape = graph.type(node.outputs[0]).shape;
  Reach result{true, true};
  for (const ValueId input : node.inputs) {
    if (input == no_id || graph.type(input).shape.empty()) continue;
    result.loads = result.loads && reach[input].loads;
    result.dense_loads = result.dense_loads && reach[input].dense_loads && graph.type(input).shape == shape;
  }
  return result;
}

// By ValueId.
std::vector<Reach> find_reach(const Rewriting& rewriting, const std::vector<std::uint32_t>& readers) {
  const Graph& graph = rewriting.graph;
  std::vector<Reach> reach(graph.values.size());
  for (const GraphInput& input : graph.inputs) reach[input.value] = {true, !input.strided};
  for (const ConstantData& constant : graph.constants) reach[constant.value] = {true, true};
  // The strides of a state are those of its greatest size.
  for (const StateData& state : graph.states) reach[state.value] = {true, is_static(graph.type(state.value).shape)};
  for (const Node& node : graph.nodes) {
    Reach result;
    if (std::holds_alternative<View>(node.kind)) {
      result = reach_of_view(node, reach);
    } else if (std::holds_alternative<Call>(node.kind) || std::holds_alternative<Opaque>(node.kind)) {
      result = {true, true};
    } else if (std::holds_alternative<Elementwise>(node.kind)) {
      const ValueId output = node.outputs[0];
      const bool only_viewed = node.outputs.size() == 1 && readers[output] == 1 && !rewriting.observed[output] &&
                               !rewriting.named[output];
      if (only_viewed) result = reach_of_elementwise(graph, node, reach);
    }
    for (const ValueId output : node.outputs) reach[output] = result;
  }
  return reach;
}

// What becomes of an operand of the elementwise node when `view` of its result is taken: the views to take of the
// operand, in order; none where it stays as it is. Absent where that cannot be said.
using Views = std::vector<View>;

std::optional<Views> permuted_operand(const View& view, const Shape& operand, const Shape& whole) {
  const std::size_t lead = whole.size() - operand.size();
  Views views;
  std::vector<int> order;   // of the operand's axes
  std::vector<int> missing;  // axes of the result, counted from the first that the operand has, that it has not
  int position = 0;
  for (const int axis : view.axes) {
    const bool present = static_cast<std::size_t>(axis) >= lead;
    if (!present && order.empty()) continue;
    if (present) {
      order.push_back(axis - static_cast<int>(lead));
    } else {
      missing.push_back(position);
    }
    ++position;
  }
  if (!std::is_sorted(order.begin(), order.end())) views.push_back(permutation(std::move(order)));
  for (const int axis : missing) views.push_back(view_along(Form::unsqueeze, axis));
  return views;
}

// slice, select, flip and squeeze: `view.axis` counts in `whole`.
std::optional<Views> operand_along_axis(View view, const Shape& operand, const Shape& whole) {
  const int lead = static_cast<int>(whole.size() - operand.size());
  const Dim& whole_extent = whole[static_cast<std::size_t>(view.axis)];
  if (view.axis < lead) return Views{};
  view.axis -= lead;
  const Dim& extent = operand[static_cast<std::size_t>(view.axis)];
  if (extent == whole_extent) return Views{std::move(view)};
  if (!is_one(extent)) return std::nullopt;
  if (view.form == Form::select) return Views{view_along(Form::squeeze, view.axis)};
  return Views{};
}

std::optional<Views> views_of_operand(const View& view, const Shape& operand, const Shape& whole) {
  if (operand.empty()) return Views{};
  switch (view.form) {
    case Form::permute: return permuted_operand(view, operand, whole);
    case Form::reshape: return operand == whole ? std::optional(Views{view}) : std::nullopt;
    case Form::slice:
    case Form::select:
    case Form::flip:
    case Form::squeeze: return operand_along_axis(view, operand, whole);
    case Form::unsqueeze: {
      const int after = static_cast<int>(whole.size()) - view.axis;  // axes of the result behind the new one
      const int axis = static_cast<int>(operand.size()) - after;
      return axis < 0 ? Views{} : Views{view_along(Form::unsqueeze, axis)};
    }
    case Form::broadcast:
    case Form::concat:
    case Form::update: break;
  }
  return std::nullopt;
}

// One sweep. Nodes are gathered from the last to the first.
class Sweep {
 public:
  explicit Sweep(Rewriting& rewriting)
      : rewriting_(rewriting),
        graph_(rewriting.graph),
        readers_(count_readers(graph_)),
        reach_(find_reach(rewriting, readers_)),
        pulled_(graph_.nodes.size()) {}

  bool run() {
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      ++rewriting_.node_visits;
      if (pulled_[i]) {
        place_pulled(std::move(graph_.nodes[i]), *pulled_[i]);
      } else {
        place(std::move(graph_.nodes[i]));
      }
    }
    std::reverse(reversed_.begin(), reversed_.end());
    graph_.nodes = std::move(reversed_);
    number_producers(graph_);
    rewriting_.removed.assign(graph_.nodes.size(), false);
    return changed_;
  }

 private:
  // Gives the view to the elementwise node that makes its operand, or leaves it here.
  void place(Node node) {
    const NodeId source = pulls_through(node);
    if (source == no_id) {
      reversed_.push_back(std::move(node));
    } else {
      pulled_[source] = std::move(node);
      changed_ = true;
    }
  }

  // The elementwise node in front of which the view node may go; no_id where it stays.
  NodeId pulls_through(const Node& node) const {
    const View* view = std::get_if<View>(&node.kind);
    if (!view || node.inputs.size() != 1 || rewriting_.named[node.outputs[0]]) return no_id;
    const ValueId whole = node.inputs[0];
    const Value& value = graph_.value(whole);
    if (value.kind != ValueKind::result || whole >= reach_.size()) return no_id;
    const Node& source = graph_.nodes[value.producer];
    if (!std::holds_alternative<Elementwise>(source.kind)) return no_id;
    if (!(view->form == Form::reshape ? reach_[whole].dense_loads : reach_[whole].loads)) return no_id;
    for (const ValueId input : source.inputs) {
      if (input != no_id && !can_view(*view, graph_.type(input).shape, value.type->shape)) return no_id;
    }
    return value.producer;
  }

  bool can_view(const View& view, const Shape& operand, const Shape& whole) const {
    const auto views = views_of_operand(view, operand, whole);
    return views && std::all_of(views->begin(), views->end(), [&](const View& each) { return view_op(rewriting_, each); });
  }

  // The elementwise node makes the view's result; views of its operands come in front of it.
  void place_pulled(Node node, const Node& view_node) {
    const ValueId result = view_node.outputs[0];
    const Shape whole = graph_.type(node.outputs[0]).shape;
    node.outputs[0] = result;
    std::vector<Node> views;
    std::unordered_map<ValueId, ValueId> viewed;  // an operand that is read twice is viewed once
    for (ValueId& input : node.inputs) {
      if (input == no_id) continue;
      const auto [found, is_new] = viewed.try_emplace(input, input);
      if (is_new) found->second = view_operand(std::get<View>(view_node.kind), input, whole, view_node, views);
      input = found->second;
    }
    reversed_.push_back(std::move(node));
    for (std::size_t i = views.size(); i-- > 0;) place(std::move(views[i]));
  }

  // Appends the views of one operand to `views`; the value to read in its place.
  ValueId view_operand(const View& view, ValueId operand, const Shape& whole, const Node& view_node,
                       std::vector<Node>& views) {
    const std::string name = graph_.value(view_node.outputs[0]).name + "_" + graph_.value(operand).name;
    ValueId current = operand;
    Views chain = *views_of_operand(view, graph_.type(operand).shape, whole);
    for (View& each : chain) {
      const TensorType type{graph_.type(current).dtype, viewed_shape(each, graph_.type(current).shape)};
      Node node = view_node;
      set_view(rewriting_, node, std::move(each));
      const ValueId next = new_result(rewriting_, name, type, view_node.where);
      node.inputs = {current};
      node.outputs = {next};
      views.push_back(std::move(node));
      current = next;
    }
    return current;
  }

  Rewriting& rewriting_;
  Graph& graph_;
  const std::vector<std::uint32_t> readers_;
  const std::vector<Reach> reach_;
  std::vector<std::optional<Node>> pulled_;  // by NodeId of an elementwise node: the view that goes in front of it
  std::vector<Node> reversed_;
  bool changed_ = false;
};

}  // namespace

bool pull_views(Rewriting& rewriting) { return Sweep(rewriting).run(); }

}  // namespace kgen
