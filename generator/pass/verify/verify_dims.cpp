#include "generator/pass/verify/verify_dims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "generator/pass/verify/verify_samples.hpp"

namespace kgen {
namespace {

bool is_found(const Graph& graph, const DimSource& source) {
  const auto dim = std::find_if(graph.dims.begin(), graph.dims.end(),
                                [&](const DimDeclaration& each) { return each.name == source.name; });
  if (dim == graph.dims.end()) return false;
  if (source.kind == DimSource::Kind::fixed) return dim->range.low == dim->range.high;
  if (source.input >= graph.inputs.size()) return false;
  const ValueId input = graph.inputs[source.input].value;
  if (source.kind == DimSource::Kind::element) return graph.value(input).name == dim->from;
  const Shape& shape = graph.type(input).shape;
  return source.axis < shape.size() && shape[source.axis] == source.rest + Dim(source.step) * Dim::symbol(source.name);
}

}  // namespace

std::vector<std::string> dim_problems(const Plan& plan) {
  const Graph& graph = plan.main.fused.graph;
  std::vector<std::string> problems;
  std::set<std::string, std::less<>> known;
  for (const DimSource& source : plan.dim_sources) {
    known.insert(source.name);
    if (!is_found(graph, source)) problems.push_back(fmt::format("'{}' is not what a run finds for it", source.name));
  }
  const auto need = [&](const Dim& size) {
    for (const std::string& symbol : size.symbols()) {
      if (known.insert(symbol).second) problems.push_back(fmt::format("a run needs '{}', and nothing says it", symbol));
    }
  };
  const auto need_all = [&](ValueId value) {
    for (const Dim& extent : graph.type(value).shape) need(extent);
  };
  for (const GraphInput& input : graph.inputs) need_all(input.value);
  std::for_each(graph.outputs.begin(), graph.outputs.end(), need_all);
  for (const Slot& slot : plan.main.slots) need(slot.bytes);
  return problems;
}

void verify_dims(const Plan& plan, Diagnostics& diagnostics) {
  report_problems(plan.main.fused.graph, "bind_dims", dim_problems(plan), diagnostics);
}

}  // namespace kgen
