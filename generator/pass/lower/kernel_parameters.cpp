#include "generator/pass/lower/kernel_parameters.hpp"

#include <algorithm>

#include "generator/base/ensure.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {
namespace {

enum Layout : std::int64_t { unknown, row_major, column_major };  // as KGEN_LAYOUT has them

bool is_multiple(const Dim& size, std::int64_t of) { return Dim::floor_divide(size, of) * of == size; }

// Whether the value begins at a vector of so many elements of the memory that holds it, which begins at one.
bool begins_at_vector(const FuseFacts& facts, ValueId value, std::int64_t lanes) {
  const Graph& graph = facts.graph();
  const auto is_part = [&](NodeId node) {
    const auto* view = std::get_if<IndexMap>(&graph.nodes[node].kind);
    return view && is_destination(*view);
  };
  while (true) {
    const std::span<const NodeId> readers = facts.consumers(value);
    if (std::any_of(readers.begin(), readers.end(), is_part)) return false;  // it may stand anywhere in a whole
    const NodeId producer = graph.value(value).producer;
    const auto* view = producer == no_id ? nullptr : std::get_if<IndexMap>(&graph.nodes[producer].kind);
    if (!view || is_destination(*view)) return true;
    const ValueId behind = graph.nodes[producer].inputs[0];
    if (view->form == ViewRule::Form::slice || view->form == ViewRule::Form::select) {
      const Dim& stride = facts.strides(behind)[static_cast<std::size_t>(view->axis)];
      if (view->step < 0 || !is_multiple(view->begin * stride, lanes)) return false;
    } else if (view->form == ViewRule::Form::flip) {
      return false;
    }
    value = behind;
  }
}

// How a matrix, or a stack of them along the axes ahead of the last two, lies in memory, where its lines are whole
// vectors.
Layout layout_of(const FuseFacts& facts, ValueId value) {
  const TensorType& type = facts.graph().type(value);
  const Strides& strides = facts.strides(value);
  const std::size_t rank = strides.size();
  if (rank < 2 || type.structure) return unknown;
  const std::int64_t lanes = 128 / info(type.dtype).bits;
  const auto lies_along = [&](std::size_t axis) {
    for (std::size_t i = 0; i < rank; ++i) {
      const bool repeats = strides[i] == Dim(0) && type.shape[i] != Dim(1);
      if (repeats || (i == axis ? strides[i] != Dim(1) : !is_multiple(strides[i], lanes))) return false;
    }
    return is_multiple(type.shape[axis], lanes) && begins_at_vector(facts, value, lanes);
  };
  if (lies_along(rank - 1)) return row_major;
  return lies_along(rank - 2) ? column_major : unknown;
}

// That of one operand of all `roots`, where they agree and the rows of all other matrices, and of stacks of them, are
// whole vectors, too.
Layout common_layout(const FuseFacts& facts, const Group& group, std::span<const NodeId> roots, std::size_t operand) {
  const auto is_made_here = [&](NodeId reader, std::size_t index) {
    return std::any_of(group.prologues.begin(), group.prologues.end(),
                       [&](const Prologue& each) {
                         return each.operand == index && (each.reader == no_id || each.reader == reader);
                       });
  };
  Layout common = unknown;
  for (const NodeId root : roots) {
    const Node& node = facts.graph().nodes[root];
    for (std::size_t i = 0; i < std::min(node.kernel->operands.size(), node.inputs.size()); ++i) {
      if (node.inputs[i] == no_id || facts.graph().type(node.inputs[i]).shape.size() < 2) continue;
      if (is_made_here(root, i)) return unknown;
      const Layout found = layout_of(facts, node.inputs[i]);
      const bool fits = i == operand ? found != unknown && (common == unknown || common == found) : found == row_major;
      if (!fits) return unknown;
      if (i == operand) common = found;
    }
  }
  return common;
}

std::int64_t value_of(const FuseFacts& facts, const Group& group, std::span<const NodeId> roots,
                      const KernelParameter& parameter) {
  const Node& node = facts.graph().nodes[roots.front()];
  const auto chosen = std::find_if(node.tuning.begin(), node.tuning.end(),
                                   [&](const auto* each) { return each->parameter == parameter.name; });
  if (chosen != node.tuning.end()) return (*chosen)->value;
  if (parameter.layout_of.empty()) return parameter.default_value;
  const bool is_asked = parameter.layout_when.empty() ||
                        prove(facts.scope(node), parameter.layout_when) == Proof::always;
  const std::vector<KernelOperand>& operands = node.kernel->operands;
  const auto operand = std::find_if(operands.begin(), operands.end(),
                                    [&](const KernelOperand& each) { return each.name == parameter.layout_of; });
  if (!is_asked || operand == operands.end()) return parameter.default_value;
  return common_layout(facts, group, roots, static_cast<std::size_t>(operand - operands.begin()));
}

std::string text_of(const KernelParameter& parameter, std::int64_t value) {
  if (parameter.names.empty()) return std::to_string(value);
  const auto found = std::find(parameter.values.begin(), parameter.values.end(), value);
  ensure(found != parameter.values.end(), "parameters have values that are allowed");
  return parameter.names[static_cast<std::size_t>(found - parameter.values.begin())];
}

}  // namespace

std::vector<std::string> kernel_parameters(const FuseFacts& facts, const Group& group, std::span<const NodeId> roots) {
  std::vector<std::string> texts;
  std::size_t needed = 0;
  for (const KernelParameter& parameter : facts.graph().nodes[roots.front()].kernel->parameters) {
    const std::int64_t value = value_of(facts, group, roots, parameter);
    texts.push_back(text_of(parameter, value));
    if (value != parameter.default_value) needed = texts.size();
  }
  texts.resize(needed);
  return texts;
}

}  // namespace kgen
