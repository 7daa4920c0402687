// Page-aligned memory: zeroed pages, or a file to be read. The one place that calls mmap.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace kgen {

class Mapping {
 public:
  Mapping() = default;  // no bytes
  // Zeroed memory, which takes physical pages only where it is touched. Throws std::bad_alloc.
  static Mapping zeroed(std::size_t bytes);
  // The whole file, read-only. Throws Error: KGEN_FILE_ERROR.
  static Mapping file(const std::string& path);

  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* data() const { return data_; }  // null where there are no bytes
  std::size_t size() const { return size_; }
  // Only of zeroed memory: every byte is zero again, and its physical pages are given back.
  void zero();

 private:
  Mapping(void* data, std::size_t size) : data_(static_cast<std::byte*>(data)), size_(size) {}

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kgen
