#include "generator/emit/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "generator/base/languages.hpp"
#include "generator/emit/cpp_text.hpp"

namespace kgen {
namespace {

// "call.input_extent(0, 1)", "(call.input_extent(0, 1) - P) / 32"
std::string found_text(const Plan& plan, const DimSource& source, const std::string& call) {
  if (source.kind != DimSource::Kind::element) {
    std::string extent = fmt::format("{}.input_extent({}, {})", call, source.input, source.axis);
    if (source.rest != Dim(0)) extent = fmt::format("{} - ({})", extent, cpp_text(source.rest));
    if (source.step == 1) return extent;
    return fmt::format(fmt::runtime(source.rest != Dim(0) ? "({}) / {}" : "{} / {}"), extent, source.step);
  }
  const Graph& graph = plan.main.fused.graph;
  if (graph.type(graph.inputs[source.input].value).shape.empty())
    return fmt::format("{}.input_scalar({})", call, source.input);
  return fmt::format("{}.input_element({}, {})", call, source.input, source.element);
}

// Those that are among `dims`, and those that these follow from, in their own order.
std::vector<const DimSource*> needed_of(const std::vector<DimSource>& sources, const std::vector<std::string>& dims) {
  std::set<std::string, std::less<>> needed(dims.begin(), dims.end());
  std::vector<const DimSource*> found;
  for (std::size_t i = sources.size(); i-- > 0;) {
    if (!needed.contains(sources[i].name)) continue;
    found.push_back(&sources[i]);
    for (std::string& each : sources[i].rest.symbols()) needed.insert(std::move(each));
  }
  std::reverse(found.begin(), found.end());
  return found;
}

void write_fixed(Writer& writer, const DimSource& source) {
  writer.line("constexpr std::int64_t {} = {};", source.name, source.range.low);
}

}  // namespace

bool is_size(const Graph& graph, ValueId input) {
  return std::any_of(graph.dims.begin(), graph.dims.end(),
                     [&](const DimDeclaration& dim) { return dim.from == graph.value(input).name; });
}

bool write_sizes(Writer& writer, const Plan& plan, const std::vector<std::string>& dims, const std::string& call) {
  const std::vector<const DimSource*> needed = needed_of(plan.dim_sources, dims);
  if (needed.empty()) return false;
  writer.line("// Sizes, each checked against its range.");
  for (const DimSource* source : needed) {
    if (source->kind == DimSource::Kind::fixed) {
      write_fixed(writer, *source);
    } else {
      const auto [low, high] = source->range;
      write_list(writer, fmt::format("const std::int64_t {} = {}.dim(", source->name, call),
                 {cpp_string(source->name), std::to_string(low), std::to_string(high), found_text(plan, *source, call)},
                 ");");
    }
  }
  return true;
}

void write_fixed_sizes(Writer& writer, const Plan& plan, const std::vector<std::string>& dims) {
  for (const DimSource* source : needed_of(plan.dim_sources, dims)) {
    if (source->kind == DimSource::Kind::fixed) write_fixed(writer, *source);
  }
}

void write_requirements(Writer& writer, const std::vector<DimRequirement>& requirements, const std::string& call) {
  for (const DimRequirement& requirement : requirements) {
    write_list(writer, fmt::format("{}.require(", call),
               {cpp_text(requirement.left), cpp_text(requirement.right), cpp_string(requirement.meaning)}, ");");
  }
}

}  // namespace kgen
