// Python's tensors as DLPack's, without copies.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <iterator>
#include <string>
#include <vector>

#include "kgen_runtime.h"
#include "runtime/python/src/dlpack_protocol.hpp"

namespace kgen::python {

namespace nb = nanobind;

// What a graph declares of an input or output.
struct Parameter {
  std::string role;  // "input", "output"
  std::string name;
  std::string dtype_name;
  DLDataType dtype;
  std::vector<std::string> dims;
  bool strided;
  bool on_host;

  std::string type() const;   // "f32[M, 512]"
  std::string title() const;  // "input 'x' (f32[M, 512])"
};

// Who made a tensor, which then makes the outputs too: PyTorch, another framework with a table of C functions, or any other.
enum class Producer { none, numpy, torch, exchange, other };

// A tensor of Python's while a call reads or writes it. Keeps its memory alive; throws nb::python_error and nb::builtin
// exceptions that name the parameter.
class Borrowed {
 public:
  Borrowed() = default;
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed();

  void borrow(nb::handle object, const Parameter& parameter, bool writable);  // writable: of an output
  // A tensor that new_torch_tensor made.
  void borrow_new(nb::object object, const ExchangeApi& api);
  // Memory that is not yet a tensor of Python's.
  void adopt(ManagedTensorVersioned* managed);
  // That memory as a tensor of the framework that it was allocated by.
  nb::object release_to(const ExchangeApi& api);

  DLTensor tensor{};
  Producer producer = Producer::none;
  const ExchangeApi* api = nullptr;

 private:
  bool borrow_exchange(nb::handle object, const Parameter& parameter, bool writable);
  bool borrow_scalar(nb::handle object, const Parameter& parameter);
  void borrow_buffer(nb::handle object, const Parameter& parameter, bool writable);
  void borrow_array(nb::handle object, const Parameter& parameter, bool writable);
  void borrow_capsule(nb::handle object, const Parameter& parameter, bool writable);
  void use(const Py_buffer& buffer, DLDataType dtype, const Parameter& parameter);

  static constexpr int inline_rank = 8;
  std::int64_t extents_[2 * inline_rank];
  std::vector<std::int64_t> more_extents_;
  union {
    std::int64_t integer;
    double number;
    float single;
    bool boolean;
  } scalar_{};
  Py_buffer buffer_{};
  bool has_buffer_ = false;
  ManagedTensorVersioned* managed_ = nullptr;
  nb::object kept_;
};

// An object that is found at its first use, and kept. Without a lock: what finds it may let another thread run Python, which
// would come here and wait for the lock with the interpreter's in its hands.
template <class Find>
nb::handle found_once(std::atomic<PyObject*>& kept, Find find) {
  if (PyObject* object = kept.load(std::memory_order_acquire)) return object;
  nb::object found = find();
  PyObject* expected = nullptr;
  if (kept.compare_exchange_strong(expected, found.ptr(), std::memory_order_acq_rel)) return found.release();
  return expected;
}

nb::object tuple_of(const std::vector<std::int64_t>& numbers);

// A tensor of PyTorch's own allocator on a GPU, which knows the streams that its memory is used on (record_stream), as it does
// not of memory that comes by DLPack.
nb::object new_torch_tensor(const Parameter& parameter, const std::vector<std::int64_t>& shape, DLDevice device);

// The DLPack type of a NumPy dtype's name; code 255 where there is none.
DLDataType dtype_named(const std::string& name);
// NumPy's dtype for a DLPack type: one of ml_dtypes where NumPy has none itself.
nb::handle numpy_dtype(const Parameter& parameter);

}  // namespace kgen::python
