// Clang's formatter, with the style of emitted source.
#pragma once

#include <string>
#include <string_view>

namespace kgen {

// See ClangServices::format.
std::string format(std::string_view text, std::string_view path);

}  // namespace kgen
