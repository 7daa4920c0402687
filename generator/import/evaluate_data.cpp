#include "generator/import/evaluate_data.hpp"

#include <algorithm>
#include <limits>

namespace kgen {
namespace {

std::optional<std::size_t> place_of(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

// How many elements there are before the axis, along it, and behind it.
struct Blocks {
  std::int64_t outer = 1, middle = 1, inner = 1;
};

Blocks blocks_of(const std::vector<std::int64_t>& shape, std::size_t axis) {
  Blocks blocks;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis ? blocks.outer : i == axis ? blocks.middle : blocks.inner) *= shape[i];
  }
  return blocks;
}

// The elements of `data` at these places along the axis, whose extent is replaced by `extents`.
std::optional<Content> pick(const Content& data, std::size_t axis, const std::vector<std::int64_t>& places,
                            const std::vector<std::int64_t>& extents) {
  Content result{data.dtype, data.shape, {}};
  result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  result.shape.insert(result.shape.begin() + static_cast<std::ptrdiff_t>(axis), extents.begin(), extents.end());
  const std::int64_t count = element_count(result.shape);
  if (count < 0 || count > most_content) return std::nullopt;
  const Blocks blocks = blocks_of(data.shape, axis);
  for (std::int64_t outer = 0; outer < blocks.outer; ++outer) {
    for (const std::int64_t place : places) {
      const auto first = data.elements.begin() + (outer * blocks.middle + place) * blocks.inner;
      result.elements.insert(result.elements.end(), first, first + blocks.inner);
    }
  }
  return result;
}

}  // namespace

std::optional<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a,
                                                   const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> result(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

std::size_t broadcast_index(std::int64_t index, const std::vector<std::int64_t>& shape,
                            const std::vector<std::int64_t>& from) {
  std::int64_t result = 0, stride = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t extent = shape[shape.size() - 1 - i], own = from[from.size() - 1 - i];
    result += own == 1 ? 0 : index % extent * stride;
    index /= extent;
    stride *= own;
  }
  return static_cast<std::size_t>(result);
}

std::optional<Content> concat_contents(std::span<const Content* const> parts, std::int64_t axis) {
  if (parts.empty()) return std::nullopt;
  const auto place = place_of(axis, parts[0]->shape.size());
  if (!place) return std::nullopt;
  Content result{parts[0]->dtype, parts[0]->shape, {}};
  result.shape[*place] = 0;
  for (const Content* part : parts) {
    std::vector<std::int64_t> rest = part->shape, wanted = parts[0]->shape;
    if (rest.size() != wanted.size() || part->dtype != result.dtype) return std::nullopt;
    result.shape[*place] += rest[*place];
    rest[*place] = wanted[*place] = 0;
    if (rest != wanted) return std::nullopt;
  }
  const std::int64_t count = element_count(result.shape);
  if (count < 0 || count > most_content) return std::nullopt;
  for (std::int64_t outer = 0; outer < blocks_of(result.shape, *place).outer; ++outer) {
    for (const Content* part : parts) {
      const Blocks blocks = blocks_of(part->shape, *place);
      const auto first = part->elements.begin() + outer * blocks.middle * blocks.inner;
      result.elements.insert(result.elements.end(), first, first + blocks.middle * blocks.inner);
    }
  }
  return result;
}

std::optional<Content> gather_content(const Content& data, const Content& indices, std::int64_t axis) {
  const auto place = place_of(axis, data.shape.size());
  if (!place) return std::nullopt;
  std::vector<std::int64_t> places;
  for (const ContentElement& each : indices.elements) {
    const auto index = dim_of(each);
    if (!index || !index->is_constant()) return std::nullopt;
    const auto at = place_of(index->constant(), static_cast<std::size_t>(data.shape[*place]));
    if (!at) return std::nullopt;
    places.push_back(static_cast<std::int64_t>(*at));
  }
  return pick(data, *place, places, indices.shape);
}

std::optional<Content> reshape_content(const Content& data, std::vector<std::int64_t> extents, bool zero_is_zero) {
  std::size_t free = extents.size();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 0 && !zero_is_zero) {
      if (i >= data.shape.size()) return std::nullopt;
      extents[i] = data.shape[i];
    }
    if (extents[i] != -1) continue;
    if (free != extents.size()) return std::nullopt;
    free = i;
  }
  const auto count = static_cast<std::int64_t>(data.elements.size());
  if (free < extents.size()) {
    extents[free] = 1;
    const std::int64_t others = element_count(extents);
    if (others <= 0 || count % others != 0) return std::nullopt;
    extents[free] = count / others;
  }
  if (element_count(extents) != count) return std::nullopt;
  return Content{data.dtype, std::move(extents), data.elements};
}

std::optional<Content> squeeze_content(const Content& data, const std::vector<std::int64_t>& axes) {
  Content result{data.dtype, {}, data.elements};
  std::vector<bool> gone(data.shape.size());
  for (const std::int64_t axis : axes) {
    const auto place = place_of(axis, data.shape.size());
    if (!place || data.shape[*place] != 1) return std::nullopt;
    gone[*place] = true;
  }
  for (std::size_t i = 0; i < data.shape.size(); ++i) {
    if (!gone[i]) result.shape.push_back(data.shape[i]);
  }
  return result;
}

std::optional<Content> squeeze_content(const Content& data) {
  Content result = data;
  std::erase(result.shape, 1);
  return result;
}

std::optional<Content> unsqueeze_content(const Content& data, const std::vector<std::int64_t>& axes) {
  const std::size_t rank = data.shape.size() + axes.size();
  std::vector<bool> added(rank);
  for (const std::int64_t axis : axes) {
    const auto place = place_of(axis, rank);
    if (!place || added[*place]) return std::nullopt;
    added[*place] = true;
  }
  Content result{data.dtype, {}, data.elements};
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) result.shape.push_back(added[i] ? 1 : data.shape[next++]);
  return result;
}

std::optional<Content> transpose_content(const Content& data, const std::vector<std::int64_t>& order) {
  const std::size_t rank = data.shape.size();
  std::vector<bool> met(rank);
  if (order.size() != rank) return std::nullopt;
  Content result{data.dtype, {}, {}};
  for (const std::int64_t axis : order) {
    if (axis < 0 || static_cast<std::size_t>(axis) >= rank || met[static_cast<std::size_t>(axis)]) return std::nullopt;
    met[static_cast<std::size_t>(axis)] = true;
    result.shape.push_back(data.shape[static_cast<std::size_t>(axis)]);
  }
  std::vector<std::int64_t> strides(rank, 1);  // of the data
  for (std::size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * data.shape[axis];
  for (std::size_t i = 0; i < data.elements.size(); ++i) {
    auto left = static_cast<std::int64_t>(i);
    std::int64_t from = 0;
    for (std::size_t axis = rank; axis-- > 0; left /= result.shape[axis]) {
      from += left % result.shape[axis] * strides[static_cast<std::size_t>(order[axis])];
    }
    result.elements.push_back(data.elements[static_cast<std::size_t>(from)]);
  }
  return result;
}

std::optional<Content> expand_content(const Content& data, const std::vector<std::int64_t>& extents) {
  const auto shape = broadcast(data.shape, extents);
  const std::int64_t count = shape ? element_count(*shape) : -1;
  if (count < 0 || count > most_content) return std::nullopt;
  Content result{data.dtype, *shape, {}};
  for (std::int64_t i = 0; i < count; ++i)
    result.elements.push_back(data.elements[broadcast_index(i, *shape, data.shape)]);
  return result;
}

std::optional<Content> slice_content(const Content& data, std::int64_t axis, std::int64_t start, std::int64_t end,
                                     std::int64_t step) {
  const auto place = place_of(axis, data.shape.size());
  if (!place || step == 0 || step == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  const std::int64_t extent = data.shape[*place];
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  const auto clamped = [&](std::int64_t index) { return std::clamp(index < 0 ? index + extent : index, low, high); };
  std::vector<std::int64_t> places;
  const std::int64_t last = clamped(end);
  for (std::int64_t i = clamped(start); step > 0 ? i < last : i > last;) {
    places.push_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return pick(data, *place, places, {static_cast<std::int64_t>(places.size())});
}

}  // namespace kgen
