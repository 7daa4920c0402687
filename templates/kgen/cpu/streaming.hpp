// Stores that go past the caches. An ordinary store first reads the line that it writes: of a result that memory must
// take anyway, a third of all traffic of a kernel that reads one operand. Functors and rows write such a result to a
// buffer in the first-level cache, a stretch of a line at a time, and that is streamed: whole lines of 64 bytes,
// whatever the alignment of the result and the type of its elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kgen/cpu/caches.hpp"
#include "kgen/cpu/registers.hpp"
#include "kgen/fields.hpp"
#include "kgen/view.hpp"

namespace kgen::cpu {

// The bytes of the elements that a View has in memory: what repeats counts once.
template <class T, int R>
std::int64_t bytes_of(const View<T, R>& view) {
  std::int64_t bytes = sizeof(T);
  for (int axis = 0; axis < R; ++axis) bytes *= view.stride(axis) == 0 ? 1 : view.extent(axis);
  return bytes;
}

// True where a kernel's results have left a cache of so many bytes when all of them are written: where it moves twice
// as much as that holds. A kernel that moves less leaves results there for who reads them next.
template <class Functor>
bool streams_results(const Functor& functor, std::int64_t cache = caches().last) {
#if defined(KGEN_STREAMS)
  std::int64_t bytes = 0;
  for_each_own_view(functor, [&](const auto& view) { bytes += bytes_of(view); });
  return bytes >= 2 * cache;
#else
  (void)functor, (void)cache;
  return false;
#endif
}

// `bytes` from a buffer to memory. finish_streaming() comes before another thread reads them.
inline void stream_bytes(void* to, const void* from, std::size_t bytes) {
#if defined(KGEN_STREAMS)
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  constexpr std::size_t line = 64;
  const std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(target) % line);
  std::memcpy(target, source, head);
  std::size_t i = head;
  for (; i + line <= bytes; i += line) {
    for (std::size_t part = 0; part < line; part += sizeof(Floats)) {
      Floats lanes;
      std::memcpy(&lanes, source + i + part, sizeof(lanes));
      stream_register(target + i + part, lanes);
    }
  }
  std::memcpy(target + i, source + i, bytes - i);
#else
  std::memcpy(to, from, bytes);
#endif
}
inline void finish_streaming() {
#if defined(KGEN_STREAMS)
  _mm_sfence();
#endif
}

// Elements of a result that a buffer holds.
inline constexpr std::int64_t stretch = 1024;
// Lines shorter than this are not worth it.
inline constexpr std::int64_t least_streamed = 128;

// A result that lies along the last axis, and may be streamed.
template <int R, class T, int R2>
bool is_streamable(const View<T, R2>& view) {
  if constexpr (std::is_const_v<T> || R != R2 || is_packed<T>) {
    return false;
  } else {
    return view.stride(R - 1) == 1;
  }
}

template <int R>
KGEN_FN std::int64_t element_offset(const Index<R>& strides, const Index<R>& at) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < R; ++axis) offset += at[axis] * strides[axis];
  return offset;
}

}  // namespace kgen::cpu
