#include "generator/pass/fuse/fuse_facts.hpp"

#include <algorithm>
#include <numeric>

#include "generator/pass/graph/update_order.hpp"

namespace kgen {
namespace {

bool reshapes(const IndexMap& view) {
  using Form = ViewRule::Form;
  return view.form == Form::reshape || view.form == Form::unsqueeze || view.form == Form::squeeze;
}

Shape without_ones(const Shape& shape) {
  Shape out;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(out), [](const Dim& extent) { return extent != Dim(1); });
  return out;
}

}  // namespace

const Number* single_number(const Graph& graph, ValueId value) {
  if (graph.value(value).kind != ValueKind::constant) return nullptr;
  const ConstantData& data = graph.constants[graph.value(value).index];
  return data.values.size() == 1 ? data.values.data() : nullptr;
}

bool is_literal(const Graph& graph, const Node& reader, ValueId value) {
  const auto* elementwise = std::get_if<Elementwise>(&reader.kind);
  if (!elementwise || !elementwise->line_axes.empty() || !single_number(graph, value)) return false;
  return std::any_of(reader.inputs.begin(), reader.inputs.end(),
                     [&](ValueId other) { return other != no_id && !single_number(graph, other); });
}

Shape keep_axes(Shape shape, const std::vector<int>& axes) {
  for (const int axis : axes) shape[static_cast<std::size_t>(axis)] = Dim(1);
  return shape;
}

Shape drop_axes(const Shape& shape, const std::vector<int>& axes) {
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int>(i))) out.push_back(shape[i]);
  }
  return out;
}

std::optional<RowForm> row_form(const Shape& shape, const Shape& loop, const std::vector<int>& row_axes) {
  if (shape == loop) return RowForm::full;
  if (shape == keep_axes(loop, row_axes)) return RowForm::kept;
  if (shape == drop_axes(loop, row_axes)) return RowForm::dropped;
  return std::nullopt;
}

FuseFacts::FuseFacts(const Graph& graph)
    : graph_(graph),
      ranges_(ranges_of(graph)),
      first_(graph.values.size() + 1, 0),
      kept_(graph.values.size(), false),
      writes_state_(graph.nodes.size(), false),
      wants_rows_(graph.nodes.size(), false),
      unshaped_(graph.values.size()),
      load_values_(graph),
      strides_(layouts(graph)) {
  std::iota(unshaped_.begin(), unshaped_.end(), 0);
  for (const Node& node : graph.nodes) {
    for (const ValueId input : node.inputs) {
      if (input != no_id) ++first_[input + 1];
    }
    const auto* view = std::get_if<IndexMap>(&node.kind);
    if (view && reshapes(*view)) unshaped_[node.outputs[0]] = unshaped_[node.inputs[0]];
    if (!is_update(node)) continue;
    const auto update = static_cast<NodeId>(&node - graph.nodes.data());
    for (const NodeId writer : writers_of(graph, node.inputs[1])) updates_written_[writer].push_back(update);
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  consumers_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    for (const ValueId input : graph.nodes[id].inputs) {
      if (input != no_id) consumers_[next[input]++] = id;
    }
  }

  for (const ValueId output : graph.outputs) kept_[output] = true;
  for (const StateData& state : graph.states) {
    if (state.next == no_id) continue;
    kept_[state.next] = true;
    const NodeId producer = graph.value(state.next).producer;
    if (producer != no_id && !is_view(producer)) writes_state_[producer] = true;
  }

  for (NodeId id = static_cast<NodeId>(graph.nodes.size()); id-- > 0;) {
    if (!std::holds_alternative<Elementwise>(graph.nodes[id].kind)) continue;
    for (const NodeId consumer : consumers(graph.nodes[id].outputs[0])) {
      if (std::holds_alternative<Reduction>(graph.nodes[consumer].kind) || wants_rows_[consumer]) wants_rows_[id] = true;
    }
  }
}

bool FuseFacts::reshapes_only(NodeId node) const {
  const auto* view = std::get_if<IndexMap>(&graph_.nodes[node].kind);
  return view && reshapes(*view);
}

ValueId FuseFacts::peel(ValueId value) const {
  while (graph_.value(value).kind == ValueKind::result) {
    const Node& node = graph_.nodes[graph_.value(value).producer];
    const auto* view = std::get_if<IndexMap>(&node.kind);
    if (!view) break;
    if (!reshapes(*view) || without_ones(graph_.type(value).shape) != without_ones(graph_.type(node.inputs[0]).shape))
      break;
    value = node.inputs[0];
  }
  return value;
}

}  // namespace kgen
