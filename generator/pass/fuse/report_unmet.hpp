// What the graph asks of fusion, against what became of it.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// Errors: values of a `force` or an `expect_fused` that no one stub computes, with each reason on the way from one to
// the other; values of them that no stub computes at all. A `forbid` that keeps nothing apart is a warning.
void report_unmet(const FusedGraph& fused, Diagnostics& diagnostics);

}  // namespace kgen
