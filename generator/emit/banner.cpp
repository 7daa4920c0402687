#include "generator/emit/banner.hpp"

#include <fmt/format.h>

#include "generator/base/languages.hpp"

namespace kgen {

std::string with_banner(const EmitOptions& options, std::string content, std::string_view comment) {
  content.insert(0, fmt::format("{0} Written by kgen from {1}.\n"
                                "{0} Edit it as you like: `kgen plan` merges what is new with your edits.\n\n",
                                comment, comment_text(options.source)));
  return content;
}

}  // namespace kgen
