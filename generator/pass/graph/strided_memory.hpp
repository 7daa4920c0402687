// Where elements lie, in numbers. The counterpart of kgen::View among the verifiers of a plan: what a View only asserts
// is an answer here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

// In elements; `begin` counts from the first element of the memory that it lies in.
struct StridedMemory {
  std::int64_t begin = 0;
  std::vector<std::int64_t> extents, strides;

  bool operator==(const StridedMemory&) const = default;
};

StridedMemory dense_memory(std::vector<std::int64_t> extents);

// The view of it, whose result has the extents `result`; nothing where that cannot be shown in place.
std::optional<StridedMemory> viewed(const StridedMemory& memory, const IndexMap& view, const DimBindings& bindings,
                                    std::vector<std::int64_t> result);

// Broadcast as numpy does; nothing where the extents do not fit.
std::optional<StridedMemory> broadcast(const StridedMemory& memory, std::vector<std::int64_t> extents);

// Whether both have the same extents, and each element at the same place.
bool same_elements(const StridedMemory& a, const StridedMemory& b);

// Whether the axes first to last can be walked as one. Memory of no elements can be walked in any way.
bool can_merge(const StridedMemory& memory, std::size_t first, std::size_t last);

}  // namespace kgen
