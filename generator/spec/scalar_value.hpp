// Elements of constants: numbers as their dtype holds them.
#pragma once

#include <optional>

#include "generator/model/dtype.hpp"

namespace kgen {

// The element of `dtype` nearest to `number`, halves to even; the floats of 16 bits and fewer are rounded from f32, as
// kernels do. Every NaN becomes the same one. Overflow of f64, f32, f16 and bf16 gives an infinity. Nothing where
// results differ between implementations or a double cannot hold them: overflow of floats of 8 bits and fewer, and for
// integers a fraction, NaN, a value out of range or beyond 2^53.
std::optional<double> round_to_dtype(double number, DType dtype);

// The same for a conversion: a fraction is cut off on the way to an integer, and to bool is number != 0.
std::optional<double> cast_to_dtype(double number, DType dtype);

// Every element of `from` is an element of `to`.
bool holds_every_value(DType to, DType from);

}  // namespace kgen
