// Elements of known tensors, moved: what NumPy's functions of these names do. Nothing where the arguments do not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "generator/import/content.hpp"

namespace kgen {

std::optional<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a,
                                                   const std::vector<std::int64_t>& b);
// Of the element `index` of a tensor of shape `shape`, the index in one of shape `from` that is broadcast to it.
std::size_t broadcast_index(std::int64_t index, const std::vector<std::int64_t>& shape,
                            const std::vector<std::int64_t>& from);

std::optional<Content> concat_contents(std::span<const Content* const> parts, std::int64_t axis);
std::optional<Content> gather_content(const Content& data, const Content& indices, std::int64_t axis);
// -1 follows from the others; 0 keeps the extent unless `zero_is_zero`.
std::optional<Content> reshape_content(const Content& data, std::vector<std::int64_t> extents, bool zero_is_zero);
std::optional<Content> squeeze_content(const Content& data, const std::vector<std::int64_t>& axes);
// All axes of one element.
std::optional<Content> squeeze_content(const Content& data);
std::optional<Content> unsqueeze_content(const Content& data, const std::vector<std::int64_t>& axes);
// Axis i of the result is axis order[i] of the data.
std::optional<Content> transpose_content(const Content& data, const std::vector<std::int64_t>& order);
std::optional<Content> expand_content(const Content& data, const std::vector<std::int64_t>& extents);
// From `start` to before `end`, as Python's slices, but with every step except 0.
std::optional<Content> slice_content(const Content& data, std::int64_t axis, std::int64_t start, std::int64_t end,
                                     std::int64_t step);

}  // namespace kgen
