#include "generator/pass/simplify/apply_algebra.hpp"

#include <algorithm>
#include <utility>

#include "generator/pass/graph/attributes.hpp"
#include "generator/pass/simplify/view_algebra.hpp"
#include "generator/spec/expression.hpp"
#include "generator/spec/scalar_value.hpp"

namespace kgen {
namespace {

// f(0, c) and f(-0, c) are 0 and -0 to the sign, by the operator's definition; c stands at operand `position`.
bool keeps_zeros(const Node& node, std::size_t position, double c) {
  if (node.op->definition.empty()) return false;
  const auto keeps = [&](double zero) {
    const double result = evaluate(node.op->definition, [&](std::string_view variable) {
      return variable == node.op->operands[position].name ? c : zero;
    });
    return same_bits(Number(result), Number(zero));
  };
  return keeps(0.0) && keeps(-0.0);
}

// The identity of operand `position`; of a commutative operator, that of the other one will do.
std::optional<Number> identity_of(const Algebra& algebra, std::size_t position) {
  for (const std::size_t each : {position, 1 - position}) {
    const auto found = algebra.identity.find(each);
    if (found != algebra.identity.end()) return found->second;
    if (!algebra.commutative) break;
  }
  return std::nullopt;
}

bool drop_identity(Rewriting& rewriting, NodeId id) {
  const Graph& graph = rewriting.graph;
  const Node& node = graph.nodes[id];
  if (node.op->algebra.identity.empty() || node.inputs.size() != 2 || node.op->operands.size() != 2) return false;
  for (const std::size_t position : {std::size_t{1}, std::size_t{0}}) {
    const auto identity = identity_of(node.op->algebra, position);
    const std::vector<Number>* elements = elements_of(graph, node.inputs[position]);
    if (!identity || !elements) continue;
    if (!std::all_of(elements->begin(), elements->end(), [&](const Number& each) { return each == *identity; })) continue;
    const ValueId other = node.inputs[1 - position];
    if (other == no_id) continue;
    const bool exact = rewriting.numerics == Numerics::match_unfused && info(graph.type(other).dtype).floating;
    const auto keeps = [&](const Number& each) { return keeps_zeros(node, position, each.real()); };
    if (exact && !std::all_of(elements->begin(), elements->end(), keeps)) continue;
    if (replace_result(rewriting, id, other)) return true;
  }
  return false;
}

bool drop_repetition(Rewriting& rewriting, NodeId id) {
  const Node& node = rewriting.graph.nodes[id];
  const Algebra& algebra = node.op->algebra;
  if (!(algebra.involution || algebra.idempotent) || node.inputs.size() != 1) return false;
  const Node* inner = producer(rewriting, node.inputs[0]);
  if (!inner || inner->op != node.op || inner->inputs.size() != 1) return false;
  if (!same_attributes(inner->attributes, node.attributes)) return false;
  return replace_result(rewriting, id, algebra.involution ? inner->inputs[0] : node.inputs[0]);
}

// A reduction over axes of extent 1 alone is its operand, or a reshape of it.
bool drop_reduction(Rewriting& rewriting, NodeId id) {
  Node& node = rewriting.graph.nodes[id];
  const auto* reduction = std::get_if<Reduction>(&node.kind);
  if (!reduction || !node.op->algebra.one_element || node.inputs.size() != 1) return false;
  const TensorType& operand = rewriting.graph.type(node.inputs[0]);
  const TensorType& result = rewriting.graph.type(node.outputs[0]);
  const auto is_one = [&](int axis) { return operand.shape[static_cast<std::size_t>(axis)] == Dim(1); };
  if (operand.dtype != result.dtype || !std::all_of(reduction->axes.begin(), reduction->axes.end(), is_one))
    return false;
  if (replace_result(rewriting, id, node.inputs[0])) return true;
  IndexMap view;
  view.form = ViewRule::Form::reshape;
  view.shape = result.shape;
  return !rewriting.named[node.outputs[0]] && operand.shape != result.shape &&
         set_view(rewriting, node, std::move(view));
}

}  // namespace

bool apply_algebra(Rewriting& rewriting, NodeId id) {
  const Node& node = rewriting.graph.nodes[id];
  if (!node.op || node.outputs.size() != 1) return false;
  return drop_identity(rewriting, id) || drop_repetition(rewriting, id) || drop_reduction(rewriting, id);
}

}  // namespace kgen
