// Rule: a node whose operator has a prepared form becomes that form, where a part of it is then computed when the model
// is loaded instead of in every call.
//
//   {op: matmul, in: [x, w], out: y}   ->   w_panels = pack_columns(w), y = packed_matmul(x, w_panels)
//
// - Of an operator's forms the first is taken whose `when` holds for every value of the symbolic dims.
// - The operator's own kernel computes the node, or one of the same namespace: a user's was chosen by somebody who
// wanted it.
// - The node itself is not computed at load.
// - What two forms compute of the same operands at load is computed once. It is called `<constant>_<local>`.
// - What an operator that moves elements makes at load keeps their type: a conversion to one that holds all values of
//   it is put behind (its readers convert as they load), so that weights do not grow.
// - Rules of tuning may ask what makes an operand: they are applied anew to what there is then.
// - The types stay those that the node had: nothing is converted but that.
// Where an operand is constant, and a form is not for other targets alone, the graph records what became of the node,
// with the reason.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// Takes and leaves a module without composites. Linear in the number of nodes. Errors are those of expansions, all in
// specifications: see decompose.hpp.
Module prepare(Module module, const OpSet& ops, Diagnostics& diagnostics);

}  // namespace kgen
