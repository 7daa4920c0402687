// Where a thing stands in a text file that a person wrote. Every value, node and specification carries one, so that a
// diagnostic can show the line, and a map beside the plan can say which line each emitted name came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kgen {

// The whole text of one file. Owned by SourceMap (or a test); outlives every SourceLocation into it.
struct SourceText {
  std::string path;     // as the user wrote it, for diagnostics
  std::string content;  // UTF-8
};

// A position in a SourceText; lines and columns count from 1. A default-constructed location points nowhere.
struct SourceLocation {
  const SourceText* text = nullptr;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  bool known() const { return text != nullptr && line > 0; }
};

// The path without its folders: "graphs/a.yaml" gives "a.yaml".
std::string_view file_name(const SourceText& text);

// "a.yaml:12", or "" where the location is unknown.
std::string short_text(const SourceLocation& location);

}  // namespace kgen
