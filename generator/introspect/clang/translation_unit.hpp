// Clang over one translation unit, made of files that it includes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "generator/introspect/clang/reading.hpp"

namespace kgen {

struct TranslationUnit {
  std::string name;                              // of the unit itself, which exists in memory alone
  std::vector<std::string> files;                // paths, included in this order
  std::vector<std::string> include_directories;  // as -I has them
  std::string help;                              // on the first error of Clang's: what kgen had in mind
  std::vector<std::string> definitions{};        // as -D has them
};

// Parses as C++20, without the bodies of functions, and calls `read` with what came of it, whether or not there were
// errors. They are reported as Clang words them, with their notes; warnings are not. An error without a place is one of the
// files' end: something in them is not closed. Where Clang's own headers are missing, that is reported, and
// `read` is not called.
void parse(const TranslationUnit& unit, Places& places, Diagnostics& diagnostics,
           const std::function<void(clang::ASTContext&)>& read);

}  // namespace kgen
