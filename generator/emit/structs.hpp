// The structs that values of a plan have: their headers, and what the plan takes for granted of them.
#pragma once

#include <vector>

#include "generator/base/writer.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// Those that parameters of the stubs have, each once, by name.
std::vector<const StructType*> structs_of(const Plan& plan);

// #include lines for their headers.
void write_struct_headers(Writer& writer, const std::vector<const StructType*>& structs);

// Includes their headers; static_asserts that they have the bytes and the alignment that they were declared with, and
// are copied as bytes.
void write_structs(Writer& writer, const std::vector<const StructType*>& structs);

}  // namespace kgen
