// The tokens of a C++ source: enough of them to find one's way in a stub.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace kgen {

struct CppToken {
  enum class Kind { name, literal, punctuation };
  Kind kind = Kind::punctuation;
  std::string_view text;  // names and punctuation; "::", "->", comparisons and compound assignments are one token
  std::size_t begin = 0;  // offsets in the source
  std::size_t end = 0;
  std::size_t partner = 0;  // of ( ) [ ] { }: the index of the other, or its own where there is none
};

// Without white space, comments and preprocessor directives. `source` outlives the result. Any text will do.
std::vector<CppToken> cpp_tokens(std::string_view source);

}  // namespace kgen
