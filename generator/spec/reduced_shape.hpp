// Which operators make their results smaller along axes that an attribute lists.
#pragma once

#include "generator/model/op_spec.hpp"

namespace kgen {

// A reduction, or a composite with the attributes of one: `axes` (dims) and `keepdims` (boolean). A result of it whose
// shape the specification does not say has the shape that a reduction over these axes gives.
bool has_reduced_shape(const OpSpec& op);

}  // namespace kgen
