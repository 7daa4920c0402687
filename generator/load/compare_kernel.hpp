// Whether an operator and its kernel speak of the same thing.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Reports each disagreement on kind, operands, results or attributes with both places: an operand that is missing,
// renamed, variadic, of another rank or struct, optional on one side alone, or of a dtype that the kernel does not
// take; a result that is missing; an attribute without a parameter that could take it, and the other way round. The
// operator's own kernel must take all that the operator may be given; another need not. The kernel's condition must be
// one, of what the operator has.
void compare_kernel(const OpSpec& op, const KernelSignature& kernel, bool is_own, Diagnostics& diagnostics);

}  // namespace kgen
