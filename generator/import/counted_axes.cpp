#include "generator/import/counted_axes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generator/base/diagnostics.hpp"
#include "generator/pass/choose/decompose.hpp"

namespace kgen {
namespace {

using Axis = std::optional<std::size_t>;

int whole(std::size_t axis) { return static_cast<int>(axis); }

// The axis of the result that is `axis` of the operand, counted from the last, as elementwise operands broadcast.
Axis aligned(const Shape& operand, std::size_t axis, const Shape& result) {
  const std::size_t from_end = operand.size() - axis;
  if (from_end > result.size()) return std::nullopt;
  const std::size_t place = result.size() - from_end;
  return result[place] == operand[axis] ? Axis(place) : std::nullopt;
}

// The axis of the same extent that has as many elements in front of it.
Axis reshaped(const Shape& operand, std::size_t axis, const Shape& result) {
  const auto before = [](const Shape& shape, std::size_t end) {
    return Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(end));
  };
  const Shape front = before(operand, axis);
  for (std::size_t place = 0; place < result.size(); ++place) {
    const Shape other = before(result, place);
    if (has_too_many_products(front) || has_too_many_products(other)) return std::nullopt;
    if (result[place] == operand[axis] && element_count(other) == element_count(front)) return place;
  }
  return std::nullopt;
}

Axis viewed(const IndexMap& view, const Shape& operand, std::size_t axis, const Shape& result) {
  using Form = ViewRule::Form;
  const auto own = static_cast<std::size_t>(view.axis);
  switch (view.form) {
    case Form::permute:
      return static_cast<std::size_t>(std::find(view.axes.begin(), view.axes.end(), whole(axis)) - view.axes.begin());
    case Form::reshape:
      return reshaped(operand, axis, result);
    case Form::broadcast:
      return aligned(operand, axis, result);
    case Form::unsqueeze:
      return axis >= own ? axis + 1 : axis;
    case Form::select:
    case Form::squeeze:
      return axis == own ? std::nullopt : Axis(axis > own ? axis - 1 : axis);
    case Form::slice:
    case Form::flip:
    case Form::concat:
    case Form::update:
      return axis == own ? std::nullopt : Axis(axis);
  }
  return std::nullopt;
}

Axis reduced(const Reduction& reduction, std::size_t axis) {
  const auto& axes = reduction.axes;
  if (std::find(axes.begin(), axes.end(), whole(axis)) != axes.end()) return std::nullopt;
  if (reduction.keepdims) return axis;
  return axis - static_cast<std::size_t>(std::lower_bound(axes.begin(), axes.end(), whole(axis)) - axes.begin());
}

// Axes that `...` stands for are those of equal problems, each by itself. Places know nothing of each other along an
// axis that may be joined from parts, and along one whose factors the result has.
Axis patterned(const OpSpec& op, std::size_t operand, const Shape& shape, std::size_t axis, const ResultSpec& to,
               const Shape& result) {
  for (const JoinedAxis& each : op.algebra.joins) {
    const auto from_end = static_cast<std::size_t>(-each.operand_axis);
    if (each.operand == operand && axis + from_end == shape.size())
      return result.size() - static_cast<std::size_t>(-each.result_axis);
  }
  for (const ScaledAxis& each : op.algebra.scales) {
    const auto from_end = static_cast<std::size_t>(-each.axis);
    if (each.operand == operand && !each.other && axis + from_end == shape.size())
      return result.size() - static_cast<std::size_t>(-each.other_axis);
  }
  const auto named = [](const std::optional<std::vector<PatternAxis>>& pattern) {
    const bool leads = pattern && !pattern->empty() && pattern->front().ellipsis;
    return leads ? Axis(pattern->size() - 1) : std::nullopt;
  };
  const Axis own = named(op.operands[std::min(operand, op.operands.size() - 1)].pattern), other = named(to.pattern);
  if (!own || !other || axis + *own >= shape.size()) return std::nullopt;
  const Shape leading(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(*own));
  return aligned(leading, axis, Shape(result.begin(), result.end() - static_cast<std::ptrdiff_t>(*other)));
}

Axis axis_in_result(const Graph& graph, const Node& node, std::size_t operand, std::size_t axis, std::size_t which) {
  const Shape& shape = graph.type(node.inputs[operand]).shape;
  const Shape& result = graph.type(node.outputs[which]).shape;
  if (const auto* view = std::get_if<IndexMap>(&node.kind)) return viewed(*view, shape, axis, result);
  if (const auto* reduction = std::get_if<Reduction>(&node.kind)) return reduced(*reduction, axis);
  if (std::holds_alternative<Elementwise>(node.kind)) {
    // Negative indices into a line would count from behind what counts.
    return line_axis(node, operand) == whole(axis) ? std::nullopt : aligned(shape, axis, result);
  }
  if (!node.op || which >= node.op->results.size()) return std::nullopt;
  return patterned(*node.op, operand, shape, axis, node.op->results[which], result);
}

std::string refusal(const Graph& graph, const Node& node, std::size_t operand, std::size_t axis,
                    const std::string& op) {
  const Value& value = graph.value(node.inputs[operand]);
  return fmt::format(
      "'{}' ({}) has room for {} places along axis {}, of which only the run knows how many count, and '{}' would also "
      "read those behind",
      value.name, to_text(*value.type), value.type->shape[axis].text(), axis, op);
}

CountedResults through_node(const Graph& graph, const Node& node, const CountedAxes& counted, const std::string& op) {
  CountedResults found;
  found.results.resize(node.outputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto given = counted.find(node.inputs[i]);
    if (given == counted.end()) continue;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const Axis axis = axis_in_result(graph, node, i, given->second.axis, k);
      std::optional<CountedAxis>& result = found.results[k];
      if (!axis || (result && result->axis != *axis)) {
        found.problem = refusal(graph, node, i, given->second.axis, op);
        return found;
      }
      if (!result) result = CountedAxis{*axis, given->second.count};
    }
  }
  return found;
}

// A node in a graph of its own, whose inputs are what it reads.
struct Alone {
  Module module;
  std::map<ValueId, ValueId> ids;  // of the values there, by those of the node's graph
};

ValueId take_value(Alone& alone, const Graph& graph, ValueId value) {
  if (value == no_id) return no_id;
  Graph& own = alone.module.main;
  const auto [known, is_new] = alone.ids.emplace(value, static_cast<ValueId>(own.values.size()));
  if (!is_new) return known->second;
  Value copy = graph.value(value);
  if (copy.kind == ValueKind::constant) {
    own.constants.push_back(graph.constants[copy.index]);
    own.constants.back().value = known->second;
    copy.index = static_cast<std::uint32_t>(own.constants.size() - 1);
  } else {
    copy.kind = ValueKind::input;
    copy.producer = no_id;
    copy.index = static_cast<std::uint32_t>(own.inputs.size());
    own.inputs.push_back({known->second, false});
  }
  own.values.push_back(std::move(copy));
  return known->second;
}

// With the nodes that it stands for, if it is a composite; nothing where it cannot be expanded.
std::optional<Alone> expanded(const Graph& graph, const Node& node, const OpSet& ops) {
  Alone alone;
  Graph& own = alone.module.main;
  own.dims = graph.dims;
  Node copy = node;
  for (ValueId& each : copy.inputs) each = take_value(alone, graph, each);
  for (ValueId& each : copy.outputs) {
    const Value& value = graph.value(each);
    alone.ids.emplace(each, static_cast<ValueId>(own.values.size()));
    each = static_cast<ValueId>(own.values.size());
    own.values.push_back(value);
    own.values.back().producer = 0;
  }
  own.outputs = copy.outputs;
  own.nodes.push_back(std::move(copy));
  Diagnostics diagnostics;
  alone.module = decompose(std::move(alone.module), ops, diagnostics);
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(alone));
}

// As through_node, one node after another of those that a composite stands for.
std::optional<std::vector<std::optional<CountedAxis>>> through_expansion(const Graph& graph, const Node& node,
                                                                         const CountedAxes& counted, const OpSet& ops) {
  const auto alone = expanded(graph, node, ops);
  if (!alone) return std::nullopt;
  CountedAxes known;
  for (const ValueId each : node.inputs) {
    if (const auto found = counted.find(each); found != counted.end()) known[alone->ids.at(each)] = found->second;
  }
  for (const Node& each : alone->module.main.nodes) {
    const CountedResults found = through_node(alone->module.main, each, known, node.op->name);
    if (!found.problem.empty()) return std::nullopt;
    for (std::size_t i = 0; i < each.outputs.size(); ++i) {
      if (found.results[i]) known[each.outputs[i]] = *found.results[i];
    }
  }
  std::vector<std::optional<CountedAxis>> results;
  for (const ValueId each : node.outputs) {
    const auto found = known.find(alone->ids.at(each));
    results.push_back(found == known.end() ? std::nullopt : std::optional(found->second));
  }
  return results;
}

}  // namespace

CountedResults counted_results(const Graph& graph, const Node& node, const CountedAxes& counted, const OpSet& ops) {
  CountedResults found = through_node(graph, node, counted, node.op->name);
  if (found.problem.empty() || !std::holds_alternative<Composite>(node.kind)) return found;
  if (auto results = through_expansion(graph, node, counted, ops)) return {std::move(*results), ""};
  return found;
}

}  // namespace kgen
