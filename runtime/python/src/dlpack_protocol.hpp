// What DLPack has beyond the <dlpack/dlpack.h> 0.6 that kgen_runtime.h is written on: versioned capsules (1.0), and the
// table of C functions by which a framework's tensors are taken and made without a call of Python (1.3).
// https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>

namespace kgen::python {

struct PackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

inline constexpr std::uint64_t flag_read_only = 1;
inline constexpr std::uint64_t flag_is_copied = 2;

// The content of a capsule "dltensor_versioned".
struct ManagedTensorVersioned {
  PackVersion version;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor tensor;
};

// The content of the capsule "dlpack_exchange_api" in a type's __dlpack_c_exchange_api__. All return 0, or -1 with a
// Python exception set.
struct ExchangeApi {
  PackVersion version;
  void* previous;
  int (*allocate)(DLTensor* prototype, ManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, ManagedTensorVersioned** out);
  int (*managed_to_object)(ManagedTensorVersioned* tensor, void** out_object);
  int (*tensor_from_object)(void* object, DLTensor* out);  // may be null; borrows from the object
  int (*current_stream)(DLDeviceType device_type, std::int32_t device, void** out_stream);
};

}  // namespace kgen::python
