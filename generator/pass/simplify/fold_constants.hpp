// Rule: a node all of whose operands are constants that stand in the graph, and whose result has at most 64 elements,
// is worked out now. Its result becomes a constant of the same name.
// - Elementwise operators with a `definition` (casts among them) and views of one operand are folded. Operands
//   broadcast as numpy's do. A result without elements stays a constant without elements.
// - The definition is worked out in f64 and rounded to the result's dtype. Where no single answer would agree with
//   every kernel (integers that overflow, f8 out of range, NaN to integer) the node stays as it is.
// - The result of a fold whose elements are all alike, NaN and -0 told apart, is one number.
#pragma once

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

bool fold_constants(Rewriting& rewriting, NodeId node);

}  // namespace kgen
