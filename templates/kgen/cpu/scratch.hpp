// Memory that a thread keeps between kernels, so that kernels do not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace kgen::cpu {

inline constexpr std::align_val_t scratch_alignment{64};

struct ScratchBuffer {
  struct Free {
    void operator()(std::byte* data) const { ::operator delete[](data, scratch_alignment); }
  };
  std::unique_ptr<std::byte[], Free> data;
  std::size_t bytes = 0;
};

// `count` elements, aligned to 64 bytes, in this thread's buffer number `slot`: valid until this thread asks for that
// slot again. The content is whatever was there.
template <class T>
T* scratch(std::size_t slot, std::int64_t count) {
  thread_local std::vector<ScratchBuffer> buffers;
  if (slot >= buffers.size()) buffers.resize(slot + 1);
  ScratchBuffer& buffer = buffers[slot];
  const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(count);
  if (bytes > buffer.bytes) {
    buffer.data.reset(static_cast<std::byte*>(::operator new[](bytes, scratch_alignment)));
    buffer.bytes = bytes;
  }
  return reinterpret_cast<T*>(buffer.data.get());
}

}  // namespace kgen::cpu
