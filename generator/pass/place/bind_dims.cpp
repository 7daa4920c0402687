#include "generator/pass/place/bind_dims.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace kgen {
namespace {

struct InputAxis {
  std::uint32_t input = 0, axis = 0;
};

// Of every symbol that is an extent by itself, the first.
std::map<std::string, InputAxis> extents_of(const Graph& graph) {
  std::map<std::string, InputAxis> extents;
  for (std::uint32_t input = 0; input < graph.inputs.size(); ++input) {
    const Shape& shape = graph.type(graph.inputs[input].value).shape;
    for (std::uint32_t axis = 0; axis < shape.size(); ++axis) {
      if (const auto symbol = shape[axis].as_symbol()) extents.try_emplace(*symbol, InputAxis{input, axis});
    }
  }
  return extents;
}

std::vector<DimSource> dim_sources(const Graph& graph) {
  const std::map<std::string, InputAxis> extents = extents_of(graph);
  std::vector<DimSource> sources;
  for (const DimDeclaration& dim : graph.dims) {
    DimSource source{.name = dim.name, .range = dim.range};
    if (dim.range.low == dim.range.high) {
      source.kind = DimSource::Kind::fixed;
    } else if (!dim.from.empty()) {
      const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                      [&](const GraphInput& each) { return graph.value(each.value).name == dim.from; });
      source.kind = DimSource::Kind::element;
      source.input = static_cast<std::uint32_t>(input - graph.inputs.begin());
      source.element = dim.element.value_or(0);
    } else if (const auto extent = extents.find(dim.name); extent != extents.end()) {
      source.kind = DimSource::Kind::extent;
      source.input = extent->second.input;
      source.axis = extent->second.axis;
    } else {
      continue;
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

// By function: whether a run calls it. A function calls only functions before it.
std::vector<bool> called_functions(const Plan& plan) {
  std::vector<bool> called(plan.functions.size(), false);
  const auto call_all = [&](const Graph& graph) {
    for (const Node& node : graph.nodes) {
      if (const auto* call = std::get_if<Call>(&node.kind)) called[call->function] = true;
    }
  };
  call_all(plan.main.fused.graph);
  for (std::size_t i = called.size(); i-- > 0;) {
    if (called[i]) call_all(plan.functions[i].fused.graph);
  }
  return called;
}

std::vector<DimRequirement> open_requirements(const Plan& plan) {
  std::vector<DimRequirement> open;
  std::set<std::string> seen;
  const auto add = [&](const Graph& graph) {
    const DimRanges ranges = ranges_of(graph);
    for (const DimRequirement& requirement : graph.requirements) {
      if (provably_at_most(requirement.left, requirement.right, ranges)) continue;
      if (seen.insert(requirement.left.text() + "<=" + requirement.right.text()).second) open.push_back(requirement);
    }
  };
  add(plan.main.fused.graph);
  const std::vector<bool> called = called_functions(plan);
  for (std::size_t i = 0; i < called.size(); ++i) {
    if (called[i]) add(plan.functions[i].fused.graph);
  }
  return open;
}

}  // namespace

Plan bind_dims(Plan plan) {
  plan.dim_sources = dim_sources(plan.main.fused.graph);
  plan.open_requirements = open_requirements(plan);
  return plan;
}

}  // namespace kgen
