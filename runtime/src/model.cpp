#include "kgen/runtime/model.hpp"

#include "runtime/src/text.hpp"

namespace kgen {
namespace {

void require_ok(kgen_status status) {
  if (status != KGEN_OK) throw Error(status, kgen_last_error());
}

kgen_model* load(const kgen_graph* graph, const kgen_load_options& options) {
  kgen_model* model = nullptr;
  require_ok(kgen_model_load(graph, &options, &model));
  return model;
}

// DLTensors of tensors, and pointers to those.
template <class TensorPointer, class View>
struct DlpackArguments {
  explicit DlpackArguments(const std::vector<TensorPointer>& tensors) {
    views.reserve(tensors.size());
    for (const Tensor* tensor : tensors) pointers.push_back(&views.emplace_back(tensor->dlpack()));
  }
  std::vector<DLTensor> views;
  std::vector<View*> pointers;
};
using Inputs = DlpackArguments<const Tensor*, const DLTensor>;
using Outputs = DlpackArguments<Tensor*, DLTensor>;

}  // namespace

Model::Model(const kgen_graph* graph, const kgen_load_options& options) : model_(load(graph, options)) {}

const kgen_graph* Model::graph() const { return kgen_model_graph(get()); }

void Model::run(const std::vector<const Tensor*>& inputs, const std::vector<Tensor*>& outputs) {
  run(Inputs(inputs).pointers, Outputs(outputs).pointers);
}

void Model::run(const std::vector<const DLTensor*>& inputs, const std::vector<DLTensor*>& outputs) {
  require_ok(kgen_model_run(get(), inputs.data(), static_cast<int>(inputs.size()), outputs.data(),
                            static_cast<int>(outputs.size())));
}

void Model::run_on(StreamHandle stream, const std::vector<const Tensor*>& inputs, const std::vector<Tensor*>& outputs) {
  run_on(stream, Inputs(inputs).pointers, Outputs(outputs).pointers);
}

void Model::run_on(StreamHandle stream, const std::vector<const DLTensor*>& inputs,
                   const std::vector<DLTensor*>& outputs) {
  require_ok(kgen_model_run_on(get(), inputs.data(), static_cast<int>(inputs.size()), outputs.data(),
                               static_cast<int>(outputs.size()), stream));
}

DLDevice Model::device() const {
  DLDevice device{};
  require_ok(kgen_model_device(get(), &device));
  return device;
}

std::vector<std::string> Model::state_names() const {
  std::vector<std::string> names;
  for (int i = 0; i < kgen_model_state_count(get()); ++i) {
    const char* name = nullptr;
    require_ok(kgen_model_state_name(get(), i, &name));
    names.emplace_back(name);
  }
  return names;
}

DLTensor Model::state(std::string_view name) {
  const std::vector<std::string> names = state_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != name) continue;
    DLTensor view{};
    require_ok(kgen_model_state(get(), static_cast<int>(i), &view));
    return view;
  }
  fail(KGEN_INVALID_ARGUMENT, "there is no state '", name, "' in ", bracketed(std::span<const std::string>(names)));
}

void Model::reset_state() { require_ok(kgen_model_reset_state(get())); }

void Model::profile_start() { require_ok(kgen_model_profile_start(get())); }

void Model::profile_stop(const std::string& trace_path) {
  require_ok(kgen_model_profile_stop(get(), trace_path.empty() ? nullptr : trace_path.c_str()));
}

std::vector<kgen_profile_entry> Model::profile() const {
  std::vector<kgen_profile_entry> entries(static_cast<std::size_t>(kgen_model_profile_count(get())));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    require_ok(kgen_model_profile_get(get(), static_cast<int>(i), &entries[i]));
  }
  return entries;
}

}  // namespace kgen
