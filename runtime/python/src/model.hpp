// A model of the C ABI, for Python to call.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/python/src/library.hpp"
#include "runtime/python/src/tensor.hpp"

namespace kgen::python {

// Calls of one model follow each other, from whatever thread they come; the interpreter runs on meanwhile. All
// functions throw StatusError, or exceptions of Python's that name the argument.
class Model {
 public:
  Model(std::shared_ptr<const Library> library, const std::string& weights_directory, int threads, bool check,
        int device, bool eager, bool synchronous);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // The outputs, one or a tuple: new ones of the framework of the first tensor, or those in the keyword `out`.
  nb::object call(nb::args arguments, nb::kwargs keywords);

  // Nanoseconds of one call of the C ABI with these tensors, the mean of `count`: what a call from Python is compared
  // with.
  double time_interface(nb::sequence inputs, nb::sequence outputs, int count);

  const std::vector<Parameter>& inputs() const { return inputs_; }
  const std::vector<Parameter>& outputs() const { return outputs_; }
  DLDevice device() const { return device_; }

  std::vector<std::string> state_names() const;
  // A capsule of DLPack, which keeps `owner`, this model, alive.
  nb::object state_capsule(const std::string& name, nb::handle owner);
  // The address and the bytes.
  std::tuple<std::size_t, std::size_t> state_memory(const std::string& name);
  std::string state_dtype(const std::string& name);
  std::vector<std::int64_t> state_shape(const std::string& name);
  void reset_state();

  void profile_start();
  void profile_stop(const std::string& trace_path);
  // (name, count, nanoseconds) of each stub, and of whole runs under the graph's name.
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> profile();

 private:
  // The shapes of the outputs for shapes of the inputs, and values of those that sizes are read from.
  struct Shapes {
    std::vector<std::int64_t> key;
    std::vector<std::vector<std::int64_t>> outputs;
  };
  using Inputs = std::span<const DLTensor* const>;

  void bind(nb::args arguments, nb::kwargs keywords, std::span<nb::handle> inputs, nb::object& out) const;
  void borrow_outputs(nb::handle out, std::span<Borrowed> tensors) const;
  bool is_key_of(const std::vector<std::int64_t>& key, Inputs inputs) const;
  std::shared_ptr<const Shapes> shapes_of(Inputs inputs);
  nb::object allocate(const Parameter& parameter, const std::vector<std::int64_t>& shape, const Borrowed* first,
                      Borrowed& tensor) const;
  // The new outputs `made`, or where there is none the tensor that its memory becomes; one, or a tuple.
  nb::object finished(std::span<nb::object> made, std::span<Borrowed> results, const Borrowed* first,
                      nb::handle first_object) const;
  void* stream_of(const Borrowed* first) const;
  void require_usable_here() const;
  DLTensor state_view(const std::string& name);

  std::shared_ptr<const Library> library_;
  kgen_model* model_ = nullptr;
  std::vector<Parameter> inputs_;
  std::vector<Parameter> outputs_;
  DLDevice device_{};
  int threads_;
  unsigned process_;  // counts forks
  std::mutex run_mutex_;
  std::mutex shapes_mutex_;
  std::shared_ptr<const Shapes> shapes_;  // of the last call
};

}  // namespace kgen::python
