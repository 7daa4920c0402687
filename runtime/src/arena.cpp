#include "kgen/runtime/arena.hpp"

#include "runtime/src/text.hpp"

namespace kgen {

std::int64_t checked_bytes(std::span<const std::int64_t> shape, std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  bool empty = false;
  bool overflows = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) fail(KGEN_TOO_LARGE, "a buffer of shape ", bracketed(shape), " has a negative extent");
    empty = empty || extent == 0;
    overflows = __builtin_mul_overflow(bytes, extent, &bytes) || overflows;
  }
  if (empty) return 0;
  if (overflows) fail(KGEN_TOO_LARGE, "the bytes of a buffer of shape ", bracketed(shape), " do not fit into 63 bits");
  return bytes;
}

std::int64_t checked_bytes(std::span<const std::int64_t> shape, ElementType type) {
  const int bits = element_type_info(type).bits;
  return bits < 8 ? bytes_of_elements(type, checked_bytes(shape, 1)) : checked_bytes(shape, bits / 8);
}

std::int64_t end_of_slot(std::int64_t begin, std::int64_t bytes) {
  std::int64_t end = 0;
  if (bytes < 0 || __builtin_add_overflow(begin, bytes, &end) ||
      __builtin_add_overflow(end, slot_alignment - 1, &end)) {
    fail(KGEN_TOO_LARGE, "the arena does not fit into 63 bits: a slot of ", bytes, " bytes at offset ", begin);
  }
  return end / slot_alignment * slot_alignment;
}

void Arena::require_within(std::int64_t offset, std::int64_t bytes) const {
  if (offset < 0 || offset > bytes_ || bytes > bytes_ - offset) {
    fail(KGEN_TOO_LARGE, "the arena of ", bytes_, " bytes cannot hold ", bytes, " bytes at offset ", offset);
  }
}

}  // namespace kgen
