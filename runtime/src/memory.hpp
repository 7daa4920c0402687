// A file in memory, to be read.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace kgen {

class Mapping {
 public:
  Mapping() = default;  // no bytes
  // The whole file, read-only. Throws Error: KGEN_FILE_ERROR.
  static Mapping file(const std::string& path);

  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* data() const { return data_; }  // null where there are no bytes
  std::size_t size() const { return size_; }
  // The pages that `part` touches are read from the file again when they are asked for again.
  void give_back_pages(std::span<const std::byte> part) const noexcept;

 private:
  Mapping(void* data, std::size_t size) : data_(static_cast<std::byte*>(data)), size_(size) {}

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kgen
