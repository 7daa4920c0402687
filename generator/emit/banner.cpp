#include "generator/emit/banner.hpp"

#include <fmt/format.h>

namespace kgen {

std::string content_hash(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::string with_banner(const EmitOptions& options, std::string_view content, std::string_view comment) {
  return fmt::format(
      "{0} Written by kgen {1}: {2}\n"
      "{0} Edit it as you like: `kgen plan` never overwrites an edited file. As written, its content is {3}.\n{4}",
      comment, options.version, options.command, content_hash(content), content);
}

}  // namespace kgen
