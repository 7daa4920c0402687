#include "generator/base/source.hpp"

namespace kgen {

std::string_view file_name(const SourceText& text) {
  const std::string_view path = text.path;
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string short_text(const SourceLocation& location) {
  if (!location.known()) return "";
  return std::string(file_name(*location.text)) + ":" + std::to_string(location.line);
}

}  // namespace kgen
