// The whole of kgen in one line: load -> infer -> choose_kernels -> decompose -> simplify -> compute_parts -> prepare
// -> materialise -> fuse -> schedule -> place -> lower -> bind_dims -> emit. Each pass is a pure function; the runner
// times it, verifies what it made, dumps that if asked, and stops after errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/emit/options.hpp"
#include "generator/base/source_map.hpp"
#include "generator/model/op_spec.hpp"
#include "generator/model/plan.hpp"
#include "generator/pass/fuse/fusion_rules.hpp"

namespace kgen {

struct PipelineOptions {
  std::string graph;                     // path
  std::vector<std::string> spec_files;   // operators, in order
  std::string signatures;                // the built-in kernels; empty: none
  std::vector<std::string> kernels;      // more: files of signatures, or folders of such files or of headers; the first
                                         // come first
  std::vector<std::string> headers;      // paths; their kernels count as they are, not as `signatures` has them
  std::vector<std::string> include_directories;  // where the headers of the built-in kernels are
  std::string dump_after;                // the name of a pass; empty: none
  TargetKind target = TargetKind::cpu;   // what conditions are asked for, and
  Architecture architecture = Architecture::none;
  std::uint32_t streams = 1;             // on which independent branches may overlap
  std::vector<FusionRule> without;       // joins nothing; force and expect_fused are then not asked to come true
  std::vector<TuningRule> tuning;        // more rules, behind those of spec_files
  bool check = false;                    // also plan the unfused references of check mode
  bool explain = false;                  // a plan that is not as the graph expects is returned too, to be explained
  bool progress = false;                 // name each pass on stderr once the whole takes longer than a second
  bool timings = false;                  // time of each pass, and of verifying what it made, on stderr
};

// The names that `dump_after` may take.
std::vector<std::string> dumped_passes();

// What a run read and made. Locations in diagnostics point into `sources`, plans into `ops`.
struct Session {
  SourceMap sources;
  OpSet ops;
  Diagnostics diagnostics;
  std::vector<std::string> read_files;   // everything the result depends on
};

// Operators and kernels alone.
bool load_operators(const PipelineOptions& options, Session& session);
// Nothing after an error, which is in session.diagnostics; but see PipelineOptions::explain.
std::optional<Plan> make_plan(const PipelineOptions& options, Session& session);
// Every file of the emitted folder.
std::vector<SourceFile> emit_plan(const Plan& plan, const EmitOptions& options);

}  // namespace kgen
