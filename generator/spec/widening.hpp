// Casts that change no value.
#pragma once

#include "generator/model/graph.hpp"

namespace kgen {

// Rule: a cast to a type that holds every value of its operand's type may be read through. What such a cast reads,
// where one makes `value`; else `value` itself.
ValueId before_widening(const Graph& graph, ValueId value);
// Whether the operator takes the dtype as its first operand, by a type variable.
bool takes_first(const OpSpec& op, DType dtype);

}  // namespace kgen
