// The lines that head every emitted file.
#pragma once

#include <string>
#include <string_view>

#include "generator/emit/options.hpp"

namespace kgen {

// `content` headed by what it was written from. `comment` opens a comment line. Nothing that changes while the content
// stays (a version, an option, a hash) stands there: those are in plan.yaml and in the folder's record.
std::string with_banner(const EmitOptions& options, std::string content, std::string_view comment = "//");

}  // namespace kgen
