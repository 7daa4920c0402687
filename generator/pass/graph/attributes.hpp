// Attributes of nodes compared, and hashes for tables of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "generator/model/graph.hpp"

namespace kgen {

// Numbers by their bits: NaN is as NaN, and 0 is not as -0.
bool same_attribute(const AttributeValue& a, const AttributeValue& b);
bool same_attributes(const Attributes& a, const Attributes& b);

// A hash with one more number mixed in.
std::size_t mix(std::size_t hash, std::uint64_t number);

std::uint64_t hash_of(const Number& number);
std::uint64_t hash_of(const std::string& text);
std::uint64_t hash_of(DType dtype);
// Of sizes only the constant term, which is cheap; equality tells the rest apart.
std::uint64_t hash_of(const Dim& dim);
std::uint64_t hash_of(const Shape& shape);
std::uint64_t hash_of(const AttributeValue& value);

}  // namespace kgen
