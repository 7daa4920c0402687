// Arithmetic on what is known when a model is imported: whole numbers over symbolic dims, and real numbers.
#pragma once

#include <optional>
#include <span>

#include "generator/import/content.hpp"
#include "generator/model/dim.hpp"
#include "generator/model/expression.hpp"

namespace kgen {

// The result of an operation on one, two or (choose) three operands; true is 1 and false is 0. Of whole numbers it is
// a whole number, and division rounds down; with a real number among them all are real. Nothing where it has no value,
// would overflow, or depends on the symbols in a way that sizes cannot say.
std::optional<ContentElement> apply(Expression::Operation operation, std::span<const ContentElement> operands,
                                    const DimRanges& ranges);

// Whether it is true, for every value of the symbols; nothing where that is not known.
std::optional<bool> truth_of(const ContentElement& element, const DimRanges& ranges);

}  // namespace kgen
