#include "generator/pass/verify/verify_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "generator/base/parallel.hpp"

namespace kgen {
namespace {

constexpr std::string_view report_it = "this is a fault of kgen, not of the graph; please report it with the graph";

std::string bindings_text(const DimBindings& bindings) {
  std::string text;
  for (const auto& [name, value] : bindings) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text;
}

}  // namespace

std::vector<DimBindings> sample_bindings(const Graph& graph) {
  constexpr std::size_t most = 6;
  const auto bind = [&](const auto& choose) {
    DimBindings bindings;
    for (std::size_t i = 0; i < graph.dims.size(); ++i) bindings[graph.dims[i].name] = choose(i, graph.dims[i].range);
    return bindings;
  };
  std::vector<DimBindings> samples = {
      bind([](std::size_t, DimRange range) { return range.low; }),
      bind([](std::size_t, DimRange range) { return range.high; }),
      bind([](std::size_t, DimRange range) { return range.low + (range.high - range.low) / 2; })};
  for (std::size_t high = 0; high < graph.dims.size() && samples.size() < most; ++high) {
    samples.push_back(bind([&](std::size_t i, DimRange range) { return i == high ? range.high : range.low; }));
  }
  std::erase_if(samples, [&](const DimBindings& bindings) {
    return std::any_of(graph.requirements.begin(), graph.requirements.end(), [&](const DimRequirement& requirement) {
      return requirement.left.evaluate(bindings) > requirement.right.evaluate(bindings);
    });
  });
  std::vector<DimBindings> unique;
  for (DimBindings& bindings : samples) {
    if (std::find(unique.begin(), unique.end(), bindings) == unique.end()) unique.push_back(std::move(bindings));
  }
  return unique;
}

void verify_samples(const Graph& graph,
                    const std::function<std::vector<std::string>(const DimBindings&)>& problems_with,
                    Diagnostics& diagnostics) {
  const std::vector<DimBindings> samples = sample_bindings(graph);
  std::vector<std::future<std::vector<std::string>>> problems;
  for (const DimBindings& sample : samples) {
    problems.push_back(std::async(beside_if_many(graph.nodes.size()), [&] { return problems_with(sample); }));
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (report_problems(graph, problems[i].get(), samples[i], diagnostics)) return;
  }
}

bool report_problems(const Graph& graph, const std::vector<std::string>& problems, const DimBindings& bindings,
                     Diagnostics& diagnostics) {
  for (const std::string& problem : problems) {
    Diagnostic& error =
        diagnostics.error(graph.where, fmt::format("internal error in the plan of '{}': {}", graph.name, problem));
    if (!bindings.empty()) error.note("found with " + bindings_text(bindings));
    error.advise(std::string(report_it));
  }
  return !problems.empty();
}

bool report_problems(const Graph& graph, std::string_view pass, const std::vector<std::string>& problems,
                     Diagnostics& diagnostics) {
  for (const std::string& problem : problems) {
    diagnostics
        .error(graph.where, fmt::format("internal error in the plan of '{}', after {}: {}", graph.name, pass, problem))
        .advise(std::string(report_it));
  }
  return !problems.empty();
}

}  // namespace kgen
