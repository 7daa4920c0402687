// What the constraints of a template say of its parameters.
#pragma once

#include <clang/AST/DeclTemplate.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/introspect/clang/reading.hpp"
#include "generator/model/dtype.hpp"

namespace kgen {

// Of one template parameter. The vocabulary is that of kgen/introspect.hpp and kgen/view.hpp.
struct ParameterFacts {
  enum class Role { none, memory, source, sink };
  Role role = Role::none;
  int rank = -1;                             // of a memory, source or sink
  int results = 1;                           // of a sink: how many of the operator's it takes
  int several = 1;                           // of a memory or source: how many a call may take at once
  bool of_several = false;                   // of a sink: each of several operands has its own
  std::optional<DType> element;              // of a sink; absent where its type depends on another parameter
  std::optional<std::vector<DType>> dtypes;  // absent: any
  std::vector<std::int64_t> values;          // Allowed
  std::vector<std::string> value_names;      // of those that are named constants, each of them; else empty
};

// By the position of the parameter. Concepts that are not of the vocabulary are looked into, through `&&` and `||`;
// what else a constraint may ask says nothing of dtypes.
using TemplateFacts = std::vector<ParameterFacts>;
TemplateFacts facts_of(const clang::TemplateDecl& declaration, Reading& reading);

// The dtypes that a constrained `auto` may have; absent: any.
std::optional<std::vector<DType>> dtypes_of_auto(const clang::AutoType& type, Reading& reading);

// Which parameters of the template at this depth a type mentions, by position.
std::vector<unsigned> mentioned_parameters(clang::QualType type, unsigned depth);

// An integer constant, where it is one.
std::optional<std::int64_t> integer_of(const clang::Expr& expression, const clang::ASTContext& context);

}  // namespace kgen
