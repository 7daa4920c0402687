// Check mode: what a stub computed beside its unfused reference.
#pragma once

#include <string>

#include "kgen/runtime/call.hpp"

namespace kgen {

// Whether every element is near enough, and the shapes are the same.
bool agree(const AnyView& actual, const AnyView& reference, const Precision& precision);

// "" where every element is near enough, or else a message with the first that is not and the greatest error. Two NaNs
// are equal, and so are equal infinities.
std::string difference(const CheckedOperator& op, const AnyView& actual, const AnyView& reference,
                       const Precision& precision);

}  // namespace kgen
