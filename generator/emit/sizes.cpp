#include "generator/emit/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "generator/base/languages.hpp"
#include "generator/emit/cpp_text.hpp"

namespace kgen {
namespace {

// How a dim is found at run time.
struct Origin {
  std::string expression;          // "call.input_extent(0, 1) / 2"
  std::vector<std::string> needs;  // the dims that it mentions
};
using Origins = std::vector<std::pair<std::string, Origin>>;  // in an order in which they can be declared

// extent = coefficient * symbol + rest, with a positive constant coefficient and a rest without the symbol.
struct Solution {
  std::int64_t coefficient = 1;
  Dim rest;
};
std::optional<Solution> solve_for(const Dim& extent, const std::string& symbol) {
  DimBindings at;
  for (const std::string& name : extent.symbols()) at[name] = 0;
  const std::int64_t at_zero = extent.evaluate(at);
  at[symbol] = 1;
  Solution solution;
  solution.coefficient = extent.evaluate(at) - at_zero;
  solution.rest = extent - Dim(solution.coefficient) * Dim::symbol(symbol);
  const std::vector<std::string> others = solution.rest.symbols();
  if (solution.coefficient < 1 || std::find(others.begin(), others.end(), symbol) != others.end()) return std::nullopt;
  return solution;
}

std::string solved_text(std::string extent, const Solution& solution) {
  if (solution.rest != Dim(0)) {
    const bool simple = solution.rest.is_constant() || solution.rest.as_symbol();
    extent += simple ? " - " + solution.rest.cpp() : fmt::format(" - ({})", solution.rest.cpp());
    if (solution.coefficient != 1) extent = "(" + extent + ")";
  }
  return solution.coefficient == 1 ? extent : fmt::format("{} / {}", extent, solution.coefficient);
}

// Every dim that is fixed, comes from a scalar, or is an extent by itself; in the order of their declaration.
Origins direct_origins(const Graph& graph, const std::string& call) {
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
      origins.push_back({dim.name, {}});
    } else if (!dim.from.empty()) {
      const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](const GraphInput& candidate) {
        return graph.value(candidate.value).name == dim.from;
      });
      origins.push_back({dim.name, {fmt::format("{}.input_scalar({})", call, input - graph.inputs.begin()), {}}});
    } else if (const auto extent = extents.find(dim.name); extent != extents.end()) {
      origins.push_back({dim.name, {extent->second, {}}});
    }
  }
  return origins;
}

// Adds the dims that only stand within larger expressions, as far as the extents of inputs give them.
void add_solved_origins(const Graph& graph, const std::string& call, Origins& origins) {
  std::set<std::string, std::less<>> known;
  for (const auto& [name, origin] : origins) known.insert(name);
  for (bool found = true; found && known.size() < graph.dims.size();) {
    found = false;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const Shape& shape = graph.type(graph.inputs[i].value).shape;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        std::vector<std::string> symbols = shape[axis].symbols();
        const auto is_known = [&](const std::string& name) { return known.contains(name); };
        const auto open = std::find_if_not(symbols.begin(), symbols.end(), is_known);
        if (open == symbols.end() || std::find_if_not(open + 1, symbols.end(), is_known) != symbols.end()) continue;
        const auto solution = solve_for(shape[axis], *open);
        if (!solution) continue;
        Origin origin{solved_text(fmt::format("{}.input_extent({}, {})", call, i, axis), *solution),
                      solution->rest.symbols()};
        known.insert(*open);
        origins.emplace_back(*open, std::move(origin));
        found = true;
      }
    }
  }
}

const DimDeclaration& declaration_of(const Graph& graph, std::string_view name) {
  const auto found =
      std::find_if(graph.dims.begin(), graph.dims.end(), [&](const DimDeclaration& dim) { return dim.name == name; });
  assert(found != graph.dims.end());
  return *found;
}

}  // namespace

bool is_size(const Graph& graph, ValueId input) {
  return std::any_of(graph.dims.begin(), graph.dims.end(),
                     [&](const DimDeclaration& dim) { return dim.from == graph.value(input).name; });
}

bool write_sizes(Writer& writer, const Graph& graph, const std::vector<std::string>& dims, const std::string& call) {
  Origins origins = direct_origins(graph, call);
  add_solved_origins(graph, call, origins);
  std::set<std::string, std::less<>> needed(dims.begin(), dims.end());
  for (auto origin = origins.rbegin(); origin != origins.rend(); ++origin) {
    if (needed.contains(origin->first)) needed.insert(origin->second.needs.begin(), origin->second.needs.end());
  }
  std::erase_if(origins, [&](const auto& origin) { return !needed.contains(origin.first); });
  if (origins.empty()) return false;
  writer.line("// Sizes, each checked against its range.");
  for (const auto& [name, origin] : origins) {
    const DimRange range = declaration_of(graph, name).range;
    if (range.low == range.high) {
      writer.line("constexpr std::int64_t {} = {};", name, range.low);
    } else {
      write_list(writer, fmt::format("const std::int64_t {} = {}.dim(", name, call),
                 {cpp_string(name), std::to_string(range.low), std::to_string(range.high), origin.expression}, ");");
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
