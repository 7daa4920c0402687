// Numbers and attributes as a graph's file has them.
#pragma once

#include <string>
#include <vector>

#include "generator/model/op_spec.hpp"

namespace kgen {

// The shortest decimal that reads back as the same element.
std::string yaml_number(const Number& number, DType dtype);
std::string yaml_list(const std::vector<std::string>& items);
std::string yaml_attribute(const AttributeValue& value);

}  // namespace kgen
