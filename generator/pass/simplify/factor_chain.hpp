// An operand as what it is without factors, and these factors.
#pragma once

#include <optional>
#include <vector>

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

struct Factor {
  NodeId node = no_id;      // that multiplies or divides by it
  std::size_t scaled = 0;   // the operand of that node that is multiplied
  ValueId value = no_id;    // the factor: the other operand
  Shape shape;              // of the factor, as it is broadcast to the whole
};

struct FactorChain {
  ValueId whole = no_id;
  ValueId base = no_id;         // has the elements of `whole`, in the same order, perhaps by other axes
  std::vector<Factor> factors;  // the last applied first
  std::vector<NodeId> nodes;    // from `whole` back to `base`, conversions and reshapes among them
};

// The factors that `value` is made with; none where it has none that are broadcast to it. A reshape on the way keeps
// the rows that a factor has one element of: [B, S, 1] is [B*S, 1] behind it. Looks at few nodes.
FactorChain factor_chain(const Rewriting& rewriting, ValueId value);

// What of the operator takes a factor of that shape on its operand: the result (nothing in `other`) or another operand,
// with the axis there where it is along one only. Nothing where it may not be taken out.
struct FactorPlace {
  std::optional<std::size_t> other;
  int axis = 0;        // of the factor, from the last, where `other` is given
  int other_axis = 0;  // of that operand
};
std::optional<FactorPlace> place_of_factor(const OpSpec& op, std::size_t operand, const Shape& factor);

// Whether it is computed by going through rows: a reduction, or elementwise nodes over one.
bool is_statistic(const Rewriting& rewriting, ValueId value);

}  // namespace kgen
