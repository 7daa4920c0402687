// The expressions of operators and kernels: parsed where they are read, so that nothing parses them again, and
// validated once the operator is known. A mistake in one is seen at once, and not by whoever uses the operator first.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// `text`, which stands at `where`. What is no expression is reported, as "`what`: ...", and comes back empty.
// `functions`: node_functions(), or none.
inline constexpr std::span<const std::string_view> no_functions;
Expression expression_of(std::string_view text, SourceLocation where, const std::string& what,
                         std::span<const std::string_view> functions, Diagnostics& diagnostics);

// The same of a scalar; and of one that is a size.
Expression read_expression(Yaml value, const std::string& what, std::span<const std::string_view> functions,
                           Diagnostics& diagnostics);
Expression read_size(Yaml value, Diagnostics& diagnostics);

// Reports what the operator's definition, defaults, sizes and conditions say that has no meaning, such as names that it
// does not have. Its operands, attributes and results have been read.
void validate_expressions(const OpSpec& op, Diagnostics& diagnostics);

// The same for a condition that `what` describes: an expansion's, a spelling's or a kernel's.
void validate_condition(const Expression& condition, const OpSpec& op, const std::string& what,
                        Diagnostics& diagnostics);

// The same for a size of a kernel.
void validate_kernel_size(const Expression& size, const OpSpec& op, const std::string& what, Diagnostics& diagnostics);

// What messages call the condition of a kernel, what it says of an operand, and how often it evaluates one.
std::string condition_of(const KernelSignature& kernel);
std::string condition_of(const KernelSignature& kernel, const KernelOperand& operand);
std::string condition_of(const KernelSignature& kernel, const KernelParameter& parameter);
std::string evaluations_of(const KernelSignature& kernel, const KernelOperand& operand);

}  // namespace kgen
