#include "generator/pass/simplify/expand_updates.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/pass/simplify/view_algebra.hpp"

namespace kgen {
namespace {

using Form = ViewRule::Form;

bool is_expanded(const Graph& graph, const Node& node) {
  const auto* view = std::get_if<IndexMap>(&node.kind);
  return view && view->form == Form::update && updated_state(graph, node.inputs[0]) == no_id;
}

// What the update leaves of its buffer along its axis, from `begin` on.
Node rest_of(Rewriting& rewriting, const Node& update, Dim begin, Dim length, const char* suffix) {
  const ValueId buffer = update.inputs[0];
  IndexMap slice = view_along(Form::slice, std::get<IndexMap>(update.kind).axis);
  slice.begin = std::move(begin);
  slice.length = std::move(length);
  const TensorType& whole = rewriting.graph.type(buffer);
  TensorType type = whole;
  type.shape = viewed_shape(slice, whole.shape);
  Node rest{.inputs = {buffer}, .where = update.where, .within = update.within};
  set_view(rewriting, rest, std::move(slice));
  rest.outputs = {new_result(rewriting, rewriting.graph.value(buffer).name + suffix, std::move(type), update.where)};
  return rest;
}

// Makes `update` the concatenation; the slices that it reads are appended to `nodes`.
void expand(Rewriting& rewriting, Node& update, std::vector<Node>& nodes) {
  const IndexMap view = std::get<IndexMap>(update.kind);
  const auto axis = static_cast<std::size_t>(view.axis);
  const ValueId part = update.inputs[1];
  const Dim extent = rewriting.graph.type(update.inputs[0]).shape[axis];
  const Dim length = rewriting.graph.type(part).shape[axis];
  const Dim end = view.begin + length;
  const bool is_whole = length == extent;  // it begins at 0, then: a requirement of the graph says so
  std::vector<ValueId> parts;
  if (!is_whole && view.begin != Dim(0)) {
    nodes.push_back(rest_of(rewriting, update, 0, view.begin, "_before"));
    parts.push_back(nodes.back().outputs[0]);
  }
  parts.push_back(part);
  if (!is_whole && end != extent) {
    nodes.push_back(rest_of(rewriting, update, end, extent - end, "_after"));
    parts.push_back(nodes.back().outputs[0]);
  }
  set_view(rewriting, update, view_along(Form::concat, view.axis));
  update.inputs = std::move(parts);
}

}  // namespace

void expand_updates(Rewriting& rewriting, Diagnostics& diagnostics) {
  Graph& graph = rewriting.graph;
  const auto is_one = [&](const Node& node) { return is_expanded(graph, node); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_one)) return;
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (is_expanded(graph, graph.nodes[id])) {
      if (!view_op(rewriting, view_along(Form::slice, 0)) || !view_op(rewriting, view_along(Form::concat, 0))) {
        diagnostics.error(graph.nodes[id].where, "no operators make slices and concatenations, which this update needs")
            .advise("load specs with an operator of `view: {form: slice}` and one of `view: {form: concat}`");
        return;
      }
      Node update = graph.nodes[id];  // of the nodes in front of it, values know the numbers that they had
      expand(rewriting, update, nodes);
      graph.nodes[id].kind = update.kind;
      nodes.push_back(std::move(update));
    } else {
      nodes.push_back(graph.nodes[id]);
    }
  }
  graph.nodes = std::move(nodes);
  number_producers(graph);
  rewriting.removed.assign(graph.nodes.size(), false);
}

}  // namespace kgen
