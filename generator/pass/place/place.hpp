// Decides where every value lives, and makes the steps of a call.
//
//   inputs, outputs, constants, states   in the caller's, the file's and the model's own buffers
//   a state's next value, and an update  in that state's buffer
//   a view                               nowhere: it is read in place
//   a part of a destination              in its slice of the whole; chains of parts nest
//   a result of load that a call reads   in a persistent buffer of its own
//   any other value in memory            in a slot of the arena, which it shares with values that are never alive with
//   it
//
// A value is alive from the first step that writes it, or a part of it, to the last step that reads it, a view of it, a
// part of it or the whole that it is a part of. With several streams "to the last" means all of those that do so: a
// slot passes on only to what is written after them by the order of streams and of what groups wait for.
//
// In place: an output takes over the slot of an input that dies in the same step, where both have the same shape and
// element size and the input is read at no other index than the one being written: there is no view in between, and no
// structured kernel reads it as an operand. This asks two things of every kernel: an element is loaded before it is
// stored, and a sink is called once for each element. Row programs qualify too when the value is their only output:
// every reduction of a row leads to that output, so all are complete before its first store, and rows do not read each
// other.
#pragma once

#include <vector>

#include "generator/model/plan.hpp"

namespace kgen {

// Groups must stand in an order in which they may run; they are run in it, on as many as `streams` streams. `functions`
// are those that the graph may call. Steps of stubs have no arguments and no stub yet: `lower` knows them. An `at_load`
// group that writes memory of a call (a graph output, a state, a part of a value that calls compute) becomes a group of
// the call.
FunctionPlan place(FusedGraph fused, const std::vector<FunctionPlan>& functions, std::uint32_t streams = 1);

}  // namespace kgen
