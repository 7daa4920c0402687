// How an equation over axes becomes operators.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>

#include "generator/model/enum_names.hpp"

namespace kgen {

// A composite that an equation over the axes of its operands gives ("bij,bjk->bik"), and the operators that it becomes.
struct ContractionRule {
  enum class Part { permute, reshape, slice, diagonal, sum, multiply, product };
  std::string equation;                   // the attribute that holds it
  std::map<Part, std::string> operators;  // of each part one
};
template <>
inline constexpr auto names_of<ContractionRule::Part> = std::to_array<std::string_view>(
    {"permute", "reshape", "slice", "diagonal", "sum", "multiply", "product"});

}  // namespace kgen
