#include "runtime/python/src/library.hpp"

#include <dlfcn.h>

#include "runtime/python/src/errors.hpp"

namespace kgen::python {

Library::Library(const std::string& path, const std::string& graph_name)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw StatusError("KGEN_ABI_MISMATCH", std::string("cannot open the library: ") + dlerror());
  const kgen_graph* (*graph_function)() = nullptr;
  find(graph_function, "kgen_graph_" + graph_name);
  find(status_name, "kgen_status_name");
  find(last_error, "kgen_last_error");
  find(input_count, "kgen_graph_input_count");
  find(output_count, "kgen_graph_output_count");
  find(input, "kgen_graph_input");
  find(output, "kgen_graph_output");
  find(load, "kgen_model_load");
  find(free, "kgen_model_free");
  find(device, "kgen_model_device");
  find(run_on, "kgen_model_run_on");
  find(output_shapes, "kgen_model_output_shapes");
  find(state_count, "kgen_model_state_count");
  find(state_name, "kgen_model_state_name");
  find(state, "kgen_model_state");
  find(reset_state, "kgen_model_reset_state");
  find(profile_start, "kgen_model_profile_start");
  find(profile_stop, "kgen_model_profile_stop");
  find(profile_count, "kgen_model_profile_count");
  find(profile_get, "kgen_model_profile_get");
  graph = graph_function();
}

template <class Function>
void Library::find(Function& function, const std::string& name) {
  function = reinterpret_cast<Function>(dlsym(handle_, name.c_str()));
  if (function != nullptr) return;
  throw StatusError("KGEN_ABI_MISMATCH", path_ + " has no '" + name +
                                             "': it was built for another graph, or with another "
                                             "version of kgen's runtime; build it again");
}

void Library::require(kgen_status status) const {
  if (status != KGEN_OK) throw StatusError(status_name(status), last_error());
}

}  // namespace kgen::python
