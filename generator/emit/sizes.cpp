#include "generator/emit/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "generator/base/ensure.hpp"
#include "generator/base/languages.hpp"
#include "generator/emit/cpp_text.hpp"

namespace kgen {
namespace {

// The dims, and how each is found at run time: "call.input_extent(0, 1)"; empty where it is fixed.
using Origins = std::vector<std::pair<std::string, std::string>>;

// Every dim that is fixed, comes from a scalar, or is an extent by itself; in the order of their declaration.
Origins origins_of(const Graph& graph, const std::string& call) {
  std::map<std::string, std::string, std::less<>> extents;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = graph.type(graph.inputs[i].value).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (const auto symbol = shape[axis].as_symbol()) {
        extents.try_emplace(*symbol, fmt::format("{}.input_extent({}, {})", call, i, axis));
      }
    }
  }
  Origins origins;
  for (const DimDeclaration& dim : graph.dims) {
    if (dim.range.low == dim.range.high) {
      origins.emplace_back(dim.name, "");
    } else if (!dim.from.empty()) {
      const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](const GraphInput& candidate) {
        return graph.value(candidate.value).name == dim.from;
      });
      origins.emplace_back(dim.name, fmt::format("{}.input_scalar({})", call, input - graph.inputs.begin()));
    } else if (const auto extent = extents.find(dim.name); extent != extents.end()) {
      origins.emplace_back(dim.name, extent->second);
    }
  }
  return origins;
}

const DimDeclaration& declaration_of(const Graph& graph, std::string_view name) {
  const auto found =
      std::find_if(graph.dims.begin(), graph.dims.end(), [&](const DimDeclaration& dim) { return dim.name == name; });
  ensure(found != graph.dims.end(), "every symbol of a graph is declared");
  return *found;
}

}  // namespace

bool is_size(const Graph& graph, ValueId input) {
  return std::any_of(graph.dims.begin(), graph.dims.end(),
                     [&](const DimDeclaration& dim) { return dim.from == graph.value(input).name; });
}

bool write_sizes(Writer& writer, const Graph& graph, const std::vector<std::string>& dims, const std::string& call) {
  Origins origins = origins_of(graph, call);
  const std::set<std::string, std::less<>> needed(dims.begin(), dims.end());
  std::erase_if(origins, [&](const auto& origin) { return !needed.contains(origin.first); });
  if (origins.empty()) return false;
  writer.line("// Sizes, each checked against its range.");
  for (const auto& [name, origin] : origins) {
    const DimRange range = declaration_of(graph, name).range;
    if (range.low == range.high) {
      writer.line("constexpr std::int64_t {} = {};", name, range.low);
    } else {
      write_list(writer, fmt::format("const std::int64_t {} = {}.dim(", name, call),
                 {cpp_string(name), std::to_string(range.low), std::to_string(range.high), origin}, ");");
    }
  }
  return true;
}

void write_fixed_sizes(Writer& writer, const Graph& graph, const std::vector<std::string>& dims) {
  for (const std::string& name : dims) {
    const DimRange range = declaration_of(graph, name).range;
    if (range.low == range.high) writer.line("constexpr std::int64_t {} = {};", name, range.low);
  }
}

std::vector<const DimRequirement*> open_requirements(const Plan& plan, const CallNumbers& numbers) {
  std::vector<const DimRequirement*> open;
  std::set<std::string> seen;
  const auto add = [&](const Graph& graph) {
    const DimRanges ranges = ranges_of(graph);
    for (const DimRequirement& requirement : graph.requirements) {
      if (provably_at_most(requirement.left, requirement.right, ranges)) continue;
      if (seen.insert(requirement.left.text() + "<=" + requirement.right.text()).second) open.push_back(&requirement);
    }
  };
  add(plan.main.fused.graph);
  for (std::size_t i = 0; i < plan.functions.size(); ++i) {
    if (numbers.calls[i] > 0) add(plan.functions[i].fused.graph);
  }
  return open;
}

void write_requirements(Writer& writer, const std::vector<const DimRequirement*>& requirements,
                        const std::string& call) {
  for (const DimRequirement* requirement : requirements) {
    write_list(writer, fmt::format("{}.require(", call),
               {requirement->left.cpp(), requirement->right.cpp(), cpp_string(requirement->meaning)}, ");");
  }
}

}  // namespace kgen
