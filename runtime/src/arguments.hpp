// Validation of one DLPack argument. Every function throws kgen::Error with a message that names the argument, what was
// expected and what came.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/device.hpp"

namespace kgen {

struct Argument {
  const char* role;  // "input" or "output"
  const TensorInfo& info;
  const DLTensor& tensor;

  std::string name() const;  // "input 'A'"
  std::byte* data() const;   // with byte_offset
};

// All that does not depend on symbolic dims: that it is in memory of `device`, dtype, rank, sizes, data and its
// alignment.
void require_usable(const Argument& argument, DLDevice device, const DeviceApi& api);

// Code KGEN_WRONG_EXTENT where the graph fixes the extent, KGEN_DIM_INCONSISTENT where it follows from dims.
void require_shape(const Argument& argument, std::span<const std::int64_t> shape, std::span<const BoundDim> dims);

// How many elements an argument has whose extents are all numbers.
std::int64_t fixed_count(const TensorInfo& info);

// Dense row-major; strides of axes with one element, and of tensors without elements, do not matter.
void require_dense(const Argument& argument);

// Strides in elements; those of dense row-major memory where the tensor has none.
std::vector<std::int64_t> strides_of(const DLTensor& tensor);

// The addresses that a usable argument spans.
struct AddressRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  bool overlaps(const AddressRange& other) const { return begin < other.end && other.begin < end; }
};
AddressRange address_range(const Argument& argument);

}  // namespace kgen
