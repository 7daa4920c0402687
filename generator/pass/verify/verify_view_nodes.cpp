#include <algorithm>

#include "generator/pass/verify/verify_nodes.hpp"

namespace kgen {
namespace {

using Form = ViewRule::Form;

constexpr std::string_view no_such_axis = "is a view along an axis that there is not";
constexpr std::string_view wrong_shape = "has another shape than its view shows";

bool is_one(const Dim& extent) { return extent == Dim(1); }

// `shape` has the extents of `other`, but for that of one axis.
bool agree_beside(const Shape& shape, const Shape& other, std::size_t axis) {
  if (shape.size() != other.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis && shape[i] != other[i]) return false;
  }
  return true;
}

// `longer` is `shorter` with one more axis.
bool has_one_more(const Shape& longer, const Shape& shorter, std::size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  return longer.size() == shorter.size() + 1 && std::equal(longer.begin(), longer.begin() + at, shorter.begin()) &&
         std::equal(longer.begin() + at + 1, longer.end(), shorter.begin() + at);
}

bool is_permuted(const Shape& made, const Shape& operand, const std::vector<int>& axes) {
  if (axes.size() != operand.size() || made.size() != operand.size()) return false;
  std::vector<bool> seen(axes.size(), false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || static_cast<std::size_t>(axes[i]) >= axes.size()) return false;
    const auto from = static_cast<std::size_t>(axes[i]);
    if (seen[from] || made[i] != operand[from]) return false;
    seen[from] = true;
  }
  return true;
}

// What is left of a shape from axis `first` on without `last` axes at its end.
Shape middle_of(const Shape& shape, std::size_t first, std::size_t last) {
  return {shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end() - static_cast<std::ptrdiff_t>(last)};
}

// Axes that both shapes begin or end with say nothing, and make long products; but for 0, which hides the others.
bool same_count(const Graph& graph, const Shape& a, const Shape& b) {
  const auto same = [](const Dim& x, const Dim& y) { return x == y && x != Dim(0); };
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t first = 0, last = 0;
  while (first < shorter && same(a[first], b[first])) ++first;
  while (first + last < shorter && same(a[a.size() - 1 - last], b[b.size() - 1 - last])) ++last;
  const Dim left = element_count(middle_of(a, first, last)), right = element_count(middle_of(b, first, last));
  return left == right || is_for_the_run_to_tell(graph, left, right);
}

bool is_broadcast(const Shape& made, const Shape& operand) {
  if (made.size() < operand.size()) return false;
  return std::equal(operand.begin(), operand.end(), made.end() - static_cast<std::ptrdiff_t>(operand.size()),
                    [](const Dim& from, const Dim& to) { return from == to || is_one(from); });
}

bool is_concatenated(const Graph& graph, const Node& node, std::size_t axis) {
  const Shape& made = graph.type(node.outputs[0]).shape;
  Dim extent(0);
  for (const ValueId part : node.inputs) {
    const Shape& shape = graph.type(part).shape;
    if (!agree_beside(shape, made, axis)) return false;
    extent = extent + shape[axis];
  }
  return extent == made[axis];
}

// What the view shows or writes along its axis, first element to last, lies outside of `extent` whatever the sizes are.
// Where there may be nothing to show, it may begin anywhere.
bool lies_outside(const Dim& begin, const Dim& count, std::int64_t step, const Dim& extent, const DimRanges& ranges) {
  if (begin.range(ranges).high < 0) return true;
  if (count.range(ranges).low < 1) return false;
  const Dim last = begin + (count - Dim(1)) * Dim(step);
  return (last - extent).range(ranges).low >= 0;
}

constexpr std::string_view outside = "is a view of elements outside of its operand";

// Along one axis: `view.axis` counts in the operand, for unsqueeze in the result.
std::string_view axis_view_problem(const Graph& graph, const Node& node, const IndexMap& view,
                                   const DimRanges& ranges) {
  const Shape& operand = graph.type(node.inputs[0]).shape;
  const Shape& made = graph.type(node.outputs[0]).shape;
  const auto axis = static_cast<std::size_t>(view.axis);
  if (view.axis < 0 || axis >= (view.form == Form::unsqueeze ? made : operand).size()) return no_such_axis;
  bool right = false;
  switch (view.form) {
    case Form::slice:
      if (view.step < 1) return "is a slice whose step is not positive";
      right = agree_beside(made, operand, axis) && made[axis] == view.length;
      if (right && lies_outside(view.begin, view.length, view.step, operand[axis], ranges)) return outside;
      break;
    case Form::select:
      right = has_one_more(operand, made, axis);
      if (right && lies_outside(view.begin, Dim(1), 1, operand[axis], ranges)) return outside;
      break;
    case Form::squeeze:
      right = has_one_more(operand, made, axis) && is_one(operand[axis]);
      break;
    case Form::unsqueeze:
      right = has_one_more(made, operand, axis) && is_one(made[axis]);
      break;
    case Form::flip:
      right = made == operand;
      break;
    case Form::concat:
      right = is_concatenated(graph, node, axis);
      break;
    case Form::update:
      if (node.inputs.size() != 2 || !agree_beside(graph.type(node.inputs[1]).shape, operand, axis)) {
        return "is updated by a part of another shape";
      }
      if (lies_outside(view.begin, graph.type(node.inputs[1]).shape[axis], 1, operand[axis], ranges)) return outside;
      right = made == operand;
      break;
    default:
      break;
  }
  return right ? "" : wrong_shape;
}

}  // namespace

bool writes_operands(const IndexMap& view) {
  return view.form == Form::concat || view.form == Form::update || view.written_through;
}

std::size_t first_written(const IndexMap& view) { return view.form == Form::update ? 1 : 0; }

std::string_view view_problem(const Graph& graph, const Node& node, const IndexMap& view, const DimRanges& ranges) {
  const TensorType& made = graph.type(node.outputs[0]);
  for (const ValueId input : node.inputs) {
    if (input == no_id) return "is a view of what was left out";
    const TensorType& type = graph.type(input);
    if (type.dtype != made.dtype || type.structure != made.structure) return "is a view of elements of another type";
  }
  const bool shows_part = view.form == Form::broadcast || view.form == Form::slice || view.form == Form::select;
  if (view.written_through && shows_part) return "is written through a view that does not show each element once";
  const Shape& operand = graph.type(node.inputs[0]).shape;
  switch (view.form) {
    case Form::permute:
      return is_permuted(made.shape, operand, view.axes) ? "" : wrong_shape;
    case Form::reshape:
      return view.shape == made.shape && same_count(graph, made.shape, operand) ? "" : wrong_shape;
    case Form::broadcast:
      return view.shape == made.shape && is_broadcast(made.shape, operand) ? "" : wrong_shape;
    default:
      return axis_view_problem(graph, node, view, ranges);
  }
}

}  // namespace kgen
