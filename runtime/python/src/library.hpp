// A shared library that holds one graph and kgen's runtime, opened beside others: nothing of it is seen by them.
#pragma once

#include <string>

#include "kgen_runtime.h"

namespace kgen::python {

// The C ABI as the library has it. Throws StatusError. Once it is opened, the file may go.
class Library {
 public:
  Library(const std::string& path, const std::string& graph);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const kgen_graph* graph = nullptr;
  decltype(&kgen_status_name) status_name;
  decltype(&kgen_last_error) last_error;
  decltype(&kgen_graph_input_count) input_count;
  decltype(&kgen_graph_output_count) output_count;
  decltype(&kgen_graph_input) input;
  decltype(&kgen_graph_output) output;
  decltype(&kgen_model_load) load;
  decltype(&kgen_model_free) free;
  decltype(&kgen_model_device) device;
  decltype(&kgen_model_run_on) run_on;
  decltype(&kgen_model_output_shapes) output_shapes;
  decltype(&kgen_model_state_count) state_count;
  decltype(&kgen_model_state_name) state_name;
  decltype(&kgen_model_state) state;
  decltype(&kgen_model_reset_state) reset_state;
  decltype(&kgen_model_profile_start) profile_start;
  decltype(&kgen_model_profile_stop) profile_stop;
  decltype(&kgen_model_profile_count) profile_count;
  decltype(&kgen_model_profile_get) profile_get;

  // Throws what the last call on this thread failed with, if it did.
  void require(kgen_status status) const;

 private:
  template <class Function>
  void find(Function& function, const std::string& name);

  std::string path_;
  void* handle_;  // never closed: threads of OpenMP and states that are looked at may outlive every model
};

}  // namespace kgen::python
