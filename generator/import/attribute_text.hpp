// Numbers and attributes as a graph's file has them.
#pragma once

#include <string>
#include <vector>

#include "generator/model/op_spec.hpp"

namespace kgen {

// The shortest decimal that reads back as the same element.
std::string number_text(const Number& number, DType dtype);
std::string list_text(const std::vector<std::string>& items);
std::string attribute_text(const AttributeValue& value);

}  // namespace kgen
