#include "generator/model/graph.hpp"

#include <algorithm>

namespace kgen {

std::string to_text(const TensorType& type) { return std::string(info(type.dtype).name) + to_text(type.shape); }

const AttributeValue* find_attribute(const Attributes& attributes, std::string_view name) {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const auto& each) { return each.first == name; });
  return found == attributes.end() ? nullptr : &found->second;
}

DimRanges ranges_of(const Graph& graph) {
  DimRanges ranges;
  for (const DimDeclaration& dim : graph.dims) ranges.emplace(dim.name, dim.range);
  return ranges;
}

}  // namespace kgen
