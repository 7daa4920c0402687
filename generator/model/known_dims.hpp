// What the extents of inputs say of symbolic dims.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "generator/model/dim.hpp"

namespace kgen {

// dim = (extent - rest) / step, where `extent` is what a call has as that axis of that shape.
struct SaidDim {
  std::string dim;
  std::size_t shape = 0, axis = 0;
  Dim rest;  // over dims that are known before it
  std::int64_t step = 1;
};

// The dims that `shapes` say beside those that are `known`, each after those that its `rest` needs. The first extent
// that is a dim by itself says it; of the others, an extent that is linear in one dim that nothing else says, such as
// 32*h, or P + S where P is known.
std::vector<SaidDim> dims_said_by(std::span<const Shape* const> shapes, std::set<std::string, std::less<>> known);

}  // namespace kgen
