#include <algorithm>

#include "generator/base/ensure.hpp"
#include "generator/pass/infer/infer_context.hpp"
#include "generator/pass/infer/infer_node.hpp"
#include "generator/spec/broadcast.hpp"
#include "generator/spec/contraction.hpp"
#include "generator/spec/reduced_shape.hpp"

namespace kgen {
namespace {

// ---- broadcasting ---------------------------------------------------------------------------------------------------

// What an operand broadcasts with: one that is read in lines is anywhere along them.
Shape broadcast_shape(const NodeContext& context, std::size_t operand) {
  Shape shape = context.shape(operand);
  if (const int axis = line_axis(context.node, operand); axis >= 0) shape[static_cast<std::size_t>(axis)] = 1;
  return shape;
}

// `operand` does not broadcast with an earlier one, along the axis that is `from_end` from the last.
void report_broadcast(const NodeContext& context, std::size_t operand, std::size_t from_end) {
  const auto extent = [&](std::size_t which) -> Dim {
    const Shape shape = broadcast_shape(context, which);
    return shape[shape.size() - from_end];
  };
  std::size_t earlier = 0;
  const auto conflicts = [&](std::size_t which) {
    return context.has_operand(which) && context.shape(which).size() >= from_end && extent(which) != 1 &&
           extent(which) != extent(operand);
  };
  while (earlier < operand && !conflicts(earlier)) ++earlier;
  ensure(earlier < operand, "operands that do not broadcast conflict with one before them");

  const std::size_t rank = std::max(context.shape(earlier).size(), context.shape(operand).size());
  auto& error = context.error(fmt::format("{} and {} do not broadcast: axis {} is {} and {}", context.describe(earlier),
                                          context.describe(operand), rank - from_end, extent(earlier).text(),
                                          extent(operand).text()));
  error.note("two extents broadcast where they are equal, or one of them is 1");
  if (!extent(earlier).is_constant() || !extent(operand).is_constant()) {
    error.advise(std::string(same_dims_advice));
  }
}

// ---- shape patterns -------------------------------------------------------------------------------------------------

std::string pattern_text(const std::vector<PatternAxis>& pattern) {
  std::string text;
  for (const PatternAxis& axis : pattern) {
    if (!text.empty()) text += ", ";
    text += axis.ellipsis ? "..." : axis.name.empty() ? std::to_string(axis.constant) : axis.name;
  }
  return "[" + text + "]";
}

// The shape that an operand of this pattern would have, as far as the operands before it say; else nothing.
std::optional<Shape> bound_shape(const NodeContext& context, const std::vector<PatternAxis>& pattern) {
  Shape shape;
  for (const PatternAxis& axis : pattern) {
    const PatternBindings::Name* bound = axis.name.empty() ? nullptr : context.bindings.find(axis.name);
    if (axis.ellipsis || (!axis.name.empty() && !bound)) return std::nullopt;
    shape.push_back(bound ? bound->extent : Dim(axis.constant));
  }
  return shape;
}

// An operand that would fit if it were broadcast.
void advise_broadcast(const NodeContext& context, std::size_t operand, Diagnostic& error) {
  const auto wanted = bound_shape(context, *context.spec(operand).pattern);
  if (!wanted) return;
  Shape shape = *wanted;
  if (broadcast_into(shape, context.shape(operand)) || shape != *wanted) return;
  const std::string& name = context.graph.value(context.node.inputs[operand]).name;
  error.advise(fmt::format("broadcast it: {{op: broadcast_to, in: {0}, out: {0}_everywhere, shape: {1}}}", name,
                           to_text(*wanted)));
}

bool bind_axis(NodeContext& context, std::size_t operand, const PatternAxis& axis, const Dim& extent) {
  if (axis.name.empty()) {
    if (extent == axis.constant) return true;
    context.error(fmt::format("{} has {} where operand '{}' takes {}, as {}", context.describe(operand), extent.text(),
                              context.spec(operand).name, axis.constant, pattern_text(*context.spec(operand).pattern)));
    return false;
  }
  const PatternBindings::Name* bound = context.bindings.find(axis.name);
  if (!bound) {
    context.bindings.names.push_back({axis.name, extent, operand});
    return true;
  }
  if (bound->extent == extent) return true;
  auto& error = context.error(fmt::format("{} is {} in {} and {} in {}", axis.name, bound->extent.text(),
                                          context.describe(bound->operand), extent.text(), context.describe(operand)));
  error.note(fmt::format("operand '{}' is {} and operand '{}' is {}", context.spec(bound->operand).name,
                         pattern_text(*context.spec(bound->operand).pattern), context.spec(operand).name,
                         pattern_text(*context.spec(operand).pattern)));
  if (extent == 1) {
    advise_broadcast(context, operand, error);
  } else if (!extent.is_constant() || !bound->extent.is_constant()) {
    error.advise(std::string(same_dims_advice));
  }
  return false;
}

bool bind_ellipsis(NodeContext& context, std::size_t operand, const Shape& leading) {
  if (!broadcast_into(context.bindings.ellipsis, leading)) return true;
  context.error(fmt::format("the leading axes of {} do not broadcast with {}, those of the operands before it",
                            context.describe(operand), to_text(context.bindings.ellipsis)));
  return false;
}

bool bind_pattern(NodeContext& context, std::size_t operand) {
  const std::vector<PatternAxis>& pattern = *context.spec(operand).pattern;
  const Shape& shape = context.shape(operand);
  const auto ellipsis = std::find_if(pattern.begin(), pattern.end(), [](const auto& axis) { return axis.ellipsis; });
  const bool open = ellipsis != pattern.end();
  const std::size_t named = pattern.size() - (open ? 1 : 0);
  if (shape.size() < named || (!open && shape.size() > named)) {
    auto& error = context.error(fmt::format("operand '{}' takes {}, but {} has {} {}", context.spec(operand).name,
                                            pattern_text(pattern), context.describe(operand), shape.size(),
                                            shape.size() == 1 ? "axis" : "axes"));
    if (shape.size() < named) advise_broadcast(context, operand, error);
    return false;
  }
  std::size_t at = 0;  // in the shape
  for (const PatternAxis& axis : pattern) {
    if (axis.ellipsis) {
      const auto first = shape.begin() + static_cast<std::ptrdiff_t>(at);
      const auto length = static_cast<std::ptrdiff_t>(shape.size() - named);
      if (!bind_ellipsis(context, operand, Shape(first, first + length))) return false;
      at += static_cast<std::size_t>(length);
    } else if (!bind_axis(context, operand, axis, shape[at++])) {
      return false;
    }
  }
  return true;
}

std::optional<Shape> shape_of_pattern(NodeContext& context, const ResultSpec& result) {
  Shape shape;
  for (const PatternAxis& axis : *result.pattern) {
    if (axis.ellipsis) {
      shape.insert(shape.end(), context.bindings.ellipsis.begin(), context.bindings.ellipsis.end());
    } else if (axis.name.empty()) {
      shape.emplace_back(axis.constant);
    } else if (const PatternBindings::Name* bound = context.bindings.find(axis.name)) {
      shape.push_back(bound->extent);
    } else if (const AttributeValue* given = find_attribute(context.node.attributes, axis.name)) {
      shape.push_back(std::get<Dim>(*given));
      if (!require_at_most(context, 0, shape.back(), fmt::format("{} must not be negative", axis.name)))
        return std::nullopt;
    } else {
      context.error(fmt::format("the size of result '{}' cannot be told: no given operand says what {} is in {}",
                                result.name, axis.name, pattern_text(*result.pattern)));
      return std::nullopt;
    }
  }
  return shape;
}

}  // namespace

const PatternBindings::Name* PatternBindings::find(std::string_view name) const {
  const auto found = std::find_if(names.begin(), names.end(), [&](const Name& each) { return each.name == name; });
  return found == names.end() ? nullptr : &*found;
}

bool bind_patterns(NodeContext& context) {
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (context.has_operand(i) && context.spec(i).pattern && !bind_pattern(context, i)) return false;
  }
  return true;
}

std::optional<Shape> broadcast_operands(const NodeContext& context) {
  Shape shape;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (!context.has_operand(i)) continue;
    if (const auto from_end = broadcast_into(shape, broadcast_shape(context, i))) {
      report_broadcast(context, i, *from_end);
      return std::nullopt;
    }
  }
  return shape;
}

namespace {

// The operands' common shape without `reduction.axes`, which are worked out here, or with 1 for each.
std::optional<Shape> reduced_shape(const NodeContext& context, Reduction& reduction) {
  auto shape = broadcast_operands(context);
  if (!shape) return std::nullopt;
  auto axes = resolve_axes(context, "axes", shape->size());
  if (!axes) return std::nullopt;
  if (axes->empty()) {
    for (std::size_t i = 0; i < shape->size(); ++i) axes->push_back(static_cast<int>(i));
  }
  std::sort(axes->begin(), axes->end());
  reduction = {std::move(*axes), std::get<bool>(*find_attribute(context.node.attributes, "keepdims"))};
  for (auto axis = reduction.axes.rbegin(); axis != reduction.axes.rend(); ++axis) {
    if (reduction.keepdims) {
      (*shape)[static_cast<std::size_t>(*axis)] = 1;
    } else {
      shape->erase(shape->begin() + *axis);
    }
  }
  return shape;
}

// Of a result whose shape the specification does not say.
std::optional<Shape> default_shape(const NodeContext& context) {
  Reduction reduction;
  return has_reduced_shape(context.op()) ? reduced_shape(context, reduction) : broadcast_operands(context);
}

// By the equation of a contraction.
std::optional<Shape> contracted_shape(const NodeContext& context, const std::string& attribute) {
  std::vector<std::size_t> ranks;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    shapes.push_back(context.shape(i));
    ranks.push_back(shapes.back().size());
  }
  const auto& text = std::get<std::string>(*find_attribute(context.node.attributes, attribute));
  std::string problem;
  const auto equation = read_equation(text, ranks, problem);
  auto shape = equation ? shape_of(*equation, shapes, problem) : std::nullopt;
  if (shape) return shape;
  auto& error = context.error(fmt::format("the equation '{}' does not fit: {}", text, problem));
  for (std::size_t i = 0; i < shapes.size(); ++i)
    error.note(fmt::format("operand {} is {}", i + 1, context.describe(i)));
  error.advise(
      "an equation is as bij,bjk->bik: a letter for each axis of each operand, or ... for several, then the result's");
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Shape>> result_shapes(NodeContext& context) {
  if (const auto& rule = context.op().contraction) {
    auto shape = contracted_shape(context, rule->equation);
    return shape ? std::optional(std::vector<Shape>{std::move(*shape)}) : std::nullopt;
  }
  std::vector<Shape> shapes;
  for (const ResultSpec& result : context.op().results) {
    auto shape = result.pattern            ? shape_of_pattern(context, result)
                 : !result.extents.empty() ? shape_of_extents(context, result)
                                           : default_shape(context);
    if (!shape) return std::nullopt;
    shapes.push_back(std::move(*shape));
  }
  return shapes;
}

// ---- axes -----------------------------------------------------------------------------------------------------------

std::optional<int> resolve_axis(const NodeContext& context, std::int64_t axis, std::size_t rank, std::size_t operand) {
  const auto axes = static_cast<std::int64_t>(rank);
  if (axis >= -axes && axis < axes) return static_cast<int>(axis < 0 ? axis + axes : axis);
  auto& error = context.error(fmt::format("axis {} is out of range for {}", axis, context.describe(operand)));
  error.note(rank == 0 ? "a scalar has no axes" : fmt::format("an axis is from {} to {}", -axes, axes - 1));
  return std::nullopt;
}

std::optional<std::vector<int>> resolve_axes(const NodeContext& context, std::string_view attribute, std::size_t rank) {
  std::vector<int> axes;
  for (const Dim& axis : std::get<std::vector<Dim>>(*find_attribute(context.node.attributes, attribute))) {
    if (!axis.is_constant()) {
      context.error(fmt::format("attribute '{}' lists axes, and '{}' is not a number", attribute, axis.text()));
      return std::nullopt;
    }
    const auto resolved = resolve_axis(context, axis.constant(), rank);
    if (!resolved) return std::nullopt;
    if (std::find(axes.begin(), axes.end(), *resolved) != axes.end()) {
      context.error(fmt::format("attribute '{}' names axis {} of {} twice", attribute, *resolved, context.describe(0)));
      return std::nullopt;
    }
    axes.push_back(*resolved);
  }
  return axes;
}

std::optional<std::vector<Shape>> resolve_elementwise(NodeContext& context) {
  Elementwise elementwise;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    const std::string& attribute = context.spec(i).line;
    if (attribute.empty() || !context.has_operand(i)) continue;
    const auto axis = std::get<std::int64_t>(*find_attribute(context.node.attributes, attribute));
    const auto resolved = resolve_axis(context, axis, context.shape(i).size(), i);
    if (!resolved) return std::nullopt;
    elementwise.line_axes.resize(context.node.inputs.size(), -1);
    elementwise.line_axes[i] = *resolved;
  }
  context.node.kind = std::move(elementwise);
  return result_shapes(context);
}

std::optional<Shape> resolve_reduction(NodeContext& context) {
  Reduction reduction;
  auto shape = reduced_shape(context, reduction);
  if (shape) context.node.kind = std::move(reduction);
  return shape;
}

bool require_at_most(NodeContext& context, const Dim& left, const Dim& right, const std::string& meaning) {
  if (provably_at_most(left, right, context.ranges)) return true;
  if (provably_at_most(right + 1, left, context.ranges)) {
    context.error(meaning).note(fmt::format("that needs {} <= {}, which never holds", left.text(), right.text()));
    return false;
  }
  context.graph.requirements.push_back({left, right, context.result_name() + ": " + meaning, context.node.where});
  return true;
}

bool require_equal(NodeContext& context, const Dim& left, const Dim& right, const std::string& meaning) {
  if (provably_at_most(right + 1, left, context.ranges) || provably_at_most(left + 1, right, context.ranges)) {
    context.error(meaning).note(fmt::format("that needs {} = {}, which never holds", left.text(), right.text()));
    return false;
  }
  return require_at_most(context, left, right, meaning) && require_at_most(context, right, left, meaning);
}

}  // namespace kgen
