#include "generator/pass/graph/layout.hpp"

#include <algorithm>
#include <numeric>

namespace kgen {
namespace {

bool is_one(const Dim& extent) { return extent.is_constant() && extent.constant() == 1; }

Strides strides_of_greatest(const Shape& shape, const DimRanges& ranges) {
  Shape greatest;
  for (const Dim& extent : shape) greatest.emplace_back(extent.range(ranges).high);
  return dense_strides(greatest);
}

Strides any_strides(const Value& value) {
  Strides strides;
  for (std::size_t axis = 0; axis < value.type->shape.size(); ++axis) {
    strides.push_back(Dim::symbol(value.name + ".stride" + std::to_string(axis)));
  }
  return strides;
}

// Broadcast operands are aligned at the right; new and stretched axes get stride 0.
Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& result) {
  Strides out(result.size(), Dim(0));
  const std::size_t lead = result.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == result[lead + i]) out[lead + i] = strides[i];
  }
  return out;
}

}  // namespace

Strides dense_strides(const Shape& shape) {
  Strides strides(shape.size(), Dim(1));
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

bool axes_merge(const Shape& shape, const Strides& strides, std::size_t i) {
  return is_one(shape[i]) || is_one(shape[i + 1]) || strides[i] == strides[i + 1] * shape[i + 1];
}

bool axes_merge(const Shape& shape, const Strides& strides, std::size_t first, std::size_t last) {
  // Axes of extent 1 have no say; the others must fit each to the next.
  std::size_t previous = last + 1;
  for (std::size_t i = last + 1; i-- > first;) {
    if (is_one(shape[i])) continue;
    if (previous <= last && strides[i] != strides[previous] * shape[previous]) return false;
    previous = i;
  }
  return true;
}

bool is_dense(const Shape& shape, const Strides& strides) {
  if (shape.empty()) return true;
  if (!axes_merge(shape, strides, 0, shape.size() - 1)) return false;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (!is_one(shape[i])) return strides[i] == Dim(1);
  }
  return true;
}

// Walks both shapes from the right, a stretch of mergeable axes at a time: within such a stretch the result's axes may
// be cut anywhere.
std::optional<Strides> reshape_strides(const Shape& shape, const Strides& strides, const Shape& result) {
  Strides out(result.size(), Dim(1));
  std::size_t target = result.size();
  std::size_t axis = shape.size();
  while (axis > 0) {
    while (axis > 0 && is_one(shape[axis - 1])) --axis;
    if (axis == 0) break;
    const std::size_t last = axis - 1;
    Dim run = shape[last];
    std::size_t first = last;
    while (first > 0 && axes_merge(shape, strides, first - 1, last)) run = run * shape[--first];
    Dim covered(1);
    while (covered != run) {
      if (target == 0) return std::nullopt;
      --target;
      out[target] = strides[last] * covered;
      covered = covered * result[target];
    }
    axis = first;
  }
  // What is left over can only be axes of extent 1.
  while (target > 0) {
    --target;
    if (!is_one(result[target])) return std::nullopt;
  }
  return out;
}

std::optional<Strides> view_strides(const IndexMap& view, const TensorType& base, const Strides& strides,
                                    const Shape& result) {
  using Form = ViewRule::Form;
  Strides out = strides;
  const auto axis = static_cast<std::ptrdiff_t>(view.axis);
  switch (view.form) {
    case Form::permute:
      for (std::size_t i = 0; i < view.axes.size(); ++i) out[i] = strides[static_cast<std::size_t>(view.axes[i])];
      return out;
    case Form::reshape: {
      auto shown = reshape_strides(base.shape, strides, result);
      // Of dense memory also where only the run can tell that there are as many elements.
      if (!shown && is_dense(base.shape, strides)) shown = dense_strides(result);
      return shown;
    }
    case Form::broadcast:
      return broadcast_strides(base.shape, strides, result);
    case Form::slice:
      out[static_cast<std::size_t>(axis)] = out[static_cast<std::size_t>(axis)] * Dim(view.step);
      return out;
    case Form::select:
    case Form::squeeze:
      out.erase(out.begin() + axis);
      return out;
    case Form::unsqueeze:
      out.insert(out.begin() + axis, static_cast<std::size_t>(axis) < strides.size()
                                         ? strides[static_cast<std::size_t>(axis)] * base.shape[static_cast<std::size_t>(axis)]
                                         : Dim(1));
      return out;
    case Form::flip:
      out[static_cast<std::size_t>(axis)] = Dim(0) - out[static_cast<std::size_t>(axis)];
      return out;
    case Form::concat:
    case Form::update:
      break;
  }
  return std::nullopt;
}

std::optional<IndexMap> inverse_view(const IndexMap& view, const Shape& operand) {
  using Form = ViewRule::Form;
  IndexMap inverse;
  inverse.form = view.form;
  inverse.axis = view.axis;
  switch (view.form) {
    case Form::permute:
      inverse.axes.resize(view.axes.size());
      for (std::size_t i = 0; i < view.axes.size(); ++i) {
        inverse.axes[static_cast<std::size_t>(view.axes[i])] = static_cast<int>(i);
      }
      return inverse;
    case Form::reshape:
      inverse.shape = operand;
      return inverse;
    case Form::unsqueeze:
      inverse.form = Form::squeeze;
      return inverse;
    case Form::squeeze:
      inverse.form = Form::unsqueeze;
      return inverse;
    case Form::flip:
      return inverse;
    case Form::broadcast:
    case Form::slice:
    case Form::select:
    case Form::concat:
    case Form::update:
      break;
  }
  return std::nullopt;
}

bool is_destination(const IndexMap& view) {
  return view.form == ViewRule::Form::concat || view.form == ViewRule::Form::update || view.written_through;
}

std::size_t first_part(const Node& node) {
  const auto* view = std::get_if<IndexMap>(&node.kind);
  if (!view || !is_destination(*view)) return node.inputs.size();
  return view->form == ViewRule::Form::update ? 1 : 0;
}

Strides part_strides(const Graph& graph, const Node& node, ValueId part, const Strides& whole) {
  const IndexMap& view = std::get<IndexMap>(node.kind);
  if (!view.written_through) return whole;
  const Shape& shape = graph.type(part).shape;
  return *view_strides(*inverse_view(view, shape), graph.type(node.outputs[0]), whole, shape);
}

std::vector<Strides> layouts(const Graph& graph) {
  std::vector<Strides> out(graph.values.size());
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].type) out[id] = dense_strides(graph.values[id].type->shape);
  }
  for (const GraphInput& input : graph.inputs) {
    if (input.strided) out[input.value] = any_strides(graph.value(input.value));
  }
  const DimRanges ranges = ranges_of(graph);
  for (const StateData& state : graph.states) {
    out[state.value] = strides_of_greatest(graph.type(state.value).shape, ranges);
    if (state.next != no_id) out[state.next] = out[state.value];
  }

  // A destination's strides are known before those of its parts; views come last, for they may show parts.
  for (const Node& node : graph.nodes) {
    const auto* view = std::get_if<IndexMap>(&node.kind);
    if (view && view->form == ViewRule::Form::update) out[node.outputs[0]] = out[node.inputs[0]];
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    for (std::size_t part = first_part(node); part < node.inputs.size(); ++part) {
      out[node.inputs[part]] = part_strides(graph, node, node.inputs[part], out[node.outputs[0]]);
    }
  }
  for (const Node& node : graph.nodes) {
    const auto* view = std::get_if<IndexMap>(&node.kind);
    if (!view || is_destination(*view)) continue;
    const ValueId base = node.inputs[0];
    const Shape& shape = graph.type(node.outputs[0]).shape;
    if (auto strides = view_strides(*view, graph.type(base), out[base], shape)) out[node.outputs[0]] = *strides;
  }
  return out;
}

}  // namespace kgen
