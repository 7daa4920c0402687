#include "generator/pass/verify/verify_nodes.hpp"

#include <algorithm>

#include "generator/pass/verify/verify_graph.hpp"
#include "generator/spec/reduced_shape.hpp"
#include "generator/spec/scalar_value.hpp"

namespace kgen {
namespace {

const Dim one(1);

// The kind of a node of an operator that no kernel has been chosen for.
bool is_of(const NodeKind& kind, OpKind op) {
  switch (op) {
    case OpKind::elementwise:
      return std::holds_alternative<Elementwise>(kind);
    case OpKind::view:
      return std::holds_alternative<IndexMap>(kind);
    case OpKind::reduction:
      return std::holds_alternative<Reduction>(kind);
    case OpKind::structured:
      return std::holds_alternative<Structured>(kind);
    case OpKind::opaque:
      return std::holds_alternative<Opaque>(kind);
    case OpKind::composite:
      return std::holds_alternative<Composite>(kind);
  }
  return false;
}

bool is_of(const NodeKind& kind, KernelKind kernel) {
  switch (kernel) {
    case KernelKind::elementwise:
      return std::holds_alternative<Elementwise>(kind);
    case KernelKind::view:
      return false;
    case KernelKind::reduction:
      return std::holds_alternative<Reduction>(kind);
    case KernelKind::structured:
      return std::holds_alternative<Structured>(kind);
    case KernelKind::opaque:
      return std::holds_alternative<Opaque>(kind);
  }
  return false;
}

bool is_of(const AttributeValue& value, AttributeType type) {
  switch (type) {
    case AttributeType::boolean:
      return std::holds_alternative<bool>(value);
    case AttributeType::integer:
      return std::holds_alternative<std::int64_t>(value);
    case AttributeType::number:
      return std::holds_alternative<Number>(value);
    case AttributeType::text:
      return std::holds_alternative<std::string>(value);
    case AttributeType::dtype:
      return std::holds_alternative<DType>(value);
    case AttributeType::dim:
      return std::holds_alternative<Dim>(value);
    case AttributeType::dims:
      return std::holds_alternative<std::vector<Dim>>(value);
    case AttributeType::numbers:
      return std::holds_alternative<std::vector<Number>>(value);
  }
  return false;
}

const OperandSpec& spec_of(const OpSpec& op, std::size_t operand) {
  return op.operands[std::min(operand, op.operands.size() - 1)];
}

bool is_widened(DType from, DType to) {
  return info(from).floating && info(to).floating && (compute_dtype(from) == to || holds_every_value(to, from));
}

// The shapes of the results are those that the operands broadcast to.
bool broadcasts(const OpSpec& op) {
  const auto says_nothing = [](const ResultSpec& result) { return !result.pattern && result.extents.empty(); };
  return !has_reduced_shape(op) && !op.contraction && std::all_of(op.results.begin(), op.results.end(), says_nothing);
}

}  // namespace

std::string_view NodeVerifier::problem_of(const Node& node) {
  if (const auto* call = std::get_if<Call>(&node.kind)) return call_problem(node, *call);
  if (!node.op) return "is made by no operator and no call";
  if (node.implied && node.op->role != OpRole::cast) return "is implied, but is no cast";
  std::string_view problem = count_problem(node);
  if (problem.empty()) problem = kernel_problem(node);
  if (!facts_.inferred || !problem.empty()) return problem;
  problem = attribute_problem(node);
  if (problem.empty()) problem = dtype_problem(node);
  if (problem.empty()) problem = pattern_problem(node);
  return problem.empty() ? shape_problem(node) : problem;
}

// ---- calls ----------------------------------------------------------------------------------------------------------

std::string_view NodeVerifier::call_problem(const Node& node, const Call& call) const {
  if (node.op || node.kernel) return "is a call, and has an operator or a kernel too";
  if (call.function >= callable_) return "calls a function that does not stand before it";
  if (call.repeat < 1) return "repeats a call less than once";
  const Graph& function = functions_[call.function];
  if (node.inputs.size() != function.inputs.size()) return "gives its function more or fewer operands than it takes";
  if (node.outputs.size() != function.outputs.size()) return "takes more or fewer results than its function makes";
  if (std::count(node.inputs.begin(), node.inputs.end(), no_id) > 0) return "leaves out an operand of its function";
  if (!facts_.inferred) return {};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (type(node.inputs[i]) != function.type(function.inputs[i].value)) return "calls with an operand of another type";
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorType& made = function.type(function.outputs[i]);
    if (type(node.outputs[i]) != made) return "is a call whose function makes another type";
    if (call.repeat > 1 && made != type(node.inputs[i])) return "repeats a call whose results do not fit its operands";
  }
  return {};
}

// ---- the operator ---------------------------------------------------------------------------------------------------

std::string_view NodeVerifier::count_problem(const Node& node) const {
  const OpSpec& op = *node.op;
  const bool variadic = !op.operands.empty() && op.operands.back().variadic;
  if (node.inputs.size() > op.operands.size() && !variadic) return "has more operands than its operator takes";
  for (std::size_t i = 0; i < std::max(op.operands.size(), node.inputs.size()); ++i) {
    const bool given = i < node.inputs.size() && node.inputs[i] != no_id;
    if (!given && !spec_of(op, i).optional) return "leaves out an operand that its operator needs";
  }
  return node.outputs.size() == op.results.size() ? "" : "has more or fewer results than its operator makes";
}

std::string_view NodeVerifier::kernel_problem(const Node& node) const {
  const bool composite = std::holds_alternative<Composite>(node.kind);
  const bool view = std::holds_alternative<IndexMap>(node.kind);
  if (!facts_.inferred) return node.kernel ? "has a kernel before it has a type" : "";
  if (node.kernel) {
    if (!facts_.kernels_chosen) return "has a kernel before they are chosen";
    if (view) return "is a view, and has a kernel";
    const bool is_own = node.kernel->name == node.op->kernel;  // which may be declared for another operator
    if (node.kernel->op != node.op->name && !is_own) return "has a kernel of another operator";
    return is_of(node.kind, node.kernel->kind) ? "" : "is not of the kind of its kernel";
  }
  if (!is_of(node.kind, node.op->kind)) return "is not of the kind of its operator";
  if (view && std::get<IndexMap>(node.kind).form != node.op->view->form)
    return "is not the view that its operator makes";
  if (composite && facts_.decomposed) return "is a composite, and no pass expands it now";
  return facts_.kernels_chosen && !view && !composite ? "has no kernel" : "";
}

std::string_view NodeVerifier::attribute_problem(const Node& node) const {
  const std::vector<AttributeSpec>& specs = node.op->attributes;
  const auto fits = [](const AttributeSpec& spec, const auto& attribute) {
    return spec.name == attribute.first && is_of(attribute.second, spec.type);
  };
  const bool all_fit = std::equal(specs.begin(), specs.end(), node.attributes.begin(), node.attributes.end(), fits);
  return all_fit ? "" : "has other attributes than its operator";
}

// ---- dtypes ---------------------------------------------------------------------------------------------------------

// Whether the value has the dtype that `variable`, a type variable or a dtype's name, stands for at the node at hand.
bool NodeVerifier::bind(const OpSpec& op, const std::string& variable, const StructType* structure, ValueId value,
                        bool is_operand) {
  if (type(value).structure != structure) return false;
  if (structure) return true;
  const DType dtype = type(value).dtype;
  const auto fits = [&](DType wanted) {
    return dtype == wanted || (is_operand && facts_.materialised && is_widened(dtype, wanted));
  };
  const auto bound = std::find_if(dtypes_.begin(), dtypes_.end(), [&](const auto& it) { return it.first == variable; });
  if (bound != dtypes_.end()) return fits(bound->second);
  const auto choices = op.types.find(variable);
  if (choices == op.types.end()) {
    const auto fixed = dtype_from_name(variable);
    return fixed && fits(*fixed);
  }
  dtypes_.emplace_back(variable, is_operand && facts_.materialised ? compute_dtype(dtype) : dtype);
  return std::any_of(choices->second.begin(), choices->second.end(), fits);
}

std::string_view NodeVerifier::dtype_problem(const Node& node) {
  const OpSpec& op = *node.op;
  dtypes_.clear();
  // Results first: operands may be read unwidened.
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ResultSpec& result = op.results[i];
    if (result.type.starts_with('$')) {
      const AttributeValue* given = find_attribute(node.attributes, std::string_view(result.type).substr(1));
      const auto* dtype = given ? std::get_if<DType>(given) : nullptr;
      if (!dtype || *dtype != type(node.outputs[i]).dtype) return "has another dtype than its attribute says";
    } else if (!bind(op, result.type, result.structure, node.outputs[i], false)) {
      return "has a dtype that its operator does not make";
    }
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == no_id) continue;
    const OperandSpec& operand = spec_of(op, i);
    if (!bind(op, operand.type, operand.structure, node.inputs[i], true)) {
      return "has an operand of a dtype that does not fit";
    }
  }
  return {};
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

bool NodeVerifier::fits_axis(const PatternAxis& axis, const Dim& extent, bool binds) {
  if (axis.name.empty()) return extent == Dim(axis.constant);
  const auto bound =
      std::find_if(extents_.begin(), extents_.end(), [&](const auto& it) { return it.first == axis.name; });
  if (bound != extents_.end()) return *bound->second == extent;
  if (binds) extents_.emplace_back(axis.name, &extent);
  return true;  // of a result: a size that the operator works out
}

bool NodeVerifier::fits_pattern(const std::vector<PatternAxis>& pattern, const Shape& shape, bool binds) {
  const auto ellipsis = std::find_if(pattern.begin(), pattern.end(), [](const auto& axis) { return axis.ellipsis; });
  const bool open = ellipsis != pattern.end();
  const std::size_t named = pattern.size() - (open ? 1 : 0);
  if (open ? shape.size() < named : shape.size() != named) return false;
  const auto lead = static_cast<std::size_t>(ellipsis - pattern.begin());  // axes in front of the ellipsis
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i].ellipsis) continue;
    const std::size_t at = i < lead ? i : shape.size() - (pattern.size() - i);
    if (!fits_axis(pattern[i], shape[at], binds)) return false;
  }
  return true;
}

std::string_view NodeVerifier::pattern_problem(const Node& node) {
  extents_.clear();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const OperandSpec& spec = spec_of(*node.op, i);
    if (node.inputs[i] == no_id || !spec.pattern) continue;
    if (!fits_pattern(*spec.pattern, shape(node.inputs[i]), true)) return "has an operand of a shape that does not fit";
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const auto& pattern = node.op->results[i].pattern;
    if (pattern && !fits_pattern(*pattern, shape(node.outputs[i]), false)) return "has a shape that does not fit";
  }
  return {};
}

std::string_view NodeVerifier::shape_problem(const Node& node) const {
  if (const auto* view = std::get_if<IndexMap>(&node.kind)) {
    if (view->written_through && !facts_.materialised) return "is written through before it is known where it lies";
    return view_problem(graph_, node, *view, ranges_);
  }
  if (const auto* reduction = std::get_if<Reduction>(&node.kind)) return reduction_problem(node, *reduction);
  if (const auto* elementwise = std::get_if<Elementwise>(&node.kind)) {
    const std::vector<int>& lines = elementwise->line_axes;
    if (!lines.empty() && lines.size() != node.inputs.size()) return "does not say how each operand is read";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool reads = lines[i] >= 0 && node.inputs[i] != no_id;
      if (reads && static_cast<std::size_t>(lines[i]) >= shape(node.inputs[i]).size()) {
        return "reads an operand along an axis that it has not";
      }
    }
  }
  return broadcasts(*node.op) ? broadcast_problem(node) : "";
}

std::size_t NodeVerifier::broadcast_rank(const Node& node) const {
  std::size_t rank = 0;
  for (const ValueId input : node.inputs) {
    if (input != no_id) rank = std::max(rank, shape(input).size());
  }
  return rank;
}

// What the operands broadcast to along the axis that is `from_end` from the last, which is 1; null where they do not.
// An operand that is read along that axis has no say.
const Dim* NodeVerifier::broadcast_extent(const Node& node, std::size_t from_end) const {
  const Dim* extent = &one;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == no_id || shape(node.inputs[i]).size() < from_end) continue;
    const std::size_t axis = shape(node.inputs[i]).size() - from_end;
    const Dim& own = shape(node.inputs[i])[axis];
    if (own == *extent || own == one || line_axis(node, i) == static_cast<int>(axis)) continue;
    if (*extent != one) return nullptr;
    extent = &own;
  }
  return extent;
}

std::string_view NodeVerifier::broadcast_problem(const Node& node) const {
  const std::size_t rank = broadcast_rank(node);
  for (const ValueId output : node.outputs) {
    if (shape(output).size() != rank) return "has more or fewer axes than its operands broadcast to";
  }
  for (std::size_t from_end = 1; from_end <= rank; ++from_end) {
    const Dim* extent = broadcast_extent(node, from_end);
    if (!extent) return "has operands that do not broadcast";
    for (const ValueId output : node.outputs) {
      if (shape(output)[rank - from_end] != *extent) return "has another shape than its operands broadcast to";
    }
  }
  return {};
}

std::string_view NodeVerifier::reduction_problem(const Node& node, const Reduction& reduction) const {
  const std::size_t rank = broadcast_rank(node);
  const std::vector<int>& axes = reduction.axes;
  if (std::adjacent_find(axes.begin(), axes.end(), std::greater_equal<>()) != axes.end()) {
    return "reduces axes that are not in order, or one twice";
  }
  if (!axes.empty() && (axes.front() < 0 || static_cast<std::size_t>(axes.back()) >= rank)) {
    return "reduces an axis that its operand has not";
  }
  for (const ValueId output : node.outputs) {
    const Shape& made = shape(output);
    if (made.size() != (reduction.keepdims ? rank : rank - axes.size()))
      return "keeps more or fewer axes than it should";
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int>(axis));
      if (reduced && !reduction.keepdims) continue;
      const Dim* extent = reduced ? &one : broadcast_extent(node, rank - axis);
      if (!extent || made[at++] != *extent) return "has another shape than its reduction leaves";
    }
  }
  return {};
}

}  // namespace kgen
