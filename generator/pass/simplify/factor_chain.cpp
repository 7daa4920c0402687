#include "generator/pass/simplify/factor_chain.hpp"

#include <algorithm>

#include "generator/pass/simplify/view_algebra.hpp"

namespace kgen {
namespace {

// Nodes that are looked at for one operand.
constexpr int most_steps = 16;

// The operands of a node that its result grows with, by its definition: both of a * b, and a of a / b. None of others.
std::vector<std::size_t> multiplied_operands(const Node& node) {
  if (!node.op || !std::holds_alternative<Elementwise>(node.kind) || node.inputs.size() != 2) return {};
  const Expression& definition = node.op->definition;
  using enum Expression::Operation;
  const auto& steps = definition.steps;
  if (steps.size() != 3 || steps[0].operation != variable || steps[1].operation != variable) return {};
  const auto position = [&](const Expression::Step& step) {
    return static_cast<std::size_t>(node.op->operands[0].name == definition.variables[step.index] ? 0 : 1);
  };
  if (steps[2].operation == multiply) return {0, 1};
  return steps[2].operation == divide ? std::vector{position(steps[0])} : std::vector<std::size_t>{};
}

std::optional<Factor> factor_at(const Graph& graph, const Node& node, NodeId id) {
  const Shape& shape = graph.type(node.outputs[0]).shape;
  for (const std::size_t scaled : multiplied_operands(node)) {
    const ValueId value = node.inputs[scaled], factor = node.inputs[1 - scaled];
    if (graph.type(value).shape == shape && graph.type(factor).shape != shape)
      return Factor{id, scaled, factor, graph.type(factor).shape};
  }
  return std::nullopt;
}

bool is_conversion(const Graph& graph, const Node& node) {
  return node.op && node.op->role == OpRole::cast && info(graph.type(node.inputs[0]).dtype).floating &&
         info(graph.type(node.outputs[0]).dtype).floating;
}

bool is_reshape(const Node& node) {
  const auto* view = std::get_if<IndexMap>(&node.kind);
  using Form = ViewRule::Form;
  return view && (view->form == Form::reshape || view->form == Form::unsqueeze || view->form == Form::squeeze);
}

// How many elements the first axes have, for each number of axes.
std::vector<Dim> leading_counts(const Shape& shape) {
  std::vector<Dim> counts{Dim(1)};
  for (const Dim& extent : shape) counts.push_back(counts.back() * extent);
  return counts;
}

// A factor of that shape, broadcast to `from`, which is then seen as `to`: its shape there. Axes that become others
// together must all be the factor's, or none of them. Nothing where they are not.
std::optional<Shape> reshaped_factor(const Shape& factor, const Shape& from, const Shape& to) {
  const std::vector<Dim> before = leading_counts(from), after = leading_counts(to);
  if (before.back() != after.back() || before.back() == Dim(0)) return std::nullopt;
  const auto is_of_factor = [&](std::size_t axis) {
    const std::size_t missing = from.size() - factor.size();
    return axis >= missing && !is_one(factor[axis - missing]);
  };
  Shape reshaped;
  for (std::size_t axis = 0, end = 0; axis < from.size(); axis = end) {
    // The fewest axes that have the elements of as many of the others.
    auto same = after.end();
    while (same == after.end()) {
      same = std::find(after.begin() + static_cast<std::ptrdiff_t>(reshaped.size()), after.end(), before[++end]);
    }
    bool any = false, all = true;
    for (std::size_t i = axis; i < end; ++i) {
      any = any || is_of_factor(i);
      all = all && (is_of_factor(i) || is_one(from[i]));
    }
    if (any && !all) return std::nullopt;
    while (reshaped.size() < static_cast<std::size_t>(same - after.begin())) {
      reshaped.push_back(any ? to[reshaped.size()] : Dim(1));
    }
  }
  reshaped.resize(to.size(), Dim(1));
  return reshaped;
}

// The shapes of what a reshape shows, and of what it makes of it.
struct Reshape {
  const Shape* from = nullptr;
  const Shape* to = nullptr;
};

// Through all of them, the last first.
std::optional<Shape> reshaped_factor(Shape factor, const std::vector<Reshape>& reshapes) {
  std::optional<Shape> shape = std::move(factor);
  for (auto each = reshapes.rbegin(); shape && each != reshapes.rend(); ++each) {
    shape = reshaped_factor(*shape, *each->from, *each->to);
  }
  return shape;
}

}  // namespace

FactorChain factor_chain(const Rewriting& rewriting, ValueId value) {
  const Graph& graph = rewriting.graph;
  FactorChain whole{value, value, {}, {}}, chain = whole;
  std::vector<Reshape> reshapes;
  for (int step = 0; step < most_steps; ++step) {
    const Node* node = producer(rewriting, chain.base);
    if (!node || graph.type(chain.base).structure) break;
    const NodeId id = graph.value(chain.base).producer;
    if (is_conversion(graph, *node)) {
      chain.base = node->inputs[0];
    } else if (is_reshape(*node)) {
      reshapes.push_back({&graph.type(node->inputs[0]).shape, &graph.type(chain.base).shape});
      chain.base = node->inputs[0];
    } else if (auto factor = factor_at(graph, *node, id)) {
      auto shape = reshaped_factor(factor->shape, reshapes);
      if (!shape) break;
      factor->shape = std::move(*shape);
      chain.base = node->inputs[factor->scaled];
      chain.factors.push_back(std::move(*factor));
    } else {
      break;
    }
    chain.nodes.push_back(id);
    const bool as_whole = graph.type(chain.base).shape == graph.type(value).shape;
    const bool worth_it = as_whole || chain.factors.size() > whole.factors.size();
    if (worth_it && graph.type(chain.base).dtype == graph.type(value).dtype) whole = chain;
  }
  return whole;
}

std::optional<FactorPlace> place_of_factor(const OpSpec& op, std::size_t operand, const Shape& factor) {
  const auto scaled_along = [&](int axis) -> const ScaledAxis* {
    for (const ScaledAxis& each : op.algebra.scales) {
      const bool is_it = each.axis == axis || (each.leading && axis < each.axis);
      if (each.operand == operand && is_it) return &each;
    }
    return nullptr;
  };
  std::optional<FactorPlace> place;
  const auto rank = static_cast<int>(factor.size());
  for (int axis = -rank; axis < 0; ++axis) {
    if (is_one(factor[static_cast<std::size_t>(rank + axis)])) continue;
    const ScaledAxis* scaled = scaled_along(axis);
    if (!scaled) return std::nullopt;
    // A factor on the result stands there as it stood on the operand; one on another operand is along one axis.
    const bool in_place = scaled->other || axis - scaled->axis == axis - scaled->other_axis;
    if (!in_place || (place && (place->other || scaled->other))) return std::nullopt;
    place = FactorPlace{scaled->other, axis, scaled->other_axis};
  }
  return place ? place : FactorPlace{};
}

bool is_statistic(const Rewriting& rewriting, ValueId value) {
  std::vector<ValueId> open{value};
  for (int step = 0; step < most_steps && !open.empty(); ++step) {
    const Node* node = producer(rewriting, open.back());
    open.pop_back();
    if (!node) continue;
    if (std::holds_alternative<Reduction>(node->kind)) return true;
    const bool passes = std::holds_alternative<Elementwise>(node->kind) || std::holds_alternative<IndexMap>(node->kind);
    for (const ValueId input : node->inputs) {
      if (passes && input != no_id) open.push_back(input);
    }
  }
  return false;
}

}  // namespace kgen
