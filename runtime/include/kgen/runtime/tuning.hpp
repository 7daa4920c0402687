// What the programs that `kgen tune` writes are made of: a graph under candidates of its kernels' compile-time
// parameters, and what times them.
#pragma once

#include <cstdint>
#include <vector>

#include "kgen_runtime.h"

namespace kgen {

struct TuningDim {
  const char* name;
  std::int64_t low, high;
};

struct TuningInput {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values = {};  // of one that sizes are read from
};

// Steps that call a kernel alike: one rule speaks of them.
struct TunedCall {
  const char* kernel;
  const char* when;
  std::vector<const char*> steps;  // as profiles name them
};

struct TuningCandidate {
  const kgen_graph* graph;
  std::vector<const char*> parameters;  // by call: "TileM: 48, TileN: 128"; "": nothing is tried for that call
};

struct Tuning {
  std::vector<TuningDim> dims;
  std::vector<TuningInput> (*inputs)(const std::vector<std::int64_t>& sizes);  // of a run with these sizes, by dim
  std::vector<TunedCall> calls;
  std::vector<TuningCandidate> candidates;  // of the same inputs; the first tries nothing
};

// The program's main: times every candidate at some sizes, interleaved over two rounds, tells the times on stderr, and
// writes a rule for each call of which a candidate takes less time than the first does, in the geometric mean over the
// sizes. Returns 0, 1 after an error, or 2 where the arguments have none of the forms that --help tells.
int tune(const Tuning& tuning, int argc, char** argv);

}  // namespace kgen
