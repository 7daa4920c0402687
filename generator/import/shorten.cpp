#include "generator/import/shorten.hpp"

#include <algorithm>
#include <cstddef>

namespace kgen {
namespace {

using Form = ViewRule::Form;

// The node that makes the value, where it is a view of that form; else null.
const Node* view_behind(const Graph& graph, ValueId value, Form form) {
  const Value& made = graph.value(value);
  if (made.kind != ValueKind::result) return nullptr;
  const Node& node = graph.nodes[made.producer];
  const IndexMap* view = std::get_if<IndexMap>(&node.kind);
  return view && view->form == form ? &node : nullptr;
}

}  // namespace

std::optional<ValueId> shown_whole(const Graph& graph, const Node& node) {
  const IndexMap* view = std::get_if<IndexMap>(&node.kind);
  if (!view || (view->form != Form::reshape && view->form != Form::broadcast)) return std::nullopt;
  const Shape& shape = graph.type(node.inputs[0]).shape;
  bool same = shape == graph.type(node.outputs[0]).shape;
  if (view->form == Form::broadcast) {  // to sizes that the run compares with those there are
    const auto& wanted = std::get<Shape>(*find_attribute(node.attributes, node.op->view->parameters.at("shape")));
    same = same && wanted == shape;
  }
  return same ? std::optional(node.inputs[0]) : std::nullopt;
}

std::optional<ShortenedView> transposed_in_parts(const Graph& graph, const Node& node) {
  const IndexMap* view = std::get_if<IndexMap>(&node.kind);
  if (!view || view->form != Form::reshape) return std::nullopt;
  const Node* turned = view_behind(graph, node.inputs[0], Form::permute);
  const Node* joined = turned ? view_behind(graph, turned->inputs[0], Form::reshape) : nullptr;
  if (!joined) return std::nullopt;
  const ValueId operand = joined->inputs[0];
  const Shape &from = graph.type(operand).shape, &through = graph.type(turned->inputs[0]).shape,
              &to = graph.type(node.outputs[0]).shape;
  const std::vector<int>& axes = std::get<IndexMap>(turned->kind).axes;
  if (from.size() != to.size() || from.size() < through.size() || axes[0] != 0) return std::nullopt;
  const std::size_t kept = through.size() - 1, leading = from.size() - kept;
  const auto behind = from.begin() + static_cast<std::ptrdiff_t>(leading);
  if (!std::equal(behind, from.end(), through.begin() + 1) || !std::equal(from.begin(), behind, to.begin()))
    return std::nullopt;
  ShortenedView result{operand, {}};
  for (std::size_t i = 0; i < leading; ++i) result.order.emplace_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t axis = leading + static_cast<std::size_t>(axes[i + 1]) - 1;
    if (to[leading + i] != from[axis]) return std::nullopt;
    result.order.emplace_back(static_cast<std::int64_t>(axis));
  }
  return result;
}

}  // namespace kgen
