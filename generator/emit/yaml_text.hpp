// Small pieces of YAML text.
#pragma once

#include <string>
#include <string_view>

namespace kgen {

// A name as it stands in YAML: quoted where it would mean something else.
std::string yaml_name(std::string_view name);
// A scalar in double quotes; the ends of lines become blanks.
std::string yaml_string(std::string_view text);

}  // namespace kgen
