// The map from the names of emitted files to the lines that people wrote: lines.yaml, beside plan.yaml. Emitted source
// points to the graph by names alone, so that it changes only where what it computes changes; this file, written anew
// by each plan, is where a line that moved shows.
#pragma once

#include "generator/emit/options.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// For the main graph and each function, "value: line" in the order of the lines: a value of the graph stands on its own
// line, a value within an expanded composite on the line of the composite. For each struct, "name: file:line" of its
// declaration. Numbers, which stand in emitted files as themselves, are left out.
SourceFile emit_lines_yaml(const Plan& plan, const EmitOptions& options);

}  // namespace kgen
