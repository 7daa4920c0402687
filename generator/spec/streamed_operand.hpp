// Whether an operand is made of a weight of few bits as a kernel may stream it, and how.
#pragma once

#include "generator/model/graph.hpp"

namespace kgen {

// How a value depends on one that it is made of: not at all; a multiple of it; a multiple and something more; or in any
// other way, or not known. What else it is made of decides by how much.
enum class Degree { none, linear, affine, other };

// Whether elementwise nodes and views make the matrices (the last two axes) of a constant of at most 8 bits an element
// that has one for each of theirs, neighbours of a column beside each other; what else these nodes read is smaller:
// scales, zero points. The degree, by the operators' definitions; none where it is not made so. Looks at few nodes,
// which have been inferred.
Degree streamed_degree(const Graph& graph, ValueId operand);

}  // namespace kgen
