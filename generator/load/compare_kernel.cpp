#include "generator/load/compare_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "generator/load/read_expressions.hpp"

namespace kgen {
namespace {

constexpr std::string_view declared = "it is declared here";

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
    case OpKind::view:
      return kernel == KernelKind::view;
    case OpKind::composite:
      // A kernel that does it whole; but a reduction has axes, and a view is none.
      return kernel != KernelKind::reduction && kernel != KernelKind::view;
  }
  return false;
}

// Whether an attribute of the operator can be passed as a C++ type of the kernel.
bool types_agree(const AttributeSpec& attribute, const KernelAttribute& parameter) {
  const std::string_view cpp = parameter.type;
  switch (attribute.type) {
    case AttributeType::boolean:
      return cpp == "bool";
    case AttributeType::number:
      return cpp == "float" || cpp == "double";
    case AttributeType::integer:
    case AttributeType::dim:
      return cpp == "int" || cpp == "std::int32_t" || cpp == "std::int64_t";
    case AttributeType::dtype:
      return cpp == "dtype";
    case AttributeType::dims:
      return cpp == "kgen::Index" || cpp == fmt::format("kgen::Index<{}>", attribute.count.text);
    case AttributeType::numbers:
      return cpp == "kgen::Numbers" || cpp == fmt::format("kgen::Numbers<{}>", attribute.count.text);
    case AttributeType::text: {
      const auto is_enumerator = [&](const std::string& word) {
        return std::find(parameter.values.begin(), parameter.values.end(), word) != parameter.values.end();
      };
      return !attribute.allowed.empty() &&
             std::all_of(attribute.allowed.begin(), attribute.allowed.end(), is_enumerator);
    }
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

// "'f64' and 'f8e4m3'": what the operator allows and its kernel does not. A kernel that names no dtypes takes all.
std::string missing_dtypes(const OpSpec& op, const OperandSpec& operand, const KernelOperand& taken) {
  std::vector<std::string> missing;
  for (const DType dtype : dtypes_of(op, operand)) {
    const bool accepted = std::find(taken.dtypes.begin(), taken.dtypes.end(), dtype) != taken.dtypes.end();
    if (!accepted && !taken.dtypes.empty()) missing.emplace_back(info(dtype).name);
  }
  return missing.empty() ? "" : quoted_list(missing);
}

// The axes of a pattern that a kernel of this rank cannot walk: "3", or "3 or more" where there is an ellipsis, whose
// axes are merged into the first.
std::string wrong_rank(const std::optional<std::vector<PatternAxis>>& pattern, int rank) {
  if (!pattern || rank < 0) return "";
  const auto named =
      std::count_if(pattern->begin(), pattern->end(), [](const PatternAxis& each) { return !each.ellipsis; });
  const bool any_more = static_cast<std::size_t>(named) != pattern->size();
  if (any_more ? named <= rank : named == rank) return "";
  return fmt::format("{}{}", named, any_more ? " or more" : "");
}

template <class Named>
const Named* find_named(const std::vector<Named>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Named& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

class KernelComparison {
 public:
  KernelComparison(const OpSpec& op, const KernelSignature& kernel, bool is_own, Diagnostics& diagnostics)
      : op_(op), kernel_(kernel), is_own_(is_own), diagnostics_(diagnostics) {}

  void run() {
    if (!kinds_agree(op_.kind, kernel_.kind)) {
      differ(op_.where,
             fmt::format("'{}' is {}, but its kernel '{}' is {}", op_.name, name_of(op_.kind), kernel_.name,
                         name_of(kernel_.kind)),
             kernel_.where);
      return;
    }
    if (kernel_.kind == KernelKind::view) return validate_viewed();
    validate_names("operand", op_.operands, kernel_.operands);
    if (kernel_.kind == KernelKind::elementwise && op_.results.size() != 1) {
      differ(op_.where,
             fmt::format("'{}' has {} results, but an elementwise kernel has one", op_.name, op_.results.size()),
             kernel_.where);
    }
    // One result needs no name.
    validate_names("result", op_.results, kernel_.results, op_.results.size() != 1 || kernel_.results.size() != 1);
    validate_operands();
    validate_results();
    validate_attributes();
  }

 private:
  void differ(SourceLocation here, std::string message, SourceLocation there) {
    diagnostics_.error(here, std::move(message))
        .note(there, std::string(declared))
        .advise("correct the operator or its kernel, whichever is wrong");
  }

  // Where there are as many on both sides they go by position, else by name.
  template <class Here, class There>
  void validate_names(std::string_view what, const std::vector<Here>& here, const std::vector<There>& there,
                      bool named = true) {
    if (here.size() == there.size()) {
      for (std::size_t i = 0; named && i < here.size(); ++i) {
        if (here[i].name == there[i].name || there[i].joint != 1) continue;  // one parameter has several results
        differ(here[i].where,
               fmt::format("{} {} of '{}' is called '{}', but '{}' in its kernel '{}'", what, i + 1, op_.name,
                           here[i].name, there[i].name, kernel_.name),
               there[i].where);
      }
      return;
    }
    for (const Here& each : here) {
      if (find_named(there, each.name)) continue;
      differ(each.where, fmt::format("the kernel '{}' of '{}' has no {} '{}'", kernel_.name, op_.name, what, each.name),
             kernel_.where);
    }
    for (const There& each : there) {
      if (find_named(here, each.name)) continue;
      differ(op_.where,
             fmt::format("'{}' has no {} '{}', but its kernel '{}' has", op_.name, what, each.name, kernel_.name),
             each.where);
    }
  }

  // A view's kernel sees what is viewed; the numbers that it takes are the planner's.
  void validate_viewed() {
    for (const KernelOperand& there : kernel_.operands) {
      if (find_named(op_.operands, there.name)) continue;
      differ(op_.where,
             fmt::format("'{}' has no operand '{}', but its kernel '{}' has", op_.name, there.name, kernel_.name),
             there.where);
    }
  }

  void validate_operands() {
    for (const OperandSpec& here : op_.operands) {
      const KernelOperand* there = find_named(kernel_.operands, here.name);
      if (!there) continue;
      if (here.variadic) {
        differ(here.where, fmt::format("'{}' is variadic, which no kernel takes", here.name), there->where);
      }
      if (here.optional != there->optional && (is_own_ || there->optional)) {
        const auto& [where_optional, where_not] =
            here.optional ? std::tie(op_.name, kernel_.name) : std::tie(kernel_.name, op_.name);
        differ(here.where,
               fmt::format("'{}' is optional for '{}', but not for '{}'", here.name, where_optional, where_not),
               there->where);
      }
      if (const std::string missing = is_own_ ? missing_dtypes(op_, here, *there) : ""; !missing.empty()) {
        differ(here.where,
               fmt::format("'{}' may be {}, which the kernel '{}' does not take", here.name, missing, kernel_.name),
               there->where);
      }
      validate_struct(here, *there);
      validate_line(here, *there);
      validate_rank(here.name, here.pattern, here.where, *there);
    }
  }

  void validate_line(const OperandSpec& here, const KernelOperand& there) {
    const bool in_lines = there.accepts == Accepts::line;
    if (here.line.empty() != in_lines) return;
    differ(here.where,
           in_lines ? fmt::format("the kernel '{}' reads '{}' in lines, and '{}' does not say along which axis",
                                  kernel_.name, here.name, op_.name)
                    : fmt::format("'{}' is read in lines along '{}', but not by the kernel '{}'", here.name, here.line,
                                  kernel_.name),
           there.where);
  }

  void validate_results() {
    for (std::size_t i = 0; i < std::min(op_.results.size(), kernel_.results.size()); ++i) {
      validate_struct(op_.results[i], kernel_.results[i]);
      validate_rank(op_.results[i].name, op_.results[i].pattern, op_.results[i].where, kernel_.results[i]);
    }
  }

  template <class Here>
  void validate_struct(const Here& here, const KernelOperand& there) {
    const std::string structure = here.structure ? here.structure->name : "";
    if (structure == there.structure) return;
    const auto text = [](const std::string& name) { return name.empty() ? "a number" : "a " + name; };
    differ(here.where,
           fmt::format("'{}' is {}, but {} in the kernel '{}'", here.name, text(structure), text(there.structure),
                       kernel_.name),
           there.where);
  }

  void validate_rank(const std::string& name, const std::optional<std::vector<PatternAxis>>& pattern,
                     SourceLocation where, const KernelOperand& there) {
    const std::string axes = wrong_rank(pattern, there.rank);
    if (axes.empty()) return;
    differ(where, fmt::format("'{}' has {} axes, but {} in the kernel '{}'", name, axes, there.rank, kernel_.name),
           there.where);
  }

  void validate_attributes() {
    for (const KernelAttribute& there : kernel_.attributes) {
      const AttributeSpec* here = op_.attribute(there.name);
      if (!here) {
        differ(op_.where,
               fmt::format("'{}' has no attribute '{}', but its kernel '{}' has", op_.name, there.name, kernel_.name),
               there.where);
      } else if (!types_agree(*here, there)) {
        const std::string words = there.values.empty() ? "" : ", which is one of " + quoted_list(there.values);
        differ(here->where,
               fmt::format("the attribute '{}' cannot be passed to the kernel '{}' as {}{}", here->name, kernel_.name,
                           there.type, words),
               there.where);
      }
    }
    // The axes of a reduction are the planner's, and attributes may be there for an expansion alone.
    if (!is_own_ || op_.kind == OpKind::reduction || !op_.expansions.empty()) return;
    for (const AttributeSpec& here : op_.attributes) {
      const bool is_visible = is_extent(here) || is_line_axis(here) || is_element_type(here);
      if (find_named(kernel_.attributes, here.name) || is_visible) continue;
      differ(here.where,
             fmt::format("the kernel '{}' of '{}' has no attribute '{}'", kernel_.name, op_.name, here.name),
             kernel_.where);
    }
  }

  bool is_line_axis(const AttributeSpec& attribute) const {
    return std::any_of(op_.operands.begin(), op_.operands.end(),
                       [&](const OperandSpec& each) { return each.line == attribute.name; });
  }

  // Whether the kernel can see the attribute in the elements of a result. (A functor makes lanes, and has to be told.)
  bool is_element_type(const AttributeSpec& attribute) const {
    return op_.kind != OpKind::elementwise &&
           std::any_of(op_.results.begin(), op_.results.end(),
                       [&](const ResultSpec& each) { return each.type == "$" + attribute.name; });
  }

  // Whether the kernel can see the attribute in the shape of a result.
  bool is_extent(const AttributeSpec& attribute) const {
    const auto names_it = [&](const PatternAxis& axis) { return axis.name == attribute.name; };
    return std::any_of(op_.results.begin(), op_.results.end(), [&](const ResultSpec& each) {
      const std::string& extents = each.extents.text;
      if (extents == attribute.name + "[i]" || extents.find("? " + attribute.name + " :") != extents.npos) return true;
      return each.pattern && std::any_of(each.pattern->begin(), each.pattern->end(), names_it);
    });
  }

  const OpSpec& op_;
  const KernelSignature& kernel_;
  bool is_own_;
  Diagnostics& diagnostics_;
};

}  // namespace

void compare_kernel(const OpSpec& op, const KernelSignature& kernel, bool is_own, Diagnostics& diagnostics) {
  KernelComparison(op, kernel, is_own, diagnostics).run();
  validate_condition(kernel.when, op, condition_of(kernel), diagnostics);
  const auto validate_evaluations = [&](const std::vector<Evaluations>& list, const KernelOperand& operand) {
    for (const Evaluations& each : list) {
      validate_kernel_size(each.times, op, evaluations_of(kernel, operand), diagnostics);
      validate_condition(each.when, op, condition_of(kernel, operand), diagnostics);
    }
  };
  for (const KernelOperand& operand : kernel.operands) {
    validate_condition(operand.memory, op, condition_of(kernel, operand), diagnostics);
    validate_evaluations(operand.evaluations, operand);
  }
  for (const KernelParameter& each : kernel.parameters) {
    validate_condition(each.tuned_when, op, condition_of(kernel, each), diagnostics);
    validate_condition(each.layout_when, op, condition_of(kernel, each), diagnostics);
  }
  for (const KernelOperand& result : kernel.results) {
    validate_evaluations(result.rows, result);
    validate_condition(result.statistics, op, condition_of(kernel, result), diagnostics);
  }
}

}  // namespace kgen
