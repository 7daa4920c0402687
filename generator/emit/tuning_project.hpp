// The project that `kgen tune` writes: a program that times a graph under candidates of its kernels' compile-time
// parameters, each in a folder of its own, and writes the fastest as rules of tuning.
#pragma once

#include <string>
#include <vector>

#include "generator/emit/options.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// What one rule of tuning would speak of.
struct TunedCall {
  std::string kernel;              // "kgen::matmul"
  std::string when;                // the condition: "M <= 8192 && N == 512 && K == 512 && T == f32 && target == cpu"
  std::vector<std::string> steps;  // of the plan, as profiles name them
};

struct TuningCandidate {
  std::string name;                     // of its graph and of its folder: "mlp_candidate_1"
  std::vector<std::string> parameters;  // by call: "TileM: 48, TileN: 128"; empty: it tries nothing for that call
};

struct TuningProject {
  std::vector<TunedCall> calls;
  std::vector<TuningCandidate> candidates;  // the first tries nothing: the graph as it is planned
};

// `plan`: that of any candidate, as they take the same inputs.
SourceFile emit_tuning_program(const TuningProject& project, const Plan& plan, const EmitOptions& options);
SourceFile emit_tuning_build_file(const TuningProject& project, const EmitOptions& options);

}  // namespace kgen
