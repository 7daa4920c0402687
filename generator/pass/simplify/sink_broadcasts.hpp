// Rule: what every call of a function is given broadcast from one shape -> the function takes it as it was, and
// broadcasts it itself:
//
//   f(x, mask): ...; m = broadcast(b); f(x, m)   ->   f(x, mask): whole = broadcast(mask); ...; f(x, b)
//
// for operands of calls are dense: the broadcast would be written out. Inside, it is read in place. Operands that go
// round
// (`repeat`) are results of the call before, and stay.
#pragma once

#include "generator/model/graph.hpp"

namespace kgen {

// Takes and leaves an inferred, topologically ordered module. Broadcasts that nobody reads any more are left.
Module sink_broadcasts(Module module);

}  // namespace kgen
