// Numbers and attributes as C++ literals.
#pragma once

#include <string>

#include "generator/model/op_spec.hpp"

namespace kgen {

// Of the type that `dtype` is computed in: "0.125f", "2", "true".
std::string literal_text(const Number& number, DType dtype);
// For a parameter of the C++ type `type` ("float", "bool", "std::int64_t").
std::string literal_text(const AttributeValue& value, const std::string& type);

}  // namespace kgen
