#include "generator/spec/broadcast.hpp"

namespace kgen {
namespace {

// The extent both broadcast to; absent where they do not.
std::optional<Dim> broadcast_extent(const Dim& a, const Dim& b) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> broadcast_into(Shape& shape, const Shape& other) {
  if (shape.size() < other.size()) {
    shape.insert(shape.begin(), other.begin(), other.end() - static_cast<std::ptrdiff_t>(shape.size()));
  }
  for (std::size_t from_end = 1; from_end <= other.size(); ++from_end) {
    Dim& extent = shape[shape.size() - from_end];
    const auto both = broadcast_extent(extent, other[other.size() - from_end]);
    if (!both) return from_end;
    extent = *both;
  }
  return std::nullopt;
}

}  // namespace kgen
