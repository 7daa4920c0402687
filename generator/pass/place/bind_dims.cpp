#include "generator/pass/place/bind_dims.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "generator/model/known_dims.hpp"

namespace kgen {
namespace {

// Of a dim that is one number, or says itself where it is read.
std::optional<DimSource> declared_source(const Graph& graph, const DimDeclaration& dim) {
  DimSource source{.name = dim.name, .range = dim.range};
  if (dim.range.low == dim.range.high) return source;
  if (dim.from.empty()) return std::nullopt;
  const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                  [&](const GraphInput& each) { return graph.value(each.value).name == dim.from; });
  source.kind = DimSource::Kind::element;
  source.input = static_cast<std::uint32_t>(input - graph.inputs.begin());
  source.element = dim.element.value_or(0);
  return source;
}

// In the order of the dims, but for those that follow from other dims: these stand behind them.
std::vector<DimSource> dim_sources(const Graph& graph) {
  std::set<std::string, std::less<>> declared;
  for (const DimDeclaration& dim : graph.dims) {
    if (declared_source(graph, dim)) declared.insert(dim.name);
  }
  std::vector<const Shape*> shapes;
  for (const GraphInput& input : graph.inputs) shapes.push_back(&graph.type(input.value).shape);
  std::map<std::string, DimSource> said;
  std::vector<std::string> following;
  for (const SaidDim& each : dims_said_by(shapes, std::move(declared))) {
    said[each.dim] = {.name = each.dim,
                      .kind = DimSource::Kind::extent,
                      .input = static_cast<std::uint32_t>(each.shape),
                      .axis = static_cast<std::uint32_t>(each.axis),
                      .rest = each.rest,
                      .step = each.step};
    if (!each.rest.is_constant()) following.push_back(each.dim);
  }
  std::vector<DimSource> sources;
  for (const DimDeclaration& dim : graph.dims) {
    if (auto source = declared_source(graph, dim)) sources.push_back(std::move(*source));
    const auto found = said.find(dim.name);
    if (found == said.end()) continue;
    found->second.range = dim.range;
    if (found->second.rest.is_constant()) sources.push_back(found->second);
  }
  for (const std::string& dim : following) sources.push_back(said[dim]);
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
