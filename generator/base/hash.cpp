#include "generator/base/hash.hpp"

#include <fmt/format.h>

namespace kgen {

std::uint64_t content_hash(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : content) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace kgen
