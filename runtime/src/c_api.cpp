// The C ABI: arguments are checked, exceptions become codes and messages.
#include <algorithm>
#include <exception>
#include <new>
#include <span>
#include <string>

#include "kgen/runtime/call.hpp"
#include "kgen_runtime.h"
#include "runtime/src/loaded_model.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

thread_local std::string last_error;

// Keeps the message; without memory for it, the code has to do.
kgen_status report(kgen_status status, const char* message) noexcept {
  try {
    last_error = message;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return status;
}

// Runs a body that may throw.
template <class Body>
kgen_status guarded(Body&& body) noexcept {
  try {
    body();
    return KGEN_OK;
  } catch (const Error& error) {
    return report(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return report(KGEN_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return report(KGEN_INTERNAL, error.what());
  } catch (...) {
    return report(KGEN_INTERNAL, "an unknown exception left the wrapper");
  }
}

void require_not_null(const void* pointer, const char* name) {
  if (pointer == nullptr) fail(KGEN_INVALID_ARGUMENT, "'", name, "' is null");
}

void require_index(int index, std::size_t count, const char* what) {
  if (index < 0 || static_cast<std::size_t>(index) >= count) {
    fail(KGEN_INVALID_ARGUMENT, what, " ", index, " was asked for, but there are ", count);
  }
}

// Null where a graph was emitted for another version of the tables.
const GraphInfo* known_graph(const kgen_graph* graph) {
  const auto* info = reinterpret_cast<const GraphInfo*>(graph);
  return info != nullptr && info->abi == abi_version ? info : nullptr;
}

kgen_status describe(const kgen_graph* graph, std::vector<TensorInfo> GraphInfo::*tensors, const char* what, int index,
                     kgen_tensor_info* info) {
  return guarded([&] {
    require_not_null(graph, "graph");
    require_not_null(info, "info");
    const GraphInfo* known = known_graph(graph);
    if (known == nullptr) fail(KGEN_ABI_MISMATCH, "the graph was emitted for another version of the runtime");
    require_index(index, (known->*tensors).size(), what);
    const TensorInfo& tensor = (known->*tensors)[static_cast<std::size_t>(index)];
    const ElementTypeInfo& type = element_type_info(tensor.type);
    *info = {tensor.name,        type.dlpack,           type.name, static_cast<int>(tensor.dims.size()),
             tensor.dims.data(), tensor.strided ? 1 : 0, tensor.on_host ? 1 : 0};
  });
}

}  // namespace
}  // namespace kgen

using kgen::guarded;
using kgen::require_index;
using kgen::require_not_null;

const char* kgen_status_name(kgen_status status) {
  switch (status) {
    case KGEN_OK:
      return "KGEN_OK";
    case KGEN_INVALID_ARGUMENT:
      return "KGEN_INVALID_ARGUMENT";
    case KGEN_WRONG_COUNT:
      return "KGEN_WRONG_COUNT";
    case KGEN_NULL_DATA:
      return "KGEN_NULL_DATA";
    case KGEN_WRONG_DEVICE:
      return "KGEN_WRONG_DEVICE";
    case KGEN_WRONG_DTYPE:
      return "KGEN_WRONG_DTYPE";
    case KGEN_WRONG_RANK:
      return "KGEN_WRONG_RANK";
    case KGEN_WRONG_EXTENT:
      return "KGEN_WRONG_EXTENT";
    case KGEN_DIM_OUT_OF_RANGE:
      return "KGEN_DIM_OUT_OF_RANGE";
    case KGEN_DIM_INCONSISTENT:
      return "KGEN_DIM_INCONSISTENT";
    case KGEN_REQUIREMENT_FAILED:
      return "KGEN_REQUIREMENT_FAILED";
    case KGEN_WRONG_STRIDE:
      return "KGEN_WRONG_STRIDE";
    case KGEN_MISALIGNED:
      return "KGEN_MISALIGNED";
    case KGEN_OVERLAP:
      return "KGEN_OVERLAP";
    case KGEN_TOO_LARGE:
      return "KGEN_TOO_LARGE";
    case KGEN_OUT_OF_MEMORY:
      return "KGEN_OUT_OF_MEMORY";
    case KGEN_FILE_ERROR:
      return "KGEN_FILE_ERROR";
    case KGEN_BAD_WEIGHTS:
      return "KGEN_BAD_WEIGHTS";
    case KGEN_MISSING_WEIGHT:
      return "KGEN_MISSING_WEIGHT";
    case KGEN_ABI_MISMATCH:
      return "KGEN_ABI_MISMATCH";
    case KGEN_NOT_CHECKABLE:
      return "KGEN_NOT_CHECKABLE";
    case KGEN_CHECK_FAILED:
      return "KGEN_CHECK_FAILED";
    case KGEN_DEVICE_ERROR:
      return "KGEN_DEVICE_ERROR";
    case KGEN_INTERNAL:
      return "KGEN_INTERNAL";
  }
  return "unknown status";
}

const char* kgen_last_error(void) { return kgen::last_error.c_str(); }

// ---- graphs

const char* kgen_graph_name(const kgen_graph* graph) {
  const kgen::GraphInfo* info = kgen::known_graph(graph);
  return info == nullptr ? "" : info->name;
}

int kgen_graph_input_count(const kgen_graph* graph) {
  const kgen::GraphInfo* info = kgen::known_graph(graph);
  return info == nullptr ? 0 : static_cast<int>(info->inputs.size());
}

int kgen_graph_output_count(const kgen_graph* graph) {
  const kgen::GraphInfo* info = kgen::known_graph(graph);
  return info == nullptr ? 0 : static_cast<int>(info->outputs.size());
}

kgen_status kgen_graph_input(const kgen_graph* graph, int index, kgen_tensor_info* info) {
  return kgen::describe(graph, &kgen::GraphInfo::inputs, "input", index, info);
}

kgen_status kgen_graph_output(const kgen_graph* graph, int index, kgen_tensor_info* info) {
  return kgen::describe(graph, &kgen::GraphInfo::outputs, "output", index, info);
}

// ---- models

kgen_status kgen_model_load(const kgen_graph* graph, const kgen_load_options* options, kgen_model** model) {
  return guarded([&] {
    require_not_null(graph, "graph");
    require_not_null(model, "model");
    kgen::LoadOptions load_options;
    if (options != nullptr) {
      if (options->weights_directory != nullptr) load_options.weights_directory = options->weights_directory;
      load_options.threads = options->threads;
      load_options.check = options->check != 0;
      load_options.device = options->device;
      load_options.eager = options->eager != 0;
      load_options.synchronous = options->synchronous != 0;
    }
    *model = kgen::load_model(*reinterpret_cast<const kgen::GraphInfo*>(graph), load_options).release();
  });
}

void kgen_model_free(kgen_model* model) {
  if (model == nullptr) return;
  guarded([&] {
    const kgen::DeviceScope scope = kgen::scope_of(*model);
    delete model;
  });
}

const kgen_graph* kgen_model_graph(const kgen_model* model) {
  return model == nullptr ? nullptr : kgen::as_c(model->graph);
}

kgen_status kgen_model_device(const kgen_model* model, DLDevice* device) {
  return guarded([&] {
    require_not_null(model, "model");
    require_not_null(device, "device");
    *device = model->dlpack_device();
  });
}

namespace kgen {
namespace {

// body(inputs, outputs), checked as far as C arrays can be.
template <class Body>
kgen_status guarded_run(kgen_model* model, const DLTensor* const* inputs, int input_count, DLTensor* const* outputs,
                        int output_count, Body&& body) {
  return guarded([&] {
    require_not_null(model, "model");
    if (input_count != 0) require_not_null(inputs, "inputs");
    if (output_count != 0) require_not_null(outputs, "outputs");
    if (input_count < 0 || output_count < 0) {
      fail(KGEN_WRONG_COUNT, "the count of inputs is ", input_count, " and of outputs ", output_count,
           ", expected 0 or more");
    }
    const DeviceScope scope = scope_of(*model);
    body(std::span(inputs, static_cast<std::size_t>(input_count)),
         std::span(outputs, static_cast<std::size_t>(output_count)));
  });
}

}  // namespace
}  // namespace kgen

kgen_status kgen_model_run(kgen_model* model, const DLTensor* const* inputs, int input_count, DLTensor* const* outputs,
                           int output_count) {
  return kgen::guarded_run(model, inputs, input_count, outputs, output_count,
                           [&](auto in, auto out) { model->run(in, out); });
}

kgen_status kgen_model_run_on(kgen_model* model, const DLTensor* const* inputs, int input_count,
                              DLTensor* const* outputs, int output_count, void* stream) {
  return kgen::guarded_run(model, inputs, input_count, outputs, output_count,
                           [&](auto in, auto out) { model->run_on(in, out, stream); });
}

kgen_status kgen_model_output_shapes(kgen_model* model, const DLTensor* const* inputs, int input_count,
                                     int64_t* const* shapes, int output_count) {
  return guarded([&] {
    require_not_null(model, "model");
    if (input_count != 0) require_not_null(inputs, "inputs");
    if (output_count != 0) require_not_null(shapes, "shapes");
    kgen::Call::ask_shapes(*model, std::span(inputs, static_cast<std::size_t>(std::max(input_count, 0))),
                           std::span(shapes, static_cast<std::size_t>(std::max(output_count, 0))));
  });
}

// ---- state

int kgen_model_state_count(const kgen_model* model) {
  return model == nullptr ? 0 : static_cast<int>(model->state_elements.size());
}

kgen_status kgen_model_state_name(const kgen_model* model, int index, const char** name) {
  return guarded([&] {
    require_not_null(model, "model");
    require_not_null(name, "name");
    require_index(index, model->state_elements.size(), "state");
    *name = model->state_elements[static_cast<std::size_t>(index)].name.c_str();
  });
}

kgen_status kgen_model_state(kgen_model* model, int index, DLTensor* view) {
  return guarded([&] {
    require_not_null(model, "model");
    require_not_null(view, "view");
    require_index(index, model->state_elements.size(), "state");
    const kgen::StateElement& element = model->state_elements[static_cast<std::size_t>(index)];
    const kgen::StateInfo& state = model->graph.states[element.row];
    *view = DLTensor{};
    view->data = model->states.data(element.row, element.call);
    view->device = model->dlpack_device();
    view->ndim = static_cast<int>(state.shape.size());
    view->dtype = kgen::element_type_info(state.type).dlpack;
    view->shape = const_cast<std::int64_t*>(state.shape.data());  // DLTensor has no const form
  });
}

kgen_status kgen_model_reset_state(kgen_model* model) {
  return guarded([&] {
    require_not_null(model, "model");
    const kgen::DeviceScope scope = kgen::scope_of(*model);
    model->reset_state();
  });
}

// ---- profiling

kgen_status kgen_model_profile_start(kgen_model* model) {
  return guarded([&] {
    require_not_null(model, "model");
    model->profile.start();
  });
}

kgen_status kgen_model_profile_stop(kgen_model* model, const char* trace_path) {
  return guarded([&] {
    require_not_null(model, "model");
    const kgen::DeviceScope scope = kgen::scope_of(*model);
    model->profile.stop();
    if (trace_path != nullptr) model->profile.write_trace(trace_path);
  });
}

int kgen_model_profile_count(const kgen_model* model) {
  return model == nullptr ? 0 : static_cast<int>(model->profile.entries().size());
}

kgen_status kgen_model_profile_get(const kgen_model* model, int index, kgen_profile_entry* entry) {
  return guarded([&] {
    require_not_null(model, "model");
    require_not_null(entry, "entry");
    require_index(index, model->profile.entries().size(), "profile entry");
    *entry = model->profile.entries()[static_cast<std::size_t>(index)];
  });
}
