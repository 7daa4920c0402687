// The text of a file before YAML: is it text at all, and the brackets that YAML must not see.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source.hpp"

namespace kgen {

// True where the file is UTF-8 without control characters (tabs and line ends are fine); else reports the first byte
// that is not.
bool validate_plain_text(const SourceText& source, Diagnostics& diagnostics);

// The number of characters in UTF-8 text.
std::size_t count_characters(std::string_view text);

// In YAML's {...} and [...], a '[' or ',' ends a scalar, so that {type: f32[B, S]} would be an error. The brackets and
// commas of such types (a word, directly followed by a bracket that closes on the same line around nothing but
// arithmetic) are replaced by control characters, which occur nowhere else. Every byte keeps its place, and no valid
// YAML changes its meaning.
std::string mask_types(std::string_view text);
std::string unmask_types(std::string_view text);

}  // namespace kgen
