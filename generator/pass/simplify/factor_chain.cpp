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
    if (graph.type(value).shape == shape && graph.type(factor).shape != shape) return Factor{id, scaled, factor};
  }
  return std::nullopt;
}

bool is_conversion(const Graph& graph, const Node& node) {
  return node.op && node.op->role == OpRole::cast && info(graph.type(node.inputs[0]).dtype).floating &&
         info(graph.type(node.outputs[0]).dtype).floating;
}

}  // namespace

FactorChain factor_chain(const Rewriting& rewriting, ValueId value) {
  const Graph& graph = rewriting.graph;
  FactorChain whole{value, value, {}, {}}, chain = whole;
  for (int step = 0; step < most_steps; ++step) {
    const Node* node = producer(rewriting, chain.base);
    if (!node || graph.type(chain.base).structure) break;
    const NodeId id = graph.value(chain.base).producer;
    if (is_conversion(graph, *node)) {
      chain.base = node->inputs[0];
    } else if (const auto factor = factor_at(graph, *node, id)) {
      chain.base = node->inputs[factor->scaled];
      chain.factors.push_back(*factor);
    } else {
      break;
    }
    chain.nodes.push_back(id);
    if (graph.type(chain.base) == graph.type(value)) whole = chain;
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
    const bool passes = std::holds_alternative<Elementwise>(node->kind) || std::holds_alternative<View>(node->kind);
    for (const ValueId input : node->inputs) {
      if (passes && input != no_id) open.push_back(input);
    }
  }
  return false;
}

}  // namespace kgen
