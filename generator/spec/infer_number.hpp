// Which numbers a dtype can hold.
#pragma once

#include <optional>
#include <string>

#include "generator/model/number.hpp"

namespace kgen {

// What is wrong with `number` as an element of this dtype: a fraction in an integer, or a value out of range. Floats
// may lose precision. For example "0.5 is not a whole number, as i32 needs".
std::optional<std::string> number_problem(const Number& number, DType dtype);

}  // namespace kgen
