#include "runtime/python/src/tensor.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace kgen::python {

using namespace nb::literals;

namespace {

struct NamedType {
  const char* name;  // NumPy's, and ml_dtypes'
  DLDataType dtype;
};
constexpr NamedType named_types[] = {
    {"float64", {kDLFloat, 64, 1}},
    {"float32", {kDLFloat, 32, 1}},
    {"float16", {kDLFloat, 16, 1}},
    {"bfloat16", {kDLBfloat, 16, 1}},
    {"float8_e4m3fn", {KGEN_DL_FLOAT8_E4M3FN, 8, 1}},
    {"float8_e4m3fnuz", {KGEN_DL_FLOAT8_E4M3FNUZ, 8, 1}},
    {"float8_e5m2", {KGEN_DL_FLOAT8_E5M2, 8, 1}},
    {"float8_e5m2fnuz", {KGEN_DL_FLOAT8_E5M2FNUZ, 8, 1}},
    {"float8_e8m0fnu", {KGEN_DL_FLOAT8_E8M0FNU, 8, 1}},
    {"int8", {kDLInt, 8, 1}},
    {"int16", {kDLInt, 16, 1}},
    {"int32", {kDLInt, 32, 1}},
    {"int64", {kDLInt, 64, 1}},
    {"uint8", {kDLUInt, 8, 1}},
    {"uint16", {kDLUInt, 16, 1}},
    {"uint32", {kDLUInt, 32, 1}},
    {"uint64", {kDLUInt, 64, 1}},
    {"bool", {KGEN_DL_BOOL, 8, 1}},
};

bool equal(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

// Of a buffer's format, which has one letter for a plain number of this machine's byte order; else code 255.
DLDataType dtype_of_format(const char* format, Py_ssize_t item_size) {
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const auto bits = static_cast<std::uint8_t>(item_size * 8);
  if (format[0] == 0 || format[1] != 0) return {255, 0, 0};
  if (format[0] == '?') return {KGEN_DL_BOOL, 8, 1};
  if (std::strchr("bhilqn", format[0]) != nullptr) return {kDLInt, bits, 1};
  if (std::strchr("BHILQN", format[0]) != nullptr) return {kDLUInt, bits, 1};
  if (std::strchr("efd", format[0]) != nullptr) return {kDLFloat, bits, 1};
  return {255, 0, 0};
}

std::string class_name(nb::handle object) { return nb::type_name(object.type()).c_str(); }

[[noreturn]] void refuse(const Parameter& parameter, const std::string& what) {
  throw nb::type_error((parameter.title() + ": " + what).c_str());
}

// What Python raised, with the parameter before it; interrupts stay what they are.
[[noreturn]] void refuse_raised(const Parameter& parameter, nb::python_error& error) {
  if (!error.matches(PyExc_Exception)) throw nb::python_error(error);
  const std::string said = nb::str(error.value()).c_str();
  const std::string message = parameter.title() + ": " + said.substr(0, said.find('\n'));  // behind it PyTorch's own stack
  nb::raise_from(error, PyExc_TypeError, "%s", message.c_str());
  throw nb::python_error();
}

// What else it raises than that it has none says why it is no tensor: a weak reference to one that was freed.
bool has_dlpack(nb::handle object, const Parameter& parameter) {
  const nb::object method = nb::steal(PyObject_GetAttrString(object.ptr(), "__dlpack__"));
  if (method.is_valid()) return true;
  nb::python_error error;
  if (!error.matches(PyExc_AttributeError)) refuse_raised(parameter, error);
  return false;
}

// PyTorch's tensors, and those of classes that derive from it, as Parameter.
bool is_torch_type(nb::handle type) {
  const nb::object torch = nb::steal(PyImport_GetModule(nb::str("torch").ptr()));  // there where a tensor of it is
  if (!torch.is_valid()) {
    PyErr_Clear();
    return false;
  }
  const nb::object tensor = nb::getattr(torch, "Tensor", nb::none());
  return PyType_Check(tensor.ptr()) != 0 && PyObject_IsSubclass(type.ptr(), tensor.ptr()) == 1;
}

struct ExchangeEntry {
  PyObject* type;
  const ExchangeApi* api;
  bool is_torch;
};

// The table of a type, found once for each type. Types that are looked up are kept.
ExchangeEntry exchange_entry_of(nb::handle type) {
  static std::mutex mutex;
  static std::vector<ExchangeEntry>* const entries = new std::vector<ExchangeEntry>();  // outlives the interpreter
  {
    const std::lock_guard lock(mutex);
    for (const ExchangeEntry& entry : *entries) {
      if (entry.type == type.ptr()) return entry;
    }
  }
  const ExchangeApi* api = nullptr;
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_CheckExact(capsule.ptr())) {
    api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (api == nullptr) PyErr_Clear();
    if (api != nullptr && (api->version.major != 1 || api->tensor_from_object == nullptr)) api = nullptr;
  }
  const ExchangeEntry found = {type.inc_ref().ptr(), api, is_torch_type(type)};
  const std::lock_guard lock(mutex);
  entries->push_back(found);
  return found;
}

nb::handle interned_once(std::atomic<PyObject*>& kept, const char* text) {
  return found_once(kept, [&] { return nb::steal(PyUnicode_InternFromString(text)); });
}

bool is_true_attribute(nb::handle object, nb::handle name) {
  PyObject* value = PyObject_GetAttr(object.ptr(), name.ptr());
  if (value == nullptr) {
    PyErr_Clear();
    return false;
  }
  const bool result = value == Py_True;
  Py_DECREF(value);
  return result;
}

// What PyTorch's own __dlpack__ asks of a tensor, which its table of C functions does not.
void require_plain_torch(nb::handle tensor, const Parameter& parameter) {
  static std::atomic<PyObject*> requires_grad, is_grad_enabled, is_neg;
  if (is_true_attribute(tensor, interned_once(requires_grad, "requires_grad"))) {
    const auto find = []() -> nb::object { return nb::module_::import_("torch").attr("is_grad_enabled"); };
    if (nb::cast<bool>(found_once(is_grad_enabled, find)())) {
      refuse(parameter,
             "the tensor requires a gradient, and kgen computes none; pass x.detach(), or call under "
             "torch.no_grad()");
    }
  }
  PyObject* argument = tensor.ptr();  // the method: torch.is_neg(x) takes twice as long
  const nb::object negative =
      nb::steal(PyObject_VectorcallMethod(interned_once(is_neg, "is_neg").ptr(), &argument, 1, nullptr));
  if (!negative.is_valid()) {
    nb::python_error error;
    refuse_raised(parameter, error);
  }
  if (negative.is(nb::handle(Py_True))) {
    refuse(parameter, "the tensor is a negated view, whose memory holds other numbers; pass x.resolve_neg()");
  }
}

// Of a tensor that PyTorch cannot give away: where its elements are not one block of memory, how to get such a block.
void refuse_memory(nb::handle tensor, const Parameter& parameter) {
  if (is_true_attribute(tensor, nb::str("is_nested"))) {
    refuse(parameter,
           "the tensor is nested, expected one of a single shape; pass torch.nested.to_padded_tensor(x, 0.0)");
  }
  const std::string layout = nb::str(nb::getattr(tensor, "layout", nb::str("torch.strided"))).c_str();
  if (layout != "torch.strided") {
    refuse(parameter, "the layout is " + layout + ", expected torch.strided; pass x.to_dense()");
  }
  if (is_true_attribute(tensor, nb::str("is_quantized"))) {
    refuse(parameter, "the tensor is quantized by PyTorch; pass x.int_repr(), or x.dequantize()");
  }
  if (is_true_attribute(tensor, nb::str("is_meta"))) {
    refuse(parameter, "the tensor is on the device 'meta', which has no memory");
  }
}

// The first of the two numbers that __dlpack_device__ gives.
long device_type_of(nb::handle object, const Parameter& parameter) {
  const nb::object device = object.attr("__dlpack_device__")();
  const bool is_pair = nb::isinstance<nb::tuple>(device) && nb::len(device) == 2;
  const nb::object number = nb::steal(is_pair ? PyNumber_Index(nb::object(device[0]).ptr()) : nullptr);
  const long type = number.is_valid() ? PyLong_AsLong(number.ptr()) : -1;
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  if (!number.is_valid()) refuse(parameter, "__dlpack_device__ gave no pair of numbers");
  return type;
}

// That whoever made a capsule by hand filled in what is read of it before the runtime compares it with the graph.
void require_shape(const DLTensor& tensor, const Parameter& parameter) {
  constexpr int greatest_rank = 64;  // NumPy's and PyTorch's
  if (tensor.ndim < 0 || tensor.ndim > greatest_rank) {
    refuse(parameter, "__dlpack__ gave a tensor of the rank " + std::to_string(tensor.ndim));
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) refuse(parameter, "__dlpack__ gave a tensor without a shape");
}

// Whether nothing may write to the framework's tensors, of which their capsules say nothing.
bool is_immutable(nb::handle object) {
  const std::string module = nb::cast<std::string>(nb::str(nb::getattr(object.type(), "__module__", nb::str(""))));
  const std::string framework = module.substr(0, module.find('.'));
  return framework == "jax" || framework == "jaxlib" || framework == "tensorflow";
}

bool is_numpy_array(nb::handle object) {
  static std::atomic<PyObject*> type;
  const auto find = []() -> nb::object { return nb::module_::import_("numpy").attr("ndarray"); };
  return object.type().ptr() == found_once(type, find).ptr();
}

// Whether some of its numbers do not count, which nothing but NumPy knows.
bool is_masked_array(nb::handle object) { return nb::hasattr(object, "filled") && nb::hasattr(object, "mask"); }

}  // namespace

nb::object tuple_of(const std::vector<std::int64_t>& numbers) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  if (!tuple.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  }
  return tuple;
}

nb::object new_torch_tensor(const Parameter& parameter, const std::vector<std::int64_t>& shape, DLDevice device) {
  static std::atomic<PyObject*> dtypes[std::size(named_types)], quick, empty;
  const auto torch = [](const char* name) -> nb::object { return nb::module_::import_("torch").attr(name); };
  nb::handle dtype;
  for (std::size_t i = 0; i < std::size(named_types); ++i) {
    if (!equal(named_types[i].dtype, parameter.dtype)) continue;
    dtype = found_once(dtypes[i], [&] { return torch(named_types[i].name); });
  }
  if (!dtype.is_valid()) refuse(parameter, "PyTorch has no such type; give the output with out=");
  const nb::object extents = tuple_of(shape);
  // What PyTorch's own compiled code calls: on the current device, in a third of the time.
  const nb::handle allocate = found_once(quick, [&]() -> nb::object {
    nb::object module = torch("_C");
    for (const char* name : {"_dynamo", "guards", "_empty_strided_cuda"}) module = nb::getattr(module, name, nb::none());
    return module;
  });
  if (!allocate.is_none()) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t axis = shape.size(); axis-- > 1;) {
      strides[axis - 1] = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
    }
    nb::object made = allocate(extents, tuple_of(strides), dtype);
    if (nb::cast<int>(made.attr("get_device")()) == device.device_id) return made;
  }
  const nb::object place = torch("device")("cuda", device.device_id);
  return found_once(empty, [&] { return torch("empty"); })(extents, "dtype"_a = dtype, "device"_a = place);
}

DLDataType dtype_named(const std::string& name) {
  for (const NamedType& type : named_types) {
    if (name == type.name) return type.dtype;
  }
  return {255, 0, 0};
}

nb::handle numpy_dtype(const Parameter& parameter) {
  static std::atomic<PyObject*> dtypes[std::size(named_types)];
  for (std::size_t i = 0; i < std::size(named_types); ++i) {
    if (!equal(named_types[i].dtype, parameter.dtype)) continue;
    return found_once(dtypes[i], [&]() -> nb::object {
      const nb::module_ numpy = nb::module_::import_("numpy");
      const bool is_own = nb::hasattr(numpy, named_types[i].name);
      const nb::module_ module = is_own ? numpy : nb::module_::import_("ml_dtypes");
      return numpy.attr("dtype")(module.attr(named_types[i].name));
    });
  }
  refuse(parameter, "NumPy has no such type; give the output with out=");
}

std::string Parameter::type() const {
  std::string text = dtype_name + "[";
  for (const std::string& dim : dims) text += (text.back() == '[' ? "" : ", ") + dim;
  return text + "]";
}

std::string Parameter::title() const { return role + " '" + name + "' (" + type() + ")"; }

Borrowed::~Borrowed() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
}

void Borrowed::borrow(nb::handle object, const Parameter& parameter, bool writable) {
  if (is_numpy_array(object)) {
    producer = Producer::numpy;
    return borrow_array(object, parameter, writable);
  }
  if (borrow_exchange(object, parameter, writable)) return;
  if (!writable && borrow_scalar(object, parameter)) return;
  if (is_masked_array(object)) {
    refuse(parameter, "the array is masked; pass x.filled(number), or x.data for all numbers");
  }
  if (has_dlpack(object, parameter)) return borrow_capsule(object, parameter, writable);
  if (PyObject_CheckBuffer(object.ptr()) != 0) {
    producer = Producer::numpy;
    return borrow_buffer(object, parameter, writable);
  }
  refuse(parameter, class_name(object) +
                        " is no tensor; pass a NumPy array, a PyTorch tensor, or anything that has "
                        "__dlpack__");
}

bool Borrowed::borrow_exchange(nb::handle object, const Parameter& parameter, bool) {
  const ExchangeEntry found = exchange_entry_of(object.type());
  if (found.api == nullptr) return false;
  if (found.is_torch) require_plain_torch(object, parameter);
  if (found.api->tensor_from_object(object.ptr(), &tensor) != 0) {
    nb::python_error error;
    refuse_memory(object, parameter);
    refuse_raised(parameter, error);
  }
  kept_ = nb::borrow(object);
  producer = found.is_torch ? Producer::torch : Producer::exchange;
  api = found.api;
  return true;
}

// A number of Python's, where the graph wants a scalar.
bool Borrowed::borrow_scalar(nb::handle object, const Parameter& parameter) {
  const bool is_bool = PyBool_Check(object.ptr()) != 0;
  const bool is_integer = PyLong_Check(object.ptr()) != 0;
  const bool is_float = PyFloat_Check(object.ptr()) != 0;
  if (!is_integer && !is_float) return false;
  if (!parameter.dims.empty()) refuse(parameter, "a number was passed, expected a tensor");
  const auto number = [&] {
    const double value = PyFloat_AsDouble(object.ptr());
    if (PyErr_Occurred() != nullptr) {  // an integer beyond every float
      nb::python_error error;
      refuse_raised(parameter, error);
    }
    return value;
  };
  tensor = {};
  tensor.data = &scalar_;
  tensor.device = {kDLCPU, 0};
  tensor.dtype = parameter.dtype;
  const DLDataType dtype = parameter.dtype;
  if (dtype.code == kDLInt && dtype.bits == 64 && is_integer && !is_bool) {
    scalar_.integer = PyLong_AsLongLong(object.ptr());
    if (scalar_.integer == -1 && PyErr_Occurred() != nullptr) {
      nb::python_error error;
      refuse_raised(parameter, error);
    }
  } else if (dtype.code == kDLFloat && dtype.bits == 64 && !is_bool) {
    scalar_.number = number();
  } else if (dtype.code == kDLFloat && dtype.bits == 32 && !is_bool) {
    scalar_.single = static_cast<float>(number());
  } else if (dtype.code == KGEN_DL_BOOL && is_bool) {
    scalar_.boolean = object.ptr() == Py_True;
  } else {
    refuse(parameter, class_name(object) + " is no number of this type; pass a tensor");
  }
  return true;
}

void Borrowed::borrow_buffer(nb::handle object, const Parameter& parameter, bool writable) {
  const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &buffer_, flags) != 0) {
    nb::python_error error;
    refuse_raised(parameter, error);
  }
  has_buffer_ = true;
  const char* format = buffer_.format == nullptr ? "B" : buffer_.format;
  const DLDataType dtype = dtype_of_format(format, buffer_.itemsize);
  if (dtype.code == 255) refuse(parameter, std::string("the elements are of the type '") + format + "'");
  use(buffer_, dtype, parameter);
}

// NumPy's arrays, those of ml_dtypes' types too, which have no buffer of their own type.
void Borrowed::borrow_array(nb::handle object, const Parameter& parameter, bool writable) {
  if (parameter.dtype.code == kDLInt || parameter.dtype.code == kDLUInt || parameter.dtype.code == KGEN_DL_BOOL ||
      parameter.dtype.code == kDLFloat) {
    return borrow_buffer(object, parameter, writable);
  }
  const std::string name = nb::cast<std::string>(object.attr("dtype").attr("name"), false);
  const DLDataType dtype = dtype_named(name);
  if (dtype.code == 255) refuse(parameter, "the elements are of the type '" + name + "'");
  kept_ = object.attr("view")(dtype.bits == 16 ? "u2" : dtype.bits == 8 ? "u1" : dtype.bits == 32 ? "u4" : "u8");
  borrow_buffer(kept_, parameter, writable);
  tensor.dtype = dtype;
}

void Borrowed::use(const Py_buffer& buffer, DLDataType dtype, const Parameter& parameter) {
  const int rank = buffer.ndim;
  std::int64_t* shape = extents_;
  if (rank > inline_rank) {
    more_extents_.resize(2 * static_cast<std::size_t>(rank));
    shape = more_extents_.data();
  }
  std::int64_t* strides = shape + rank;
  for (int axis = 0; axis < rank; ++axis) {
    shape[axis] = buffer.shape[axis];
    if (buffer.strides[axis] % buffer.itemsize != 0) {
      refuse(parameter, "axis " + std::to_string(axis) + " has a stride of " + std::to_string(buffer.strides[axis]) +
                            " bytes, which is no whole number of elements");
    }
    strides[axis] = buffer.strides[axis] / buffer.itemsize;
  }
  tensor = {};
  tensor.data = buffer.buf;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = rank;
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.strides = strides;
}

// What anything else has: capsules, as the Python specification of DLPack says.
void Borrowed::borrow_capsule(nb::handle object, const Parameter& parameter, bool writable) {
  if (writable && is_immutable(object)) {
    refuse(parameter, "the framework's tensors (" + class_name(object) + ") never change; call without out=");
  }
  try {
    nb::dict arguments;
    const long type = device_type_of(object, parameter);
    if (type == kDLCUDA) arguments["stream"] = 1;  // the legacy default stream, on which the call then runs
    if (type == kDLROCM) arguments["stream"] = 0;
    arguments["max_version"] = nb::make_tuple(1, 3);
    if (writable) arguments["copy"] = false;
    try {
      kept_ = object.attr("__dlpack__")(**arguments);
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      PyDict_DelItemString(arguments.ptr(), "max_version");
      if (writable) PyDict_DelItemString(arguments.ptr(), "copy");
      kept_ = object.attr("__dlpack__")(**arguments);
    }
  } catch (nb::python_error& error) {
    refuse_raised(parameter, error);
  }
  producer = Producer::other;
  if (PyCapsule_IsValid(kept_.ptr(), "dltensor_versioned") != 0) {
    const auto* managed = static_cast<ManagedTensorVersioned*>(PyCapsule_GetPointer(kept_.ptr(), "dltensor_versioned"));
    if (managed->version.major != 1) refuse(parameter, "DLPack of version " + std::to_string(managed->version.major));
    if (writable && (managed->flags & flag_read_only) != 0) refuse(parameter, "the tensor is read-only");
    if (writable && (managed->flags & flag_is_copied) != 0) refuse(parameter, "the tensor was copied on its way");
    tensor = managed->tensor;
  } else if (PyCapsule_IsValid(kept_.ptr(), "dltensor") != 0) {
    tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(kept_.ptr(), "dltensor"))->dl_tensor;
  } else {
    refuse(parameter, "__dlpack__ gave no capsule of a tensor");
  }
  require_shape(tensor, parameter);
}

void Borrowed::borrow_new(nb::object object, const ExchangeApi& exchange) {
  if (exchange.tensor_from_object(object.ptr(), &tensor) != 0) throw nb::python_error();
  kept_ = std::move(object);
  producer = Producer::torch;
  api = &exchange;
}

void Borrowed::adopt(ManagedTensorVersioned* managed) {
  managed_ = managed;
  tensor = managed->tensor;
}

nb::object Borrowed::release_to(const ExchangeApi& exchange) {
  void* object = nullptr;
  ManagedTensorVersioned* managed = std::exchange(managed_, nullptr);
  if (exchange.managed_to_object(managed, &object) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(object));
}

}  // namespace kgen::python
