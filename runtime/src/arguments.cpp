#include "runtime/src/arguments.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "kgen/runtime/arena.hpp"
#include "runtime/src/text.hpp"

namespace kgen {
namespace {

std::span<const std::int64_t> shape_of(const DLTensor& tensor) {
  return {tensor.shape, static_cast<std::size_t>(tensor.ndim)};
}

bool is_empty(const DLTensor& tensor) { return std::ranges::count(shape_of(tensor), 0) > 0; }

// "f32", "f32 with 4 lanes", "complex64", or the numbers of another type that kgen does not have.
std::string dtype_text(DLDataType dtype) {
  const std::string lanes = dtype.lanes == 1 ? "" : concat(" with ", dtype.lanes, " lanes");
  DLDataType element = dtype;
  element.lanes = 1;
  for (int type = 0; type <= static_cast<int>(ElementType::boolean); ++type) {
    const ElementTypeInfo& info = element_type_info(static_cast<ElementType>(type));
    if (info.dlpack.code == element.code && info.dlpack.bits == element.bits) return info.name + lanes;
  }
  if (dtype.code == kDLComplex) return concat("complex", int{dtype.bits}, lanes);
  return concat("DLPack code ", int{dtype.code}, " of ", int{dtype.bits}, " bits", lanes);
}

std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);  // of an empty tensor: never zero, so that texts make sense
  }
  return strides;
}

// Offsets, in bytes, of the lowest and one past the highest byte, counted from the first element.
struct Reach {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

Reach reach_of(const Argument& argument) {
  const std::int64_t bits = element_type_info(argument.info.type).bits;
  const auto shape = shape_of(argument.tensor);
  if (is_empty(argument.tensor)) return {};
  Reach reach{0, bits};  // in bits, until the end
  const std::vector<std::int64_t> strides = strides_of(argument.tensor);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::int64_t distance = 0;
    std::int64_t& side = strides[axis] < 0 ? reach.low : reach.high;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &distance) ||
        __builtin_mul_overflow(distance, bits, &distance) || __builtin_add_overflow(side, distance, &side) ||
        side > std::numeric_limits<std::int64_t>::max() - 7) {
      fail(KGEN_TOO_LARGE, argument.name(), ": shape ", bracketed(shape), " with strides ",
           bracketed(std::span<const std::int64_t>(strides)), " spans more than 60 bits of memory");
    }
  }
  return {reach.low >> 3, (reach.high + 7) >> 3};
}

void require_shape_and_strides_given(const Argument& argument) {
  const DLTensor& tensor = argument.tensor;
  const auto expected_rank = static_cast<int>(argument.info.dims.size());
  if (tensor.ndim != expected_rank) {
    fail(KGEN_WRONG_RANK, argument.name(), ": the rank is ", tensor.ndim, ", expected ", expected_rank, " ",
         bracketed(std::span<const char* const>(argument.info.dims)));
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    fail(KGEN_INVALID_ARGUMENT, argument.name(), ": the shape pointer is null, expected ", tensor.ndim, " extents");
  }
  for (int axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] < 0) {
      fail(KGEN_WRONG_EXTENT, argument.name(), ": axis ", axis, " has the negative extent ", tensor.shape[axis]);
    }
  }
}

// The host reads pinned and managed memory too, and a GPU reads what is pinned or managed for it.
bool is_readable(DLDevice from, DLDevice device, const DeviceApi& api) {
  if (from.device_type == kDLCUDAManaged) return api.is_host || api.memory_type == kDLCUDA;
  if (api.is_host) {
    return from.device_type == kDLCPU || from.device_type == kDLCUDAHost || from.device_type == kDLROCMHost;
  }
  return from.device_type == api.pinned_type ||
         (from.device_type == device.device_type && from.device_id == device.device_id);
}

void require_device(const Argument& argument, DLDevice device, const DeviceApi& api) {
  const DLDevice found = argument.tensor.device;
  if (argument.info.on_host) {
    if (is_readable(found, {kDLCPU, 0}, cpu_device)) return;
    fail(KGEN_WRONG_DEVICE, argument.name(), ": the memory is on ", device_text(found),
         ", expected cpu: sizes are read from it");
  }
  if (is_readable(found, device, api)) return;
  fail(KGEN_WRONG_DEVICE, argument.name(), ": the memory is on ", device_text(found), ", expected ",
       device_text(device), ", where the model is");
}

bool is_number(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string dims_text(std::span<const BoundDim> dims) {
  std::string text;
  for (const BoundDim& dim : dims) text += concat(text.empty() ? " with " : ", ", dim.name, " = ", dim.value);
  return text;
}

}  // namespace

std::string Argument::name() const { return concat(role, " '", info.name, "'"); }

std::byte* Argument::data() const { return static_cast<std::byte*>(tensor.data) + tensor.byte_offset; }

void require_usable(const Argument& argument, DLDevice device, const DeviceApi& api) {
  const DLTensor& tensor = argument.tensor;
  const ElementTypeInfo& type = element_type_info(argument.info.type);
  require_device(argument, device, api);
  if (!accepts(argument.info.type, tensor.dtype)) {
    fail(KGEN_WRONG_DTYPE, argument.name(), ": the element type is ", dtype_text(tensor.dtype), ", expected ",
         type.name);
  }
  require_shape_and_strides_given(argument);
  if (is_empty(tensor)) return;
  const std::int64_t bytes = [&] {
    try {
      return checked_bytes(shape_of(tensor), argument.info.type);
    } catch (const Error& error) {
      fail(error.status(), argument.name(), ": ", error.what());
    }
  }();
  if (tensor.data == nullptr) {
    fail(KGEN_NULL_DATA, argument.name(), ": the data pointer is null, expected ", bytes, " bytes of ", type.name,
         bracketed(shape_of(tensor)));
  }
  if (reinterpret_cast<std::uintptr_t>(argument.data()) % static_cast<std::uintptr_t>(type.alignment()) != 0) {
    fail(KGEN_MISALIGNED, argument.name(), ": the data is not aligned to the ", type.alignment(), " bytes of ",
         type.name);
  }
  reach_of(argument);
}

void require_shape(const Argument& argument, std::span<const std::int64_t> shape, std::span<const BoundDim> dims) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t found = argument.tensor.shape[axis];
    if (found == shape[axis]) continue;
    const char* text = argument.info.dims[axis];
    if (is_number(text)) {
      fail(KGEN_WRONG_EXTENT, argument.name(), ": axis ", axis, " is ", found, ", expected ", shape[axis]);
    }
    fail(KGEN_DIM_INCONSISTENT, argument.name(), ": axis ", axis, " is ", found, ", expected ", text, " = ",
         shape[axis], dims_text(dims));
  }
}

std::int64_t fixed_count(const TensorInfo& info) {
  std::int64_t count = 1;
  for (const char* extent : info.dims) count *= std::atoll(extent);
  return count;
}

void require_dense(const Argument& argument) {
  if (argument.tensor.strides == nullptr || is_empty(argument.tensor)) return;
  const auto shape = shape_of(argument.tensor);
  const std::vector<std::int64_t> expected = dense_strides(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1 || argument.tensor.strides[axis] == expected[axis]) continue;
    const std::span<const std::int64_t> found(argument.tensor.strides, shape.size());
    fail(KGEN_WRONG_STRIDE, argument.name(), ": the strides are ", bracketed(found), ", expected ",
         bracketed(std::span<const std::int64_t>(expected)), " (dense row-major) for the shape ", bracketed(shape));
  }
}

std::vector<std::int64_t> strides_of(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return dense_strides(shape_of(tensor));
  return {tensor.strides, tensor.strides + tensor.ndim};
}

AddressRange address_range(const Argument& argument) {
  const Reach reach = reach_of(argument);
  const auto first = reinterpret_cast<std::uintptr_t>(argument.data());
  return {first + static_cast<std::uintptr_t>(reach.low), first + static_cast<std::uintptr_t>(reach.high)};
}

}  // namespace kgen
