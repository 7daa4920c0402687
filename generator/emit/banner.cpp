#include "generator/emit/banner.hpp"

#include <fmt/format.h>

#include "generator/base/hash.hpp"

namespace kgen {

std::string with_banner(const EmitOptions& options, std::string_view content, std::string_view comment) {
  return fmt::format(
      "{0} Written by kgen {1}: {2}\n"
      "{0} Edit it as you like: `kgen plan` never overwrites an edited file. As written, its content is {3}.\n{4}",
      comment, options.version, options.command, hash_text(content_hash(content)), content);
}

}  // namespace kgen
