// Rule: a composite node becomes the nodes of its operator's expansion, until no composite is left.
//
//   {op: softmax, in: x, out: p}   ->   p_maximum = max(x), p_shifted = x - p_maximum, ..., p = p_exponential / p_total
//
// - Of several expansions the first is taken whose `when` holds for every value of the symbolic dims.
// - In inputs and attributes, "$name" is an attribute of the composite; where a size is asked for, attributes and dims
//   of the shape patterns may be used in arithmetic ("D / 2", "$axis + 1"; see spec/node_expression.hpp).
// - An optional operand that was left out is left out of the inner node too, whose operand must be optional as well.
//   Where that is not enough, the specification has expansions that ask `given(operand)`.
// - A variadic operand stands for all of its tensors.
// - A local becomes the value `<result>_<local>`, after the composite's first result, with a number where that is
//   taken. Every node gets the place of the composite as written in the graph, and `within` names that composite: the
//   outermost one, where expansions hold composites.
// - Precision: where a composite's operands are f16, bf16 or f8, its expansion computes in f32 and rounds once, at its
//   end, as PyTorch's do. Casts to f32 go in front of each node that computes, and behind views, which only move
//   elements; the cast back goes to the results, and in front of a view that leads to nothing but a result (so that the
//   parts of a concatenation are rounded before they are written). Composites within see f32 and add nothing.
// - A composite within that a kernel does whole is not expanded: kernels are chosen for its nodes as for the graph's.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// Takes and leaves an inferred, topologically ordered module whose nodes have their kernels. Linear in the number of
// nodes that it leaves. Errors, all of them in specifications: expansions deeper than 16, unknown names, an attribute
// that cannot be worked out, an inner node that cannot be typed, a result that is not made or has another
// shape than the composite's. After an error the module is of no use. A composite that nothing reads gets a warning.
Module decompose(Module module, const OpSet& ops, Diagnostics& diagnostics);

}  // namespace kgen
