#include <algorithm>

#include "generator/pass/infer/infer_context.hpp"

namespace kgen {
namespace {

using Form = ViewRule::Form;

// ---- parameters -----------------------------------------------------------------------------------------------------

const std::string& attribute_of(const NodeContext& context, const std::string& parameter) {
  return context.op().view->parameters.at(parameter);
}

template <class T>
const T& parameter(const NodeContext& context, const std::string& name) {
  return std::get<T>(*find_attribute(context.node.attributes, attribute_of(context, name)));
}

// The parameter `axis`, within a shape of this rank.
std::optional<std::size_t> axis_parameter(const NodeContext& context, IndexMap& view, std::size_t rank) {
  const auto axis = resolve_axis(context, parameter<std::int64_t>(context, "axis"), rank);
  if (!axis) return std::nullopt;
  view.axis = *axis;
  return static_cast<std::size_t>(*axis);
}

// An index into an axis: a negative constant counts from its end.
Dim index_parameter(const NodeContext& context, const std::string& name, const Dim& extent) {
  const Dim& index = parameter<Dim>(context, name);
  return index.is_constant() && index.constant() < 0 ? extent + index : index;
}

std::string axis_text(const NodeContext& context, std::size_t axis) {
  return fmt::format("axis {} of {}", axis, context.graph.value(context.node.inputs[0]).name);
}

// ---- forms ----------------------------------------------------------------------------------------------------------
// Each sets what its form needs in the IndexMap, and gives the shape of the result.

std::optional<Shape> permute(NodeContext& context, IndexMap& view) {
  const Shape& shape = context.shape(0);
  const std::string& attribute = attribute_of(context, "axes");
  auto axes = resolve_axes(context, attribute, shape.size());
  if (!axes) return std::nullopt;
  if (axes->size() != shape.size()) {
    context.error(fmt::format("attribute '{}' lists {} of the {} axes of {}", attribute, axes->size(), shape.size(),
                              context.describe(0)))
        .advise("list every axis once");
    return std::nullopt;
  }
  Shape result;
  for (const int axis : *axes) result.push_back(shape[static_cast<std::size_t>(axis)]);
  view.axes = std::move(*axes);
  return result;
}

// Replaces the one extent of -1 by what makes the counts agree.
bool complete_reshape(NodeContext& context, const Dim& count, Shape& shape) {
  const Dim unknown = -1;
  const auto open = std::find(shape.begin(), shape.end(), unknown);
  if (open == shape.end()) return true;
  if (std::find(open + 1, shape.end(), unknown) != shape.end()) {
    context.error(fmt::format("two extents of {} are -1", to_text(shape)))
        .advise("only one can follow from the others");
    return false;
  }
  const std::string written = to_text(shape);
  *open = 1;
  const Dim others = element_count(shape);
  *open = Dim::floor_divide(count, others);
  if (others != 0 && *open * others == count) return true;
  if (others != 0 && is_for_the_run_to_tell(context.graph, count, others))
    return require_at_most(context, 1, others, written + " says what -1 stands for where the others are not 0");
  context.error(fmt::format("{} does not say what -1 stands for: the {} elements of {} do not divide by {}", written,
                            count.text(), context.describe(0), others.text()));
  return false;
}

std::optional<Shape> reshape(NodeContext& context, IndexMap& view) {
  Shape shape = parameter<Shape>(context, "shape");
  const Dim count = element_count(context.shape(0));
  if (!complete_reshape(context, count, shape)) return std::nullopt;
  for (const Dim& extent : shape) {
    if (!require_at_most(context, 0, extent, fmt::format("the extents of {} must not be negative", to_text(shape)))) {
      return std::nullopt;
    }
  }
  const Dim new_count = element_count(shape);
  if (new_count != count && is_for_the_run_to_tell(context.graph, count, new_count)) {
    const std::string meaning = fmt::format("{} must have as many elements as {}", to_text(shape),
                                            context.graph.value(context.node.inputs[0]).name);
    if (!require_equal(context, new_count, count, meaning)) return std::nullopt;
  } else if (new_count != count) {
    auto& error = context.error(fmt::format("{} has {} elements, and {} has {}", context.describe(0), count.text(),
                                            to_text(shape), new_count.text()));
    error.advise("both must have the same number for every value of the dims; one extent may be -1");
    return std::nullopt;
  }
  view.shape = shape;
  return shape;
}

std::optional<Shape> broadcast(NodeContext& context, IndexMap& view) {
  const Shape& shape = context.shape(0);
  Shape target = parameter<Shape>(context, "shape");
  if (target.size() < shape.size()) {
    context.error(fmt::format("{} has more axes than {}", context.describe(0), to_text(target)));
    return std::nullopt;
  }
  for (const Dim& extent : target) {
    if (!require_at_most(context, 0, extent, fmt::format("the extents of {} must not be negative", to_text(target)))) {
      return std::nullopt;
    }
  }
  const std::size_t added = target.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Dim& wanted = target[added + i];
    if (shape[i] == wanted || shape[i] == 1) continue;
    const std::string problem = fmt::format("{} does not broadcast to {}: axis {} is {} and must be {} or 1",
                                            context.describe(0), to_text(target), i, shape[i].text(), wanted.text());
    if (!is_for_the_run_to_tell(context.graph, shape[i], wanted)) return context.error(problem), std::nullopt;
    if (!require_equal(context, wanted, shape[i], problem)) return std::nullopt;
    wanted = shape[i];
  }
  view.shape = target;
  return target;
}

std::optional<Shape> slice(NodeContext& context, IndexMap& view) {
  Shape shape = context.shape(0);
  const auto axis = axis_parameter(context, view, shape.size());
  if (!axis) return std::nullopt;
  Dim& extent = shape[*axis];
  view.step = parameter<std::int64_t>(context, "step");
  if (view.step < 1) {
    context.error(fmt::format("the step is {}", view.step)).advise("a step is at least 1");
    return std::nullopt;
  }
  view.begin = index_parameter(context, "begin", extent);
  const Dim end = index_parameter(context, "end", extent);
  const std::string of_axis = axis_text(context, *axis);
  if (!require_at_most(context, 0, view.begin, "the slice must begin within " + of_axis) ||
      !require_at_most(context, view.begin, end, "the slice must begin before its end") ||
      !require_at_most(context, end, extent, "the slice must end within " + of_axis)) {
    return std::nullopt;
  }
  view.length = Dim::floor_divide(end - view.begin + (view.step - 1), view.step);
  extent = view.length;
  return shape;
}

std::optional<Shape> select(NodeContext& context, IndexMap& view) {
  Shape shape = context.shape(0);
  const auto axis = axis_parameter(context, view, shape.size());
  if (!axis) return std::nullopt;
  view.begin = index_parameter(context, "index", shape[*axis]);
  const std::string meaning = "the index must be within " + axis_text(context, *axis);
  if (!require_at_most(context, 0, view.begin, meaning) ||
      !require_at_most(context, view.begin + 1, shape[*axis], meaning)) {
    return std::nullopt;
  }
  shape.erase(shape.begin() + view.axis);
  return shape;
}

std::optional<Shape> unsqueeze(NodeContext& context, IndexMap& view) {
  Shape shape = context.shape(0);
  const auto axis = axis_parameter(context, view, shape.size() + 1);
  if (!axis) return std::nullopt;
  shape.insert(shape.begin() + view.axis, 1);
  return shape;
}

std::optional<Shape> squeeze(NodeContext& context, IndexMap& view) {
  Shape shape = context.shape(0);
  const auto axis = axis_parameter(context, view, shape.size());
  if (!axis) return std::nullopt;
  if (shape[*axis] != 1) {
    context.error(fmt::format("axis {} of {} is {}, and only an axis of extent 1 can be dropped", *axis,
                              context.describe(0), shape[*axis].text()));
    return std::nullopt;
  }
  shape.erase(shape.begin() + view.axis);
  return shape;
}

std::optional<Shape> flip(NodeContext& context, IndexMap& view) {
  if (!axis_parameter(context, view, context.shape(0).size())) return std::nullopt;
  return context.shape(0);
}

// True where an operand has the rank of the first, and its extents apart from one axis.
bool agrees_beside(const NodeContext& context, std::size_t operand, std::size_t axis) {
  const Shape& first = context.shape(0);
  const Shape& other = context.shape(operand);
  if (first.size() != other.size()) {
    context.error(fmt::format("{} has {} axes and {} has {}", context.describe(0), first.size(),
                              context.describe(operand), other.size()));
    return false;
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (i == axis || first[i] == other[i]) continue;
    context.error(fmt::format("{} and {} must agree on every axis but {}: axis {} is {} and {}", context.describe(0),
                              context.describe(operand), axis, i, first[i].text(), other[i].text()));
    return false;
  }
  return true;
}

std::optional<Shape> concat(NodeContext& context, IndexMap& view) {
  Shape shape = context.shape(0);
  const auto axis = axis_parameter(context, view, shape.size());
  if (!axis) return std::nullopt;
  for (std::size_t i = 1; i < context.node.inputs.size(); ++i) {
    if (!agrees_beside(context, i, *axis)) return std::nullopt;
    shape[*axis] = shape[*axis] + context.shape(i)[*axis];
  }
  return shape;
}

std::optional<Shape> update(NodeContext& context, IndexMap& view) {
  const Shape& shape = context.shape(0);
  const auto axis = axis_parameter(context, view, shape.size());
  if (!axis || !agrees_beside(context, 1, *axis)) return std::nullopt;
  view.begin = index_parameter(context, "begin", shape[*axis]);
  const std::string of_axis = axis_text(context, *axis);
  const Dim end = view.begin + context.shape(1)[*axis];
  if (!require_at_most(context, 0, view.begin, "the update must begin within " + of_axis) ||
      !require_at_most(context, end, shape[*axis], "the update must end within " + of_axis)) {
    return std::nullopt;
  }
  return shape;
}

std::optional<Shape> resolve_form(NodeContext& context, IndexMap& view) {
  switch (view.form) {
    case Form::permute: return permute(context, view);
    case Form::reshape: return reshape(context, view);
    case Form::broadcast: return broadcast(context, view);
    case Form::slice: return slice(context, view);
    case Form::select: return select(context, view);
    case Form::unsqueeze: return unsqueeze(context, view);
    case Form::squeeze: return squeeze(context, view);
    case Form::flip: return flip(context, view);
    case Form::concat: return concat(context, view);
    case Form::update: return update(context, view);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Shape> resolve_view(NodeContext& context) {
  IndexMap view;
  view.form = context.op().view->form;
  auto shape = resolve_form(context, view);
  if (shape) context.node.kind = std::move(view);
  return shape;
}

}  // namespace kgen
