// The destination of an update: positions [begin, begin + length) of an axis of a buffer, such as a KV cache.
#pragma once

#include "kgen/view.hpp"

namespace kgen {

template <int Axis, class T, int R>
KGEN_FN constexpr View<T, R> index_update(const View<T, R>& buffer, std::int64_t begin, std::int64_t length) {
  return buffer.template slice<Axis>(begin, length);
}

}  // namespace kgen
