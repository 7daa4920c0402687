// The lines that head every emitted file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "generator/emit/options.hpp"

namespace kgen {

// `content` headed by what wrote it, with which command, and the hash of `content`. `comment` opens a comment line.
std::string with_banner(const EmitOptions& options, std::string_view content, std::string_view comment = "//");

}  // namespace kgen
