// Broadcasting of shapes, as NumPy's: from the last axis on, extents are equal or one of them is 1.
#pragma once

#include <cstddef>
#include <optional>

#include "generator/model/graph.hpp"

namespace kgen {

// Widens `shape` so that `other` broadcasts to it too. Otherwise gives the axis that does not fit, as counted from the
// end, where the last axis is 1.
std::optional<std::size_t> broadcast_into(Shape& shape, const Shape& other);

}  // namespace kgen
