// The C ABI for C++ programs: owns the model, and throws kgen::Error instead of returning codes. See kgen_runtime.h for
// what each call means.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kgen/runtime/device.hpp"
#include "kgen/runtime/error.hpp"
#include "kgen/runtime/tensor.hpp"
#include "kgen_runtime.h"

namespace kgen {

class Model {
 public:
  explicit Model(const kgen_graph* graph, const kgen_load_options& options = {});

  const kgen_graph* graph() const;
  kgen_model* get() const { return model_.get(); }

  // model.run({&x, &weight}, {&y}); in the order of the graph.
  void run(const std::vector<const Tensor*>& inputs, const std::vector<Tensor*>& outputs);
  // Tensors of other libraries.
  void run(const std::vector<const DLTensor*>& inputs, const std::vector<DLTensor*>& outputs);
  // In the order of a stream of the caller's; see kgen_model_run_on.
  void run_on(StreamHandle stream, const std::vector<const Tensor*>& inputs, const std::vector<Tensor*>& outputs);
  void run_on(StreamHandle stream, const std::vector<const DLTensor*>& inputs, const std::vector<DLTensor*>& outputs);
  DLDevice device() const;

  std::vector<std::string> state_names() const;
  DLTensor state(std::string_view name);  // throws with KGEN_INVALID_ARGUMENT where there is none of that name
  void reset_state();

  void profile_start();
  void profile_stop(const std::string& trace_path = {});  // empty: no trace is written
  std::vector<kgen_profile_entry> profile() const;        // greatest total first

 private:
  struct Free {
    void operator()(kgen_model* model) const { kgen_model_free(model); }
  };
  std::unique_ptr<kgen_model, Free> model_;
};

}  // namespace kgen
