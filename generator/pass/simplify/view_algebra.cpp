#include "generator/pass/simplify/view_algebra.hpp"

#include <algorithm>
#include <utility>

namespace kgen {
namespace {

using Form = ViewRule::Form;

bool moves_no_element(Form form) { return form == Form::reshape || form == Form::unsqueeze || form == Form::squeeze; }

IndexMap select_view(int axis, Dim index) {
  IndexMap view = view_along(Form::select, axis);
  view.begin = std::move(index);
  return view;
}

// `operand` sliced by `inner`, and one axis of that sliced or selected by `outer`.
std::optional<IndexMap> merged_with_slice(const IndexMap& outer, const IndexMap& inner) {
  if (outer.axis != inner.axis) return std::nullopt;
  if (outer.form == Form::squeeze) return select_view(inner.axis, inner.begin);
  const Dim begin = inner.begin + outer.begin * Dim(inner.step);
  if (outer.form == Form::select) return select_view(inner.axis, begin);
  if (outer.form != Form::slice) return std::nullopt;
  IndexMap view = outer;
  view.begin = begin;
  view.step = inner.step * outer.step;
  return view;
}

// The value of a view's parameter, as attributes hold it.
AttributeValue parameter_value(const IndexMap& view, const std::string& parameter) {
  if (parameter == "axes") return std::vector<Dim>(view.axes.begin(), view.axes.end());
  if (parameter == "shape") return view.shape;
  if (parameter == "axis") return static_cast<std::int64_t>(view.axis);
  if (parameter == "end") return view.begin + (view.length - Dim(1)) * Dim(view.step) + Dim(1);
  if (parameter == "step") return view.step;
  return view.begin;  // begin, index
}

// A whole number as a size where the specification says so, and the other way round.
AttributeValue as_specified(AttributeValue value, AttributeType type) {
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer && type == AttributeType::dim)
    return Dim(*integer);
  const auto* dim = std::get_if<Dim>(&value);
  if (dim && dim->is_constant() && type == AttributeType::integer) return dim->constant();
  return value;
}

}  // namespace

bool is_one(const Dim& extent) { return extent.is_constant() && extent.constant() == 1; }

IndexMap permutation(std::vector<int> axes) {
  IndexMap view;
  view.form = Form::permute;
  view.axes = std::move(axes);
  return view;
}

IndexMap reshaping(Shape shape) {
  IndexMap view;
  view.shape = std::move(shape);
  return view;
}

IndexMap view_along(Form form, int axis) {
  IndexMap view;
  view.form = form;
  view.axis = axis;
  return view;
}

Shape viewed_shape(const IndexMap& view, const Shape& operand) {
  Shape shape = operand;
  switch (view.form) {
    case Form::permute:
      for (std::size_t i = 0; i < view.axes.size(); ++i) shape[i] = operand[static_cast<std::size_t>(view.axes[i])];
      break;
    case Form::reshape:
    case Form::broadcast:
      return view.shape;
    case Form::slice:
      shape[static_cast<std::size_t>(view.axis)] = view.length;
      break;
    case Form::select:
    case Form::squeeze:
      shape.erase(shape.begin() + view.axis);
      break;
    case Form::unsqueeze:
      shape.insert(shape.begin() + view.axis, Dim(1));
      break;
    case Form::flip:
    case Form::concat:
    case Form::update:
      break;
  }
  return shape;
}

bool shows_everything(const IndexMap& view, const Shape& operand) {
  switch (view.form) {
    case Form::permute:
      return std::is_sorted(view.axes.begin(), view.axes.end());
    case Form::reshape:
    case Form::broadcast:
      return view.shape == operand;
    case Form::slice: {
      const auto axis = static_cast<std::size_t>(view.axis);
      return view.step == 1 && view.begin == Dim(0) && view.length == operand[axis];
    }
    case Form::flip:
      return is_one(operand[static_cast<std::size_t>(view.axis)]);
    default:
      return false;
  }
}

std::optional<IndexMap> merged_views(const IndexMap& outer, const IndexMap& inner, const Shape& operand) {
  const Shape between = viewed_shape(inner, operand);
  if (moves_no_element(outer.form) && moves_no_element(inner.form)) {
    const Shape result = viewed_shape(outer, between);
    const bool simpler = outer.form == Form::reshape || inner.form == Form::reshape || result == operand;
    return simpler ? std::optional(reshaping(result)) : std::nullopt;
  }
  if (inner.form == Form::slice) return merged_with_slice(outer, inner);
  if (outer.form != inner.form) return std::nullopt;
  switch (outer.form) {
    case Form::permute: {
      std::vector<int> axes;
      for (const int axis : outer.axes) axes.push_back(inner.axes[static_cast<std::size_t>(axis)]);
      return permutation(std::move(axes));
    }
    case Form::broadcast:
      return outer;
    case Form::flip:
      return outer.axis == inner.axis ? std::optional(reshaping(operand)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<IndexMap> reshape_as_axis(const Shape& operand, const Shape& result) {
  const bool adds = result.size() == operand.size() + 1;
  if (!adds && result.size() + 1 != operand.size()) return std::nullopt;
  const Shape& longer = adds ? result : operand;
  const Shape& shorter = adds ? operand : result;
  const auto differs = std::mismatch(shorter.begin(), shorter.end(), longer.begin()).second;
  if (!is_one(*differs) || !std::equal(differs + 1, longer.end(), shorter.begin() + (differs - longer.begin()))) {
    return std::nullopt;
  }
  return view_along(adds ? Form::unsqueeze : Form::squeeze, static_cast<int>(differs - longer.begin()));
}

std::vector<IndexMap> permuted_operand(const IndexMap& permute, std::size_t rank) {
  const std::size_t lead = permute.axes.size() - rank;
  std::vector<IndexMap> views;
  std::vector<int> order;    // of the operand's axes
  std::vector<int> missing;  // axes of the result, counted from the first that the operand has, that it has not
  int position = 0;
  for (const int axis : permute.axes) {
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

bool same_view(const IndexMap& a, const IndexMap& b) {
  return a.form == b.form && a.axes == b.axes && a.shape == b.shape && a.axis == b.axis && a.begin == b.begin &&
         a.length == b.length && a.step == b.step;
}

const OpSpec* view_op(const Rewriting& rewriting, const IndexMap& view) {
  return rewriting.view_ops[static_cast<std::size_t>(view.form)];
}

bool set_view(const Rewriting& rewriting, Node& node, IndexMap view) {
  const OpSpec* op = view_op(rewriting, view);
  if (!op) return false;
  Attributes attributes;
  for (const AttributeSpec& attribute : op->attributes) {
    const auto& parameters = op->view->parameters;
    const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const auto& each) { return each.second == attribute.name; });
    attributes.emplace_back(attribute.name, as_specified(parameter_value(view, parameter->first), attribute.type));
  }
  node.op = op;
  node.kernel = nullptr;
  node.attributes = std::move(attributes);
  node.kind = std::move(view);
  return true;
}

}  // namespace kgen
