// Rule: what spells out an operator becomes that operator. The inverse of decompose.
//
//   m = max(x), s = x - m, e = exp(s), t = sum(e), p = e / t   ->   {op: softmax, in: x, out: p}
//
// - The patterns are the expansions of operators, and the spellings that specifications list beside them, which are
//   only read backwards. Where they hold nodes of operators that are spelled out themselves, those may be too.
// - Where several patterns end in one node, the largest is taken. For what a pattern is found in, see match.hpp.
// - Raising never loses: it is done where a kernel then does in one what several nodes did, or where the operator is
//   expanded to something other than what is written (a softmax of long rows). All else stays as the author wrote it.
// - `numerics: match_unfused` asks for the rounding of the operators that are written: such graphs stay as they are.
// - What an operator does where nodes give NaN or overflow counts: attention gives 0 where every score is -inf.
#pragma once

#include "generator/model/graph.hpp"

namespace kgen {

// everywhere: also where nothing is gained by it, for tests and for people who look for what a graph spells.
enum class Raised { where_it_pays, everywhere };

// Takes and leaves an inferred, topologically ordered module. Linear in the number of nodes.
Module raise(Module module, const OpSet& ops, Raised raised = Raised::where_it_pays);

}  // namespace kgen
