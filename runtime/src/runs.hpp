// What a model knows of the runs it has made on a GPU: a run that comes again is captured, and from then on launched as
// a whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kgen/runtime/device.hpp"
#include "kgen/runtime/graph_info.hpp"

namespace kgen {

// All that a run depends on but the contents of memory: where its arguments are, their types, shapes and strides, and
// the values of scalars on the host. Runs with equal keys launch the same work.
using RunKey = std::vector<std::int64_t>;
RunKey key_of(const GraphInfo& graph, std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs);

struct Run {
  RunKey key;
  OwnedEvent finished;  // after its latest launch
  OwnedReplay replay;   // null until it was captured; of another key where `is_captured` is false
  bool is_captured = false;
  std::uint64_t last_use = 0;
  std::size_t place = 0;  // of its scalars in the staging memory of the model
};

// The runs that were made last. A model that decodes token by token makes each run once, and others in between.
class Runs {
 public:
  static constexpr std::size_t most = 16;

  explicit Runs(const DeviceApi& api) : api_(api) {}

  // The run of this key, and whether it was known. A new one takes the place of the one that was used least recently,
  // which is waited for.
  struct Found {
    Run& run;
    bool is_known;
  };
  Found find(RunKey key);
  // The event after the latest run; null before the first.
  EventHandle finished() const { return latest_ == nullptr ? nullptr : latest_->finished.get(); }
  void set_latest(Run& run);
  // The memory that captured runs point into has moved.
  void forget_captures();
  // So that a run that failed is not taken for one that was made.
  static void forget(Run& run);

 private:
  const DeviceApi& api_;
  std::vector<Run> runs_;
  Run* latest_ = nullptr;
  std::uint64_t now_ = 0;
};

}  // namespace kgen
