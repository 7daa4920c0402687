// Rules for views:
// - A view that shows its operand as it is (the identity permutation, the same shape, the whole axis, a concatenation
//   of one part, the flip of one element) -> its operand.
// - A view of a view -> one view: permute of permute, slice of slice and select of slice (one axis), broadcast of
//   broadcast, flip of flip (one axis), squeeze of a slice of one element -> select; and any two of reshape, unsqueeze
//   and squeeze, unless both only add or drop axes of extent 1: those need no dense memory, as a reshape would.
// - A slice or select, along its axis, of a concatenation, that shows elements of one part -> one of that part.
// - Parts of a concatenation that are slices of one value, one behind the other, and together all of it -> that value.
// - A reshape that only adds or drops one axis of extent 1 -> unsqueeze, squeeze.
//
// Rule for what reads a view: an elementwise operand that is broadcast no further than the operator itself would -> the
// operand before that.
#pragma once

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

bool simplify_views(Rewriting& rewriting, NodeId node);

}  // namespace kgen
