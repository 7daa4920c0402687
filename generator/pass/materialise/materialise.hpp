// Inserts a copy wherever a value must lie in memory of its own, so that the passes after this one may read every view
// in place and write every part of a destination where it belongs:
//   - a part of a concat or update that no stub of this graph produces for it alone, or that its kernel cannot walk
//     where it would lie: one whose leading axes must merge, in a whole where they do not;
//   - a part of an update that a later update of the state may write over, where something else reads it, too; and one
//     that would be written before the earlier update is whole: nodes are put into an order in which few are;
//   - a graph output that is an input, a constant, a state, a part, or an output twice; and one that is a view, as well as
//     a part that is one, unless what it shows can be written through the view: it shows all of what one stub of this
//     graph makes for it alone, and keeps neighbours along the last axis together;
//   - a state's next value that is not an update of that state (the copy stores it, after everything else);
//   - an operand of a call that is not dense;
//   - a reshape of memory whose strides cannot show it, and an operand of a structured kernel whose leading axes must
//     merge and cannot;
//   - on a CPU, a constant of few bits, or its scales, that a view shows across their lines to what unpacks it at each
//     call.
// Before that, a reader that computes in the wider type anyway reads what a widening cast reads: loading converts.
// Reports in-place updates whose meaning would depend on an order that the graph does not give. Updates of anything but
// a state have been expanded: see expand_updates.hpp.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

Module materialise(Module module, const OpSet& ops, Diagnostics& diagnostics);

}  // namespace kgen
