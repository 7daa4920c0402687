// kgen tune: the plans of a graph under candidates of its kernels' compile-time parameters.
#pragma once

#include <deque>
#include <optional>

#include "generator/emit/tuning_project.hpp"
#include "generator/pipeline.hpp"

namespace kgen {

struct TuningPlans {
  TuningProject project;
  std::deque<Session> sessions;  // of each candidate, whose plan points into it
  std::vector<Plan> plans;       // each under the name of its candidate
};

// Nothing after errors, which are in session.diagnostics, and where no kernel that the graph calls has a parameter to
// try. Candidate by candidate each kernel takes the next of its parameters' values, all at once: there are as many as
// the kernel with the most combinations has.
std::optional<TuningPlans> plan_tuning(const PipelineOptions& options, Session& session);

}  // namespace kgen
