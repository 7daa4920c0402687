// Rule: a view of an elementwise result that nothing else reads moves in front of the elementwise node:
//
//   e = f(a, b); v = permute(e)   ->   a_permuted = permute(a); b_permuted = permute(b); v = f(a_permuted, b_permuted)
//
// so that fusion sees no view between elementwise nodes, and memory is viewed where it is loaded. It applies:
// - to permute, slice, select, flip, unsqueeze and squeeze, with operands that broadcast: an operand without the axis,
//   or with extent 1 along it, is left alone or loses or gains that axis only. Never to broadcast, which would compute
//   f more often, nor to concat and update, which are written, not read;
// - to reshape, where every operand has the full shape or is a scalar, and lies dense in memory: only then does the
//   reshape of each cost nothing;
// - all the way or not at all: through elementwise nodes that nothing else reads, until each operand is memory (an
//   input, a constant, a state, what a call or an opaque kernel makes, or a view of any of these). Behind a reduction
//   or a structured kernel a view would keep f out of that kernel's stub. A permute also goes through elementwise nodes
//   that several read, where these are elementwise too and lead to one value again, as x * sigmoid(x) has it.
//
// What is read in parts alone (slices or selects along one axis, no two of the same element, which elementwise nodes
// read) is computed in parts: each view moves, and takes a copy of the elementwise node with it:
//
//   e = f(a); r = select(e, 0); g = select(e, 1)   ->   a_r = select(a, 0); a_g = select(a, 1); r = f(a_r); g = f(a_g)
//
// A permute goes in front of a reshape that could not be pulled (one that joins an axis to one that an operand is
// broadcast along: groups of weights), where that only joins axes.
//
// A view that meets another one on its way goes on as one with it, where the two can be one (see simplify_views.hpp).
// A value that a directive names, and an elementwise result that is observed, stay where they are.
#pragma once

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

// One sweep from the last node to the first, which takes each view as far up as it goes. Operands must be resolved, and
// dead nodes dropped. True where anything changed.
bool pull_views(Rewriting& rewriting);

}  // namespace kgen
