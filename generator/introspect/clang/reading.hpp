// What the plugin's files share while they read one translation unit.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>

#include <map>
#include <optional>
#include <string>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source_map.hpp"
#include "generator/model/dtype.hpp"

namespace kgen {

// Clang's places in files as kgen's.
class Places {
 public:
  explicit Places(SourceMap& sources) : sources_(sources) {}

  // Where it stands in the file, even where it came from a macro.
  SourceLocation at(clang::SourceLocation location, const clang::SourceManager& manager);

 private:
  SourceMap& sources_;
  std::map<clang::FileID, const SourceText*> texts_;
};

struct Reading {
  clang::ASTContext& context;
  Places& places;
  Diagnostics& diagnostics;

  SourceLocation at(clang::SourceLocation location) { return places.at(location, context.getSourceManager()); }
};

// The dtype whose C++ type this is, apart from const; nothing for a type that depends on a template, or is none.
std::optional<DType> dtype_of(clang::QualType type);

// "kgen::matmul"
std::string qualified_name(const clang::NamedDecl& declaration);

}  // namespace kgen
