// Inserts a copy wherever a value must lie in memory of its own, so that the passes after this one may read every view
// in place and write every part of a destination where it belongs:
//   - a part of a concat or update that no stub of this graph produces for it alone;
//   - a graph output that is an input, a constant, a state, a view, a part, or an output twice;
//   - a state's next value that is not an update of that state (the copy stores it, after everything else);
//   - an operand of a call that is not dense;
//   - a reshape of memory whose strides cannot show it, and an operand of a structured kernel whose leading axes must
//     merge and cannot.
// Before that, an update of anything but a state becomes the concatenation of what it keeps and what it brings, and a reader that computes in the wider type anyway reads what a widening cast reads: loading converts.
// Reports in-place updates whose meaning would depend on an order that the graph does not give.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

Module materialise(Module module, const OpSet& ops, Diagnostics& diagnostics);

}  // namespace kgen
