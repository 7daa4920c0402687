// A graph file, as a Module.
#pragma once

#include <optional>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source.hpp"
#include "generator/model/graph.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Reads the graph language. Names are resolved and unique, operators and functions found, operands counted, attributes
// typed; types are known for inputs, constants and state. Node::inputs is as long as the operator's operands: no_id
// where optional ones were left out. A number among operands becomes a constant of its own, named "constant_<n>", whose
// type is absent until infer (but that of the parameter's dtype where it is passed to a function).
//
// Reports as many errors as it can find; returns nothing if there is any, then or before. `set` must be linked, and it
// and `source` must outlive the module. Linear in the size of the text.
std::optional<Module> load_graph(const SourceText& source, const OpSet& set, Diagnostics& diagnostics);

}  // namespace kgen
