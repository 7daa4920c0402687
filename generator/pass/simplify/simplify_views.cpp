#include "generator/pass/simplify/simplify_views.hpp"

#include <algorithm>
#include <utility>

#include "generator/pass/simplify/view_algebra.hpp"

namespace kgen {
namespace {

using Form = ViewRule::Form;

const Shape& operand_shape(const Graph& graph, const Node& node) { return graph.type(node.inputs[0]).shape; }

bool drop_view(Rewriting& rewriting, NodeId id) {
  const Node& node = rewriting.graph.nodes[id];
  const IndexMap& view = std::get<IndexMap>(node.kind);
  const bool whole = view.form == Form::concat ? node.inputs.size() == 1
                                               : shows_everything(view, operand_shape(rewriting.graph, node));
  return whole && replace_result(rewriting, id, node.inputs[0]);
}

bool merge_with_operand(Rewriting& rewriting, NodeId id) {
  Graph& graph = rewriting.graph;
  Node& node = graph.nodes[id];
  if (node.inputs.size() != 1) return false;
  const Node* inner = producer(rewriting, node.inputs[0]);
  const IndexMap* inner_view = inner ? std::get_if<IndexMap>(&inner->kind) : nullptr;
  if (!inner_view || inner->inputs.size() != 1 || inner_view->form == Form::concat) return false;
  const ValueId source = inner->inputs[0];
  const Shape& shape = graph.type(source).shape;
  auto merged = merged_views(std::get<IndexMap>(node.kind), *inner_view, shape);
  if (!merged) return false;
  if (shows_everything(*merged, shape) && replace_result(rewriting, id, source)) return true;
  if (!set_view(rewriting, node, std::move(*merged))) return false;
  node.inputs[0] = source;
  return true;
}

// Whether a slice or a select shows no more than the first elements of an axis, so many as a part of it has.
bool lies_in_front(const IndexMap& view, const Dim& part) {
  if (view.form == Form::slice && view.step == 1 && view.begin == Dim(0) && view.length == part) return true;
  const Dim length = view.form == Form::slice ? view.length : Dim(1);
  if (!view.begin.is_constant() || !length.is_constant() || !part.is_constant()) return false;
  const std::int64_t begin = view.begin.constant(), count = length.constant();
  return begin >= 0 && view.step > 0 && count > 0 && begin + (count - 1) * view.step < part.constant();
}

bool read_one_part(Rewriting& rewriting, NodeId id) {
  Graph& graph = rewriting.graph;
  Node& node = graph.nodes[id];
  IndexMap view = std::get<IndexMap>(node.kind);
  if (view.form != Form::slice && view.form != Form::select) return false;
  const Node* inner = producer(rewriting, node.inputs[0]);
  const IndexMap* joined = inner ? std::get_if<IndexMap>(&inner->kind) : nullptr;
  if (!joined || joined->form != Form::concat || joined->axis != view.axis) return false;
  for (const ValueId part : inner->inputs) {
    const Shape& shape = graph.type(part).shape;
    const Dim& extent = shape[static_cast<std::size_t>(view.axis)];
    if (lies_in_front(view, extent)) {
      if (shows_everything(view, shape) && replace_result(rewriting, id, part)) return true;
      if (!set_view(rewriting, node, std::move(view))) return false;
      node.inputs[0] = part;
      return true;
    }
    view.begin = view.begin - extent;
  }
  return false;
}

// How many parts of a concatenation, from `first` on, show all of one value, slice behind slice; 0: they do not.
std::size_t parts_of_one(const Rewriting& rewriting, const Node& concat, std::size_t first) {
  const int axis = std::get<IndexMap>(concat.kind).axis;
  ValueId source = no_id;
  Dim end(0);
  for (std::size_t i = first; i < concat.inputs.size(); ++i) {
    const Node* part = producer(rewriting, concat.inputs[i]);
    const IndexMap* view = part ? std::get_if<IndexMap>(&part->kind) : nullptr;
    if (!view || view->form != Form::slice || view->axis != axis || view->step != 1 || view->begin != end) return 0;
    if (i == first) source = part->inputs[0];
    if (part->inputs[0] != source) return 0;
    end = end + view->length;
    if (end == rewriting.graph.type(source).shape[static_cast<std::size_t>(axis)]) return i + 1 - first;
  }
  return 0;
}

bool join_parts(Rewriting& rewriting, NodeId id) {
  Node& node = rewriting.graph.nodes[id];
  bool changed = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::size_t count = parts_of_one(rewriting, node, i);
    if (count == 0) continue;
    node.inputs[i] = producer(rewriting, node.inputs[i])->inputs[0];
    const auto next = node.inputs.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    node.inputs.erase(next, next + static_cast<std::ptrdiff_t>(count) - 1);
    changed = true;
  }
  return changed;
}

bool simplify_reshape(Rewriting& rewriting, NodeId id) {
  Node& node = rewriting.graph.nodes[id];
  const IndexMap& view = std::get<IndexMap>(node.kind);
  if (view.form != Form::reshape) return false;
  auto axis_view = reshape_as_axis(operand_shape(rewriting.graph, node), view.shape);
  return axis_view && set_view(rewriting, node, std::move(*axis_view));
}

// Whether operands of these shapes broadcast to `result`.
bool broadcast_to(const std::vector<const Shape*>& operands, const Shape& result) {
  for (std::size_t from_last = 1; from_last <= result.size(); ++from_last) {
    const Dim& extent = result[result.size() - from_last];
    const auto has_extent = [&](const Shape* shape) {
      return shape->size() >= from_last && (*shape)[shape->size() - from_last] == extent;
    };
    if (std::none_of(operands.begin(), operands.end(), has_extent)) return false;
  }
  return true;
}

bool read_before_broadcast(Rewriting& rewriting, NodeId id) {
  Graph& graph = rewriting.graph;
  Node& node = graph.nodes[id];
  bool changed = false;
  for (ValueId& input : node.inputs) {
    const Node* inner = producer(rewriting, input);
    const IndexMap* view = inner ? std::get_if<IndexMap>(&inner->kind) : nullptr;
    if (!view || view->form != Form::broadcast) continue;
    std::vector<const Shape*> shapes;
    for (const ValueId each : node.inputs) {
      if (each != no_id) shapes.push_back(&graph.type(each == input ? inner->inputs[0] : each).shape);
    }
    if (!broadcast_to(shapes, graph.type(node.outputs[0]).shape)) continue;
    input = inner->inputs[0];
    changed = true;
  }
  return changed;
}

}  // namespace

bool simplify_views(Rewriting& rewriting, NodeId id) {
  const Node& node = rewriting.graph.nodes[id];
  if (const auto* elementwise = std::get_if<Elementwise>(&node.kind)) {
    return elementwise->line_axes.empty() && read_before_broadcast(rewriting, id);
  }
  const auto* view = std::get_if<IndexMap>(&node.kind);
  if (!view || node.outputs.size() != 1) return false;
  if (drop_view(rewriting, id)) return true;
  if (view->form == Form::concat) return join_parts(rewriting, id);
  if (view->form == Form::update) return false;
  return merge_with_operand(rewriting, id) || read_one_part(rewriting, id) || simplify_reshape(rewriting, id);
}

}  // namespace kgen
