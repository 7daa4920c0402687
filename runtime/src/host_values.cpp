#include "runtime/src/host_values.hpp"

#include <algorithm>

namespace kgen {

HostValues::HostValues(const DeviceApi& api, StreamHandle stream, const AnyView& view) : view_(view) {
  if (api.is_host || std::ranges::count(view.shape, 0) > 0) return;
  std::int64_t low = 0, high = 0;  // in elements, from the first
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    const std::int64_t reach = (view.shape[axis] - 1) * view.strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  // Whole bytes, from the one that the lowest element begins in.
  const std::int64_t bits = element_type_info(view.type).bits;
  const std::int64_t begin = (view.first + low) * bits >> 3, end = ((view.first + high + 1) * bits + 7) >> 3;
  bytes_.resize(static_cast<std::size_t>(end - begin));
  api.copy(bytes_.data(), static_cast<const std::byte*>(view.data) + begin, bytes_.size(), stream);
  view_.data = bytes_.data() - begin;
}

}  // namespace kgen
