#include "generator/pass/graph/strided_memory.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace kgen {
namespace {

using Extents = std::vector<std::int64_t>;

std::int64_t count(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

// The same elements, in row-major order. Both shapes are cut, from the right, into the shortest stretches of as many
// elements; one of the memory's must be walkable as one axis.
std::optional<StridedMemory> reshaped(const StridedMemory& memory, Extents extents) {
  StridedMemory result = dense_memory(std::move(extents));
  result.begin = memory.begin;
  if (count(memory.extents) != count(result.extents)) return std::nullopt;
  if (count(memory.extents) == 0) return result;
  std::size_t from = memory.extents.size(), to = result.extents.size();
  while (from > 0 && to > 0) {
    const std::size_t last = from - 1, result_last = to - 1;
    std::int64_t have = memory.extents[--from], want = result.extents[--to];
    while (have != want) {
      if (have < want) {
        have *= memory.extents[--from];
      } else {
        want *= result.extents[--to];
      }
    }
    if (!can_merge(memory, from, last)) return std::nullopt;
    std::size_t innermost = last;
    while (innermost > from && memory.extents[innermost] == 1) --innermost;
    std::int64_t stride = memory.strides[innermost];
    for (std::size_t axis = result_last + 1; axis-- > to;) {
      result.strides[axis] = stride;
      stride *= result.extents[axis];
    }
  }
  return result;
}

}  // namespace

StridedMemory dense_memory(Extents extents) {
  StridedMemory memory{0, std::move(extents), {}};
  memory.strides.resize(memory.extents.size());
  std::int64_t stride = 1;
  for (std::size_t axis = memory.extents.size(); axis-- > 0; stride *= memory.extents[axis])
    memory.strides[axis] = stride;
  return memory;
}

std::optional<StridedMemory> broadcast(const StridedMemory& memory, Extents extents) {
  if (memory.extents.size() > extents.size()) return std::nullopt;
  StridedMemory result{memory.begin, std::move(extents), {}};
  result.strides.assign(result.extents.size(), 0);
  const std::size_t lead = result.extents.size() - memory.extents.size();
  for (std::size_t axis = 0; axis < memory.extents.size(); ++axis) {
    if (memory.extents[axis] == result.extents[lead + axis]) {
      result.strides[lead + axis] = memory.strides[axis];
    } else if (memory.extents[axis] != 1) {
      return std::nullopt;
    }
  }
  return result;
}

bool same_elements(const StridedMemory& a, const StridedMemory& b) {
  if (a.extents != b.extents) return false;
  if (count(a.extents) == 0) return true;
  for (std::size_t axis = 0; axis < a.extents.size(); ++axis) {
    if (a.extents[axis] != 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return a.begin == b.begin;
}

bool can_merge(const StridedMemory& memory, std::size_t first, std::size_t last) {
  if (count(memory.extents) == 0) return true;
  std::int64_t extent = 1, stride = 0;
  for (std::size_t axis = last + 1; axis-- > first;) {
    if (memory.extents[axis] == 1) continue;
    if (extent != 1 && memory.strides[axis] != stride * extent) return false;
    if (extent == 1) stride = memory.strides[axis];
    extent *= memory.extents[axis];
  }
  return true;
}

std::optional<StridedMemory> viewed(const StridedMemory& memory, const IndexMap& view, const DimBindings& bindings,
                                    Extents result) {
  using Form = ViewRule::Form;
  const auto axis = static_cast<std::size_t>(view.axis);
  const auto place = static_cast<std::ptrdiff_t>(axis);
  StridedMemory shown{memory.begin, std::move(result), memory.strides};
  switch (view.form) {
    case Form::permute:
      for (std::size_t i = 0; i < view.axes.size(); ++i) {
        shown.strides[i] = memory.strides[static_cast<std::size_t>(view.axes[i])];
      }
      return shown;
    case Form::reshape:
      return reshaped(memory, std::move(shown.extents));
    case Form::broadcast:
      return broadcast(memory, std::move(shown.extents));
    case Form::slice:
      if (shown.extents[axis] > 0) shown.begin += view.begin.evaluate(bindings) * memory.strides[axis];
      shown.strides[axis] *= view.step;
      return shown;
    case Form::select:
      shown.begin += view.begin.evaluate(bindings) * memory.strides[axis];
      [[fallthrough]];
    case Form::squeeze:
      shown.strides.erase(shown.strides.begin() + place);
      return shown;
    case Form::unsqueeze:
      shown.strides.insert(shown.strides.begin() + place, 0);
      return shown;
    case Form::flip:
      if (shown.extents[axis] > 0) shown.begin += (shown.extents[axis] - 1) * memory.strides[axis];
      shown.strides[axis] = -shown.strides[axis];
      return shown;
    case Form::concat:
    case Form::update:
      break;
  }
  return std::nullopt;
}

}  // namespace kgen
