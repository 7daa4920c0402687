// Puts nodes in topological order and finds the type of every value, the kind of every node and every attribute.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Functions are typed before main, each against its own inputs; a call must pass exactly those types. Takes what
// load_graph gives: names resolved, operands and results counted, attributes of their types. Reports every node that
// cannot be typed, but none that only reads from such a node. Linear in the number of nodes.
Module infer(Module module, const OpSet& ops, Diagnostics& diagnostics);

}  // namespace kgen
