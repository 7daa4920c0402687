// Files as texts, and the owner that keeps them where diagnostics and locations can point to them.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source.hpp"

namespace kgen {

// Files larger than this, in bytes, are refused.
inline constexpr std::size_t largest_file = std::size_t{256} << 20;

// Owns texts; their addresses stay.
class SourceMap {
 public:
  const SourceText& add(std::string path, std::string content);
  // The text of a file; null after an error: missing (names the nearest files beside it), a folder, a pipe, unreadable, or
  // larger than largest_file.
  const SourceText* read(const std::string& path, Diagnostics& diagnostics);

 private:
  std::deque<SourceText> texts_;
};

// Reports that there is no `what` ("file") at the path, and the nearest names beside it.
void report_missing(const std::string& path, std::string_view what, Diagnostics& diagnostics);

}  // namespace kgen
