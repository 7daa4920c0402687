// The memory of a run: one stretch of bytes, cut into slots at 64-byte boundaries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kgen/index.hpp"
#include "kgen/runtime/element_type.hpp"
#include "kgen/view.hpp"

namespace kgen {

inline constexpr std::int64_t slot_alignment = 64;

// An Index as the runtime's own functions take it.
template <int R>
std::array<std::int64_t, R> to_array(const Index<R>& index) {
  std::array<std::int64_t, R> result;
  for (int axis = 0; axis < R; ++axis) result[axis] = index[axis];
  return result;
}

// Throw Error with KGEN_TOO_LARGE where a size is negative or overflows.
std::int64_t checked_bytes(std::span<const std::int64_t> shape, std::int64_t element_bytes);
std::int64_t checked_bytes(std::span<const std::int64_t> shape, ElementType type);
template <class T>
std::int64_t checked_bytes_of(std::span<const std::int64_t> shape) {
  return is_packed<T> ? bytes_of_elements<T>(checked_bytes(shape, 1)) : checked_bytes(shape, sizeof(T));
}
std::int64_t end_of_slot(std::int64_t begin, std::int64_t bytes);  // rounded up to slot_alignment

// Where each slot begins, in bytes.
template <std::size_t N>
struct Offsets {
  std::array<std::int64_t, N> begin;
  std::int64_t total = 0;

  std::int64_t operator[](std::size_t slot) const { return begin[slot]; }
};

// One slot after another, of the given sizes in bytes.
template <std::size_t N>
Offsets<N> lay_out(const std::int64_t (&bytes)[N]) {
  Offsets<N> result;
  for (std::size_t slot = 0; slot < N; ++slot) {
    result.begin[slot] = result.total;
    result.total = end_of_slot(result.total, bytes[slot]);
  }
  return result;
}

class Arena {
 public:
  Arena(std::byte* data, std::int64_t bytes) : data_(data), bytes_(bytes) {}

  // A dense tensor at `offset`. Throws where it does not fit, before anything is computed.
  template <class T, int R>
  View<T, R> view(std::int64_t offset, const Index<R>& shape) const {
    require_within(offset, checked_bytes_of<T>(to_array(shape)));
    return View<T, R>(reinterpret_cast<T*>(data_ + offset), shape);
  }

  // What begins at `offset`: the arena of a function that is called.
  Arena part(std::int64_t offset) const {
    require_within(offset, 0);
    return {data_ + offset, bytes_ - offset};
  }

 private:
  void require_within(std::int64_t offset, std::int64_t bytes) const;

  std::byte* data_;
  std::int64_t bytes_;
};

}  // namespace kgen
