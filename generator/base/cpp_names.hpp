// Which identifiers can name something in emitted C++.
#pragma once

#include <string_view>

namespace kgen {

// Why an identifier cannot: a keyword, a macro, a name of the compiler's. Empty where it can.
std::string_view reason_not_in_cpp(std::string_view name);

}  // namespace kgen
