// What must hold between the files of operators and of kernels.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "generator/load/fields.hpp"
#include "generator/load/load_ops.hpp"

namespace kgen {
namespace {

bool kinds_agree(OpKind op, KernelKind kernel) {
  switch (op) {
    case OpKind::elementwise:
      return kernel == KernelKind::elementwise;
    case OpKind::reduction:
      return kernel == KernelKind::reduction;
    case OpKind::structured:
      return kernel == KernelKind::structured || kernel == KernelKind::opaque;
    case OpKind::opaque:
      return kernel == KernelKind::opaque;
    case OpKind::composite:
      return kernel != KernelKind::reduction;  // which has axes; a kernel that does it whole may be of any other kind
    case OpKind::view:
      return kernel == KernelKind::view;
  }
  return false;
}

// Whether an attribute of the operator can be passed as a C++ type of the kernel.
bool types_agree(AttributeType attribute, std::string_view cpp) {
  switch (attribute) {
    case AttributeType::boolean:
      return cpp == "bool";
    case AttributeType::number:
      return cpp == "float" || cpp == "double";
    case AttributeType::integer:
    case AttributeType::dim:
      return cpp == "int" || cpp == "std::int32_t" || cpp == "std::int64_t";
    case AttributeType::dtype:
      return cpp == "dtype";
    case AttributeType::text:
    case AttributeType::dims:
      return false;
  }
  return false;
}

// The dtypes that an operand may have.
std::vector<DType> dtypes_of(const OpSpec& op, const OperandSpec& operand) {
  const auto variable = op.types.find(operand.type);
  if (variable != op.types.end()) return variable->second;
  const auto dtype = dtype_from_name(operand.type);
  return dtype ? std::vector{*dtype} : std::vector<DType>{};
}

// "f64 and f8e4m3": what the operator allows and its kernel does not. A kernel that names no dtypes takes all.
std::string missing_dtypes(const OpSpec& op, const OperandSpec& operand, const KernelOperand& taken) {
  std::vector<std::string> missing;
  for (const DType dtype : dtypes_of(op, operand)) {
    const bool accepted = std::find(taken.dtypes.begin(), taken.dtypes.end(), dtype) != taken.dtypes.end();
    if (!accepted && !taken.dtypes.empty()) missing.emplace_back(info(dtype).name);
  }
  return missing.empty() ? "" : quoted_list(missing);
}

// "'region' is a fractal::Region here and a number there", or nothing.
std::string struct_difference(const std::string& name, const StructType* here, const std::string& there) {
  if ((here ? here->name : "") == there) return "";
  return fmt::format("'{}' is a {} here and a {} there", name, here ? here->name : "number",
                     there.empty() ? "number" : there);
}

// What the operator and a kernel for it disagree on; each line is one disagreement. Its own kernel must take all that
// the operator may be given; another need not.
std::vector<std::string> differences(const OpSpec& op, const KernelSignature& kernel, bool is_own) {
  std::vector<std::string> found;
  if (!kinds_agree(op.kind, kernel.kind)) found.push_back("they are of different kinds");
  if (op.results.size() != kernel.results.size()) {
    found.push_back(fmt::format("{} results here, {} there", op.results.size(), kernel.results.size()));
  }
  if (op.operands.size() != kernel.operands.size()) {
    found.push_back(fmt::format("{} operands here, {} there", op.operands.size(), kernel.operands.size()));
  }
  if (kernel.kind == KernelKind::elementwise && op.results.size() != 1) {
    found.push_back("an elementwise kernel has one result");
  }
  for (std::size_t i = 0; i < std::min(op.results.size(), kernel.results.size()); ++i) {
    const std::string difference =
        struct_difference(op.results[i].name, op.results[i].structure, kernel.results[i].structure);
    if (!difference.empty()) found.push_back(difference);
  }
  for (std::size_t i = 0; i < std::min(op.operands.size(), kernel.operands.size()); ++i) {
    const OperandSpec& here = op.operands[i];
    const KernelOperand& there = kernel.operands[i];
    if (here.name != there.name) {
      found.push_back(fmt::format("operand {} is '{}' here and '{}' there", i + 1, here.name, there.name));
    }
    if (here.variadic) found.push_back(fmt::format("'{}' is variadic, which no kernel takes", here.name));
    if (const std::string text = struct_difference(here.name, here.structure, there.structure); !text.empty()) {
      found.push_back(text);
    }
    if (here.optional != there.optional && (is_own || there.optional)) {
      found.push_back(fmt::format("'{}' is optional only {}", here.name, here.optional ? "here" : "there"));
    }
    if (const std::string missing = is_own ? missing_dtypes(op, here, there) : ""; !missing.empty()) {
      found.push_back(fmt::format("'{}' may be {} here but not there", here.name, missing));
    }
  }
  for (const KernelAttribute& there : kernel.attributes) {
    const AttributeSpec* here = op.attribute(there.name);
    if (!here) {
      found.push_back(fmt::format("the attribute '{}' is only there", there.name));
    } else if (!types_agree(here->type, there.type)) {
      found.push_back(fmt::format("the attribute '{}' cannot be passed as {}", there.name, there.type));
    }
  }
  return found;
}

void check_agreement(const OpSpec& op, const KernelSignature& kernel, bool is_own, Diagnostics& diagnostics) {
  const std::vector<std::string> found = differences(op, kernel, is_own);
  if (found.empty()) return;
  Diagnostic& diagnostic =
      diagnostics.error(op.where, fmt::format("'{}' and its kernel '{}' disagree", op.name, kernel.name));
  for (const std::string& each : found) diagnostic.note(each);
  diagnostic.note(kernel.where, "the kernel is declared here");
  diagnostic.advise("correct the operator or the kernel's signature, whichever is wrong");
}

void check_own_kernel(const OpSpec& op, const OpSet& set, Diagnostics& diagnostics) {
  if (op.kernel.empty()) return;
  const KernelSignature* kernel = set.kernel_of(op);
  if (!kernel) {
    std::vector<std::string> names;
    for (const KernelSignature& each : set.kernels) names.push_back(each.name);
    Diagnostic& diagnostic =
        diagnostics.error(op.where, fmt::format("'{}' names the unknown kernel '{}'", op.name, op.kernel));
    note_candidates(diagnostic, op.kernel, names, "kernels");
    return;
  }
  check_agreement(op, *kernel, true, diagnostics);
}

void check_arity(const ExpansionNode& node, const OpSpec& callee, Diagnostics& diagnostics) {
  const auto required = static_cast<std::size_t>(std::count_if(callee.operands.begin(), callee.operands.end(),
                                                               [](const OperandSpec& each) { return !each.optional; }));
  const bool variadic = !callee.operands.empty() && callee.operands.back().variadic;
  if (node.inputs.size() < required || (node.inputs.size() > callee.operands.size() && !variadic)) {
    diagnostics
        .error(node.where, fmt::format("wrong number of operands for '{}': {} instead of {}", callee.name,
                                       node.inputs.size(), callee.operands.size()))
        .note(callee.where, "it is defined here");
  }
  if (node.outputs.size() != callee.results.size()) {
    diagnostics
        .error(node.where, fmt::format("wrong number of results for '{}': {} instead of {}", callee.name,
                                       node.outputs.size(), callee.results.size()))
        .note(callee.where, "it is defined here");
  }
}

void check_expansion_node(const ExpansionNode& node, const OpSet& set, Diagnostics& diagnostics) {
  const OpSpec* callee = set.find(node.op);
  if (!callee) {
    Diagnostic& diagnostic = diagnostics.error(node.where, fmt::format("unknown operator '{}'", node.op));
    note_candidates(diagnostic, node.op, set.names(), "operators");
    return;
  }
  check_arity(node, *callee, diagnostics);
  for (const auto& [name, text] : node.attributes) {
    if (callee->attribute(name)) continue;
    diagnostics.error(node.where, fmt::format("'{}' has no attribute '{}'", callee->name, name))
        .note(callee->where, "it is defined here");
  }
  for (const AttributeSpec& attribute : callee->attributes) {
    const bool given = std::any_of(node.attributes.begin(), node.attributes.end(),
                                   [&](const auto& each) { return each.first == attribute.name; });
    if (given || !attribute.required()) continue;
    diagnostics.error(node.where, fmt::format("'{}' needs the attribute '{}'", callee->name, attribute.name))
        .note(attribute.where, "it is declared here");
  }
}

// Depth first over "expands into"; a composite that is met while it is being expanded contains itself.
class CycleFinder {
 public:
  CycleFinder(const OpSet& set, Diagnostics& diagnostics)
      : set_(set), diagnostics_(diagnostics), states_(set.ops.size(), State::unseen) {}

  void visit(std::size_t index) {
    if (states_[index] != State::unseen) return;
    states_[index] = State::open;
    for (const Expansion& expansion : set_.ops[index].expansions) {
      for (const ExpansionNode& node : expansion.nodes) {
        const auto found = set_.op_index.find(node.op);
        if (found == set_.op_index.end()) continue;
        if (states_[found->second] == State::open) {
          diagnostics_.error(node.where, fmt::format("the expansion of '{}' contains '{}' itself", node.op, node.op))
              .note(set_.ops[found->second].where, "it is defined here");
        }
        visit(found->second);
      }
    }
    states_[index] = State::closed;
  }

 private:
  enum class State { unseen, open, closed };
  const OpSet& set_;
  Diagnostics& diagnostics_;
  std::vector<State> states_;
};

}  // namespace

void link_ops(const OpSet& set, Diagnostics& diagnostics) {
  if (diagnostics.has_errors()) return;  // what failed to load would be missing here
  CycleFinder cycles(set, diagnostics);
  for (std::size_t i = 0; i < set.ops.size(); ++i) {
    const OpSpec& op = set.ops[i];
    check_own_kernel(op, set, diagnostics);
    for (const Expansion& expansion : op.expansions) {
      for (const ExpansionNode& node : expansion.nodes) check_expansion_node(node, set, diagnostics);
    }
    cycles.visit(i);
  }
  for (const KernelSignature& kernel : set.kernels) {
    if (const OpSpec* op = set.find(kernel.op)) {
      if (op->kernel != kernel.name) check_agreement(*op, kernel, false, diagnostics);
      continue;
    }
    Diagnostic& diagnostic = diagnostics.error(
        kernel.where, fmt::format("'{}' implements the unknown operator '{}'", kernel.name, kernel.op));
    note_candidates(diagnostic, kernel.op, set.names(), "operators");
  }
}

}  // namespace kgen
