// Graphs whose layers are written out, such as those that Python writes from a PyTorch module.
#pragma once

#include <optional>
#include <string>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// The file of the same graph with what repeats in it written once, as functions (see blocks.hpp), its values named as
// they are, and its weights where they are. Nothing after an error. `module` as load_graph gives it; `ops` outlives it.
std::optional<std::string> fold_graph(const Module& module, const OpSet& ops, Diagnostics& diagnostics);

}  // namespace kgen
