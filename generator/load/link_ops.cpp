// What must hold between the files of operators and of kernels.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/load/compare_kernel.hpp"
#include "generator/load/fields.hpp"
#include "generator/load/load_ops.hpp"
#include "generator/load/load_tuning.hpp"
#include "generator/load/note_operators.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {
namespace {

void validate_own_kernel(const OpSpec& op, const OpSet& set, Diagnostics& diagnostics) {
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
  compare_kernel(op, *kernel, true, diagnostics);
}

void validate_arity(const ExpansionNode& node, const OpSpec& callee, Diagnostics& diagnostics) {
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

bool has_ellipsis(const OpSpec& op) {
  return std::any_of(op.operands.begin(), op.operands.end(), [](const OperandSpec& operand) {
    const auto is_ellipsis = [](const PatternAxis& axis) { return axis.ellipsis; };
    return operand.pattern && std::any_of(operand.pattern->begin(), operand.pattern->end(), is_ellipsis);
  });
}

// What `composite` gives to an attribute of a type. Words are judged where they are used.
void validate_value(const ExpansionValue& value, AttributeType type, const OpSpec& composite,
                    Diagnostics& diagnostics) {
  using enum AttributeType;
  const bool is_size = type == integer || type == dim || type == dims;
  if (!is_size && type != number) return;
  for (const Expression& item : value.items) {
    if (item.text.starts_with('$') && composite.attribute(std::string_view(item.text).substr(1))) continue;
    if (type == dims && item.text == "..." && has_ellipsis(composite)) continue;
    auto problem = item.steps.empty() ? std::optional<std::string>("it is no expression") : std::nullopt;
    if (is_size && !problem) problem = size_problem(item, composite);
    if (problem) diagnostics.error(item.where, fmt::format("'{}': {}", item.text, *problem));
  }
}

void validate_expansion_node(const ExpansionNode& node, const OpSpec& composite, const OpSet& set,
                             Diagnostics& diagnostics) {
  const OpSpec* callee = set.find(node.op);
  if (!callee) {
    Diagnostic& diagnostic = diagnostics.error(node.where, fmt::format("unknown operator '{}'", node.op));
    note_operators(diagnostic, node.op, set);
    return;
  }
  validate_arity(node, *callee, diagnostics);
  for (const auto& [name, value] : node.attributes) {
    if (const AttributeSpec* attribute = callee->attribute(name)) {
      validate_value(value, attribute->type, composite, diagnostics);
      continue;
    }
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

// What is prepared takes the place of a kernel, after composites have been expanded.
void validate_prepared(const Expansion& form, const OpSpec& op, const OpSet& set, Diagnostics& diagnostics) {
  for (const ExpansionNode& node : form.nodes) {
    const OpSpec* part = set.find(node.op);
    if (!part || part->kind != OpKind::composite) continue;
    diagnostics.error(node.where, fmt::format("a prepared form of '{}' uses the composite '{}'", op.name, part->name))
        .note(part->where, "it is defined here")
        .advise("write the operators that it stands for");
  }
}

// The operators that an equation becomes: views by their form, and the others by what they take.
void validate_contraction(const OpSpec& op, const OpSet& set, Diagnostics& diagnostics) {
  using enum ContractionRule::Part;
  if (!op.contraction) return;
  for (const auto& [part, name] : op.contraction->operators) {
    const OpSpec* callee = set.find(name);
    if (!callee) {
      Diagnostic& diagnostic = diagnostics.error(op.where, fmt::format("unknown operator '{}'", name));
      note_operators(diagnostic, name, set);
      continue;
    }
    const auto has_form = [&](ViewRule::Form form) { return callee->view && callee->view->form == form; };
    const bool fits = part == permute    ? has_form(ViewRule::Form::permute)
                      : part == reshape  ? has_form(ViewRule::Form::reshape)
                      : part == slice    ? has_form(ViewRule::Form::slice)
                      : part == sum      ? callee->kind == OpKind::reduction
                      : part == diagonal ? callee->operands.size() == 1 && callee->results.size() == 1
                                         : callee->operands.size() == 2 && callee->results.size() == 1;
    if (fits) continue;
    diagnostics.error(op.where, fmt::format("'{}' cannot be the '{}' of a contraction", name, name_of(part)))
        .note(callee->where, "it is defined here");
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
    for (const auto* forms : {&set_.ops[index].expansions, &set_.ops[index].prepared}) {
      for (const Expansion& form : *forms) visit(form);
    }
    states_[index] = State::closed;
  }

 private:
  void visit(const Expansion& form) {
    for (const ExpansionNode& node : form.nodes) {
      const auto found = set_.op_index.find(node.op);
      if (found == set_.op_index.end()) continue;
      if (states_[found->second] == State::open) {
        diagnostics_.error(node.where, fmt::format("the expansion of '{}' contains '{}' itself", node.op, node.op))
            .note(set_.ops[found->second].where, "it is defined here");
      }
      visit(found->second);
    }
  }

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
    validate_own_kernel(op, set, diagnostics);
    validate_contraction(op, set, diagnostics);
    for (const auto* spelled : {&op.expansions, &op.prepared, &op.spellings}) {
      for (const Expansion& expansion : *spelled) {
        for (const ExpansionNode& node : expansion.nodes) validate_expansion_node(node, op, set, diagnostics);
      }
    }
    for (const Expansion& form : op.prepared) validate_prepared(form, op, set, diagnostics);
    cycles.visit(i);
  }
  for (const KernelSignature& kernel : set.kernels) {
    if (const OpSpec* op = set.find(kernel.op)) {
      if (op->kernel != kernel.name) compare_kernel(*op, kernel, false, diagnostics);
      continue;
    }
    Diagnostic& diagnostic = diagnostics.error(
        kernel.where, fmt::format("'{}' implements the unknown operator '{}'", kernel.name, kernel.op));
    note_operators(diagnostic, kernel.op, set);
  }
  validate_tuning(set, diagnostics);
}

}  // namespace kgen
