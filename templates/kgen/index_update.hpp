// The destination of an update: positions [begin, begin + length) of an axis of a buffer, such as a KV cache.
#pragma once

#include "kgen/introspect.hpp"
#include "kgen/view.hpp"

namespace kgen {

// The elements that the update of a buffer takes.
template <int Axis, Element T, int R>
KGEN_KERNEL(index_update)
KGEN_FN constexpr View<T, R> index_update(const View<T, R>& buffer, std::int64_t begin, std::int64_t length) {
  return buffer.template slice<Axis>(begin, length);
}

}  // namespace kgen
