// Files of named tensors. Source: https://huggingface.co/docs/safetensors (8 bytes little-endian: the header's length
// N; N bytes of JSON; then the data, whose offsets count from the header's end).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kgen/runtime/element_type.hpp"
#include "runtime/src/memory.hpp"

namespace kgen {

class SafetensorsFile {
 public:
  // Throws Error: KGEN_FILE_ERROR, or KGEN_BAD_WEIGHTS where the file is not well-formed.
  explicit SafetensorsFile(const std::string& path);

  // The data of a tensor, which must have this type and shape; not aligned to anything. Throws Error:
  // KGEN_MISSING_WEIGHT with the keys most like it, or KGEN_BAD_WEIGHTS.
  std::span<const std::byte> find(const std::string& key, ElementType type, std::span<const std::int64_t> shape) const;

  // Memory that the data of a tensor takes need not be kept: it is read again where it is asked for again.
  void give_back_pages(std::span<const std::byte> data) const noexcept { content_.give_back_pages(data); }

 private:
  struct Entry {
    std::string dtype;  // as in the file: "BF16"; may be one that kgen does not have
    std::vector<std::int64_t> shape;
    std::span<const std::byte> data;
  };
  std::string nearest_keys(const std::string& key) const;

  std::string path_;
  Mapping content_;
  std::map<std::string, Entry> entries_;
};

}  // namespace kgen
