// One registered declaration as a signature.
#pragma once

#include <clang/AST/Decl.h>

#include <optional>
#include <string>
#include <vector>

#include "generator/introspect/clang/reading.hpp"
#include "generator/model/kernel_signature.hpp"

namespace kgen {

// What KGEN_EVALUATED or KGEN_IN_MEMORY says of an operand, KGEN_ROWS of a result, or KGEN_TUNED or KGEN_LAYOUT of a
// compile-time parameter.
struct DeclaredFact {
  enum class Kind { evaluated, in_memory, rows, statistics, tuned, layout };
  struct Text {
    std::string text;
    SourceLocation where;
  };
  Kind kind = Kind::evaluated;
  std::string name;         // of the operand or parameter
  std::vector<Text> texts;  // the size or the operand and the condition, or the condition
  SourceLocation where;     // the macro
};

// What KGEN_KERNEL says, and of which declaration.
struct Registration {
  const clang::NamedDecl* declaration = nullptr;  // a struct, a function, or what their template is a template of
  std::string op;
  std::string when;
  SourceLocation where;       // the macro
  SourceLocation when_where;  // the condition
  std::vector<DeclaredFact> facts;
};

// Nothing after an error: what is declared has no meaning as a kernel. The header is left for the caller to name.
std::optional<KernelSignature> read_kernel(const Registration& registration, Reading& reading);

}  // namespace kgen
