#include "runtime/python/src/model.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <utility>

#include "runtime/python/src/errors.hpp"

namespace kgen::python {
namespace {

// The threads of OpenMP do not come along where a process forks, and the next parallel loop would wait for them
// forever.
std::atomic<unsigned> forks = 0;
std::atomic<bool> threads_have_run = false;
std::atomic<bool> threads_are_lost = false;

void after_fork_in_child() {
  ++forks;
  if (threads_have_run) threads_are_lost = true;
}

void watch_forks() {
  static const int watched = pthread_atfork(nullptr, nullptr, after_fork_in_child);
  (void)watched;
}

constexpr const char* after_fork =
    "start processes with multiprocessing's 'spawn' or 'forkserver', or load models with threads=1 in each";

std::vector<Parameter> describe(const Library& library, const char* role, int count,
                                decltype(&kgen_graph_input) describe_one) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < count; ++i) {
    kgen_tensor_info info;
    library.require(describe_one(library.graph, i, &info));
    parameters.push_back({role,
                          info.name,
                          info.dtype_name,
                          info.dtype,
                          {info.dims, info.dims + info.rank},
                          info.strided != 0,
                          info.on_host != 0});
  }
  return parameters;
}

std::string names_of(const std::vector<Parameter>& parameters) {
  std::string text;
  for (const Parameter& parameter : parameters) text += (text.empty() ? "" : ", ") + parameter.name;
  return text;
}

[[noreturn]] void raise_type_error(const std::string& message) { throw nb::type_error(message.c_str()); }

bool is_host(DLDevice device) { return device.device_type == kDLCPU; }

// Of what sizes are read from: as many elements as can be read. The run says what is wrong with others.
std::int64_t readable_elements(const DLTensor& tensor) {
  const int device = tensor.device.device_type;
  const bool readable = device == kDLCPU || device == kDLCUDAHost || device == kDLROCMHost || device == kDLCUDAManaged;
  const bool is_whole = tensor.dtype.code == kDLInt && (tensor.dtype.bits == 64 || tensor.dtype.bits == 32);
  if (!readable || !is_whole || tensor.ndim > 1 || tensor.data == nullptr) return 0;
  return tensor.ndim == 0 ? 1 : tensor.shape[0];
}

// What the shapes of the outputs depend on, number by number, until visit(number) is false. Whether it never was.
template <class Visit>
bool visit_key(const std::vector<Parameter>& parameters, std::span<const DLTensor* const> inputs, Visit visit) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DLTensor& tensor = *inputs[i];
    if (!visit(tensor.ndim)) return false;
    for (int axis = 0; axis < tensor.ndim; ++axis) {
      if (!visit(tensor.shape[axis])) return false;
    }
    if (!parameters[i].on_host) continue;
    const std::int64_t bytes = tensor.dtype.bits / 8;
    const std::int64_t stride = tensor.strides == nullptr || tensor.ndim == 0 ? 1 : tensor.strides[0];
    for (std::int64_t element = 0, count = readable_elements(tensor); element < count; ++element) {
      std::int64_t value = 0;
      std::memcpy(&value, static_cast<const char*>(tensor.data) + tensor.byte_offset + element * stride * bytes,
                  static_cast<std::size_t>(bytes));
      if (!visit(value)) return false;
    }
  }
  return true;
}

// What PyTorch's allocator says of an error.
void note_error(void* context, const char*, const char* message) { *static_cast<std::string*>(context) = message; }

}  // namespace

Model::Model(std::shared_ptr<const Library> library, const std::string& weights_directory, int threads, bool check,
             int device, bool eager, bool synchronous)
    : library_(std::move(library)), threads_(threads), process_(forks) {
  watch_forks();
  if (threads_are_lost && threads != 1) {
    throw StatusError("KGEN_INVALID_ARGUMENT",
                      std::string("this process was forked from one that had run models: ") + after_fork);
  }
  inputs_ = describe(*library_, "input", library_->input_count(library_->graph), library_->input);
  outputs_ = describe(*library_, "output", library_->output_count(library_->graph), library_->output);
  const kgen_load_options options = {weights_directory.c_str(), threads, check, device, eager, synchronous};
  kgen_status status;
  {
    const nb::gil_scoped_release running;
    status = library_->load(library_->graph, &options, &model_);
  }
  library_->require(status);
  if (threads_ != 1) threads_have_run = true;
  library_->require(library_->device(model_, &device_));
}

Model::~Model() {
  if (process_ == forks) library_->free(model_);  // in a forked child the memory goes with the process
}

void Model::require_usable_here() const {
  if (process_ == forks) return;
  throw StatusError("KGEN_INVALID_ARGUMENT",
                    std::string("the model was loaded before this process was forked: ") + after_fork);
}

// ---- calls

nb::object Model::call(nb::args arguments, nb::kwargs keywords) {
  require_usable_here();
  alignas(std::max_align_t) std::byte room[4096];  // for what a call keeps, but where there are many tensors
  std::pmr::monotonic_buffer_resource memory(room, sizeof(room));
  std::pmr::vector<nb::handle> objects(inputs_.size(), &memory);
  nb::object out = nb::none();
  bind(arguments, keywords, objects, out);

  std::pmr::vector<Borrowed> tensors(inputs_.size(), &memory), results(outputs_.size(), &memory);
  std::pmr::vector<const DLTensor*> inputs(inputs_.size(), &memory);
  const Borrowed* first = nullptr;
  const Borrowed* first_of_sizes = nullptr;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    tensors[i].borrow(objects[i], inputs_[i], false);
    inputs[i] = &tensors[i].tensor;
    const Borrowed*& place = inputs_[i].on_host ? first_of_sizes : first;
    if (place == nullptr && tensors[i].producer != Producer::none) place = &tensors[i];
  }
  if (first == nullptr) first = first_of_sizes;

  std::pmr::vector<nb::object> made(outputs_.size(), &memory);
  std::pmr::vector<DLTensor*> outputs(outputs_.size(), &memory);
  if (out.is_none()) {
    const std::shared_ptr<const Shapes> shapes = shapes_of(inputs);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      made[i] = allocate(outputs_[i], shapes->outputs[i], first, results[i]);
    }
  } else {
    borrow_outputs(out, results);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) outputs[i] = &results[i].tensor;

  void* const stream = stream_of(first == nullptr && !out.is_none() ? results.data() : first);
  kgen_status status;
  {
    const nb::gil_scoped_release running;
    const std::lock_guard lock(run_mutex_);
    status = library_->run_on(model_, inputs.data(), static_cast<int>(inputs.size()), outputs.data(),
                             static_cast<int>(outputs.size()), stream);
  }
  library_->require(status);
  if (!out.is_none()) return out;
  const nb::handle like = first == nullptr ? nb::handle() : objects[static_cast<std::size_t>(first - tensors.data())];
  return finished(made, results, first, like);
}

nb::object Model::finished(std::span<nb::object> made, std::span<Borrowed> results, const Borrowed* first,
                           nb::handle first_object) const {
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i].is_valid()) {
      made[i] = results[i].release_to(*first->api);
    } else if (first != nullptr && first->producer == Producer::other) {
      made[i] = nb::module_::import_("kgen._frameworks").attr("from_numpy")(made[i], first_object);
    }
  }
  if (made.size() == 1) return made[0];
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(made.size())));
  if (!tuple.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < made.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), made[i].release().ptr());
  }
  return tuple;
}

double Model::time_interface(nb::sequence inputs, nb::sequence outputs, int count) {
  if (nb::len(inputs) != inputs_.size()) raise_type_error("expected the inputs " + names_of(inputs_));
  std::vector<Borrowed> tensors(inputs_.size()), results(outputs_.size());
  std::vector<const DLTensor*> in;
  std::vector<DLTensor*> out;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const nb::object item = inputs[i];
    tensors[i].borrow(item, inputs_[i], false);
    in.push_back(&tensors[i].tensor);
  }
  borrow_outputs(outputs, results);
  for (Borrowed& result : results) out.push_back(&result.tensor);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    library_->require(library_->run_on(model_, in.data(), static_cast<int>(in.size()), out.data(),
                                     static_cast<int>(out.size()), nullptr));
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / count;
}

void Model::bind(nb::args arguments, nb::kwargs keywords, std::span<nb::handle> inputs, nb::object& out) const {
  if (arguments.size() > inputs.size()) {
    raise_type_error(std::to_string(arguments.size()) + " inputs were passed, expected " +
                     std::to_string(inputs.size()) + ": " + names_of(inputs_));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) inputs[i] = arguments[i];
  for (auto [key, value] : keywords) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "out") {  // also where an input is called so
      out = nb::borrow(value);
      continue;
    }
    std::size_t place = 0;
    while (place < inputs_.size() && inputs_[place].name != name) ++place;
    if (place == inputs_.size()) raise_type_error("there is no input '" + name + "'; there are: " + names_of(inputs_));
    if (inputs[place].is_valid()) raise_type_error("input '" + name + "' was passed twice");
    inputs[place] = value;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_valid()) continue;
    const std::string& name = inputs_[i].name;
    raise_type_error("input '" + name + "' is missing" +
                     (name == "out" ? "; pass it by position: the keyword 'out' is for outputs" : ""));
  }
}

void Model::borrow_outputs(nb::handle out, std::span<Borrowed> tensors) const {
  if (!nb::isinstance<nb::tuple>(out) && !nb::isinstance<nb::list>(out)) {
    if (tensors.size() != 1) {
      raise_type_error("out is one tensor, expected a tuple of " + std::to_string(tensors.size()) + ": " +
                       names_of(outputs_));
    }
    return tensors[0].borrow(out, outputs_[0], true);
  }
  if (nb::len(out) != tensors.size()) {
    raise_type_error("out has " + std::to_string(nb::len(out)) + " tensors, expected " +
                     std::to_string(tensors.size()) + ": " + names_of(outputs_));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const nb::object item = out[i];
    tensors[i].borrow(item, outputs_[i], true);
  }
}

bool Model::is_key_of(const std::vector<std::int64_t>& key, Inputs inputs) const {
  std::size_t place = 0;
  return visit_key(inputs_, inputs, [&](std::int64_t each) { return place < key.size() && key[place++] == each; }) &&
         place == key.size();
}

std::shared_ptr<const Model::Shapes> Model::shapes_of(Inputs inputs) {
  std::shared_ptr<const Shapes> last;
  {
    const std::lock_guard lock(shapes_mutex_);
    last = shapes_;
  }
  if (last != nullptr && is_key_of(last->key, inputs)) return last;
  auto shapes = std::make_shared<Shapes>();
  visit_key(inputs_, inputs, [&](std::int64_t each) {
    shapes->key.push_back(each);
    return true;
  });
  std::vector<std::int64_t*> places;
  for (const Parameter& output : outputs_) shapes->outputs.emplace_back(output.dims.size());
  for (auto& shape : shapes->outputs) places.push_back(shape.data());
  kgen_status status;
  {
    const nb::gil_scoped_release asking;
    const std::lock_guard lock(run_mutex_);
    status = library_->output_shapes(model_, inputs.data(), static_cast<int>(inputs.size()), places.data(),
                                    static_cast<int>(places.size()));
  }
  library_->require(status);
  const std::lock_guard lock(shapes_mutex_);
  shapes_ = shapes;
  return shapes;
}

// Of a framework with a table of C functions memory that becomes its tensor after the run; else the tensor itself.
nb::object Model::allocate(const Parameter& parameter, const std::vector<std::int64_t>& shape, const Borrowed* first,
                           Borrowed& tensor) const {
  const auto cannot = [&](const std::string& why) {
    return StatusError("KGEN_OUT_OF_MEMORY", parameter.title() + ": it cannot be allocated: " + why);
  };
  if (first != nullptr && first->producer == Producer::torch && !is_host(device_)) {
    try {
      nb::object made = new_torch_tensor(parameter, shape, device_);
      tensor.borrow_new(made, *first->api);
      return made;
    } catch (nb::python_error& error) {
      throw cannot(nb::cast<std::string>(nb::str(error.value())));
    }
  }
  if (first != nullptr && (first->producer == Producer::torch || first->producer == Producer::exchange)) {
    DLTensor prototype{};
    prototype.device = device_;
    prototype.ndim = static_cast<int>(shape.size());
    prototype.dtype = parameter.dtype;
    prototype.shape = const_cast<std::int64_t*>(shape.data());  // DLTensor has no const form
    ManagedTensorVersioned* managed = nullptr;
    std::string message;
    if (first->api->allocate(&prototype, &managed, &message, note_error) != 0) {
      if (PyErr_Occurred() != nullptr) PyErr_Clear();
      throw cannot(message);
    }
    tensor.adopt(managed);
    return {};
  }
  if (!is_host(device_)) {
    throw StatusError("KGEN_WRONG_DEVICE", parameter.title() +
                                               ": memory of the GPU is allocated by PyTorch alone; "
                                               "give the output with out=");
  }
  static std::atomic<PyObject*> empty;
  const auto find = []() -> nb::object { return nb::module_::import_("numpy").attr("empty"); };
  nb::object array = found_once(empty, find)(tuple_of(shape), numpy_dtype(parameter));
  tensor.borrow(array, parameter, true);
  return array;
}

// The stream on which the framework of the tensors works now.
void* Model::stream_of(const Borrowed* first) const {
  if (is_host(device_) || first == nullptr || first->api == nullptr) return nullptr;
  void* stream = nullptr;
  if (first->api->current_stream(device_.device_type, device_.device_id, &stream) != 0) throw nb::python_error();
  return stream;
}

// ---- state

std::vector<std::string> Model::state_names() const {
  std::vector<std::string> names;
  for (int i = 0; i < library_->state_count(model_); ++i) {
    const char* name = nullptr;
    library_->require(library_->state_name(model_, i, &name));
    names.emplace_back(name);
  }
  return names;
}

DLTensor Model::state_view(const std::string& name) {
  require_usable_here();
  const std::vector<std::string> names = state_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != name) continue;
    DLTensor view{};
    library_->require(library_->state(model_, static_cast<int>(i), &view));
    return view;
  }
  throw nb::key_error(name.c_str());
}

nb::object Model::state_capsule(const std::string& name, nb::handle owner) {
  auto* managed = new DLManagedTensor{state_view(name), owner.inc_ref().ptr(), [](DLManagedTensor* self) {
                                        const nb::gil_scoped_acquire acquired;
                                        Py_DECREF(static_cast<PyObject*>(self->manager_ctx));
                                        delete self;
                                      }};
  PyObject* capsule = PyCapsule_New(managed, "dltensor", [](PyObject* object) {
    if (PyCapsule_IsValid(object, "dltensor") == 0) return;  // its consumer has it
    auto* unused = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(object, "dltensor"));
    unused->deleter(unused);
  });
  if (capsule == nullptr) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

std::string Model::state_dtype(const std::string& name) {
  Parameter parameter{"state", name, "", state_view(name).dtype, {}, false, false};
  return nb::cast<std::string>(numpy_dtype(parameter).attr("name"));
}

std::vector<std::int64_t> Model::state_shape(const std::string& name) {
  const DLTensor view = state_view(name);
  return {view.shape, view.shape + view.ndim};
}

std::tuple<std::size_t, std::size_t> Model::state_memory(const std::string& name) {
  const DLTensor view = state_view(name);
  std::size_t bytes = view.dtype.bits / 8;
  for (int axis = 0; axis < view.ndim; ++axis) bytes *= static_cast<std::size_t>(view.shape[axis]);
  return {reinterpret_cast<std::size_t>(view.data), bytes};
}

void Model::reset_state() {
  require_usable_here();
  const nb::gil_scoped_release running;
  const std::lock_guard lock(run_mutex_);
  library_->require(library_->reset_state(model_));
}

// ---- profile

void Model::profile_start() {
  require_usable_here();
  const nb::gil_scoped_release running;
  const std::lock_guard lock(run_mutex_);
  library_->require(library_->profile_start(model_));
}

void Model::profile_stop(const std::string& trace_path) {
  require_usable_here();
  const nb::gil_scoped_release running;
  const std::lock_guard lock(run_mutex_);
  library_->require(library_->profile_stop(model_, trace_path.empty() ? nullptr : trace_path.c_str()));
}

std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> Model::profile() {
  const nb::gil_scoped_release reading;
  const std::lock_guard lock(run_mutex_);
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> rows;
  for (int i = 0; i < library_->profile_count(model_); ++i) {
    kgen_profile_entry entry;
    library_->require(library_->profile_get(model_, i, &entry));
    rows.emplace_back(entry.name, entry.count, entry.total_ns);
  }
  return rows;
}

}  // namespace kgen::python
