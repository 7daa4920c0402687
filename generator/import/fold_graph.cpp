#include "generator/import/fold_graph.hpp"

#include <fmt/format.h>

#include "generator/import/graph_text.hpp"

namespace kgen {
namespace {

// Of what is said of values by name, which a function would rename, and of what is folded already.
bool validate(const Module& module, Diagnostics& diagnostics) {
  const Graph& graph = module.main;
  const FusionDirectives& directives = graph.directives;
  const bool is_directed = !directives.forbid.empty() || !directives.force.empty() || !directives.expect.empty() ||
                           !directives.pin.empty();
  if (!module.functions.empty()) diagnostics.error(graph.where, "the graph has functions already");
  if (is_directed) {
    diagnostics.error(graph.where, "the graph says which values are computed together")
        .advise("say it in the graph that is written, where values have the names that they keep");
  }
  if (graph.numerics != Numerics::fast) {
    diagnostics.error(graph.where, "the graph says how its numbers are rounded")
        .advise("say it in the graph that is written");
  }
  return !diagnostics.has_errors();
}

// The one file that the weights are in.
std::optional<std::string> weights_file(const Graph& graph, Diagnostics& diagnostics) {
  std::string file;
  const auto add = [&](ValueId value, const GivenElements& given) {
    if (given.file.empty() || given.file == file) return true;
    if (!file.empty()) {
      diagnostics
          .error(graph.value(value).where, fmt::format("weights of several files: '{}' and '{}'", file, given.file))
          .advise("put them into one file");
      return false;
    }
    file = given.file;
    return true;
  };
  for (const ConstantData& constant : graph.constants) {
    if (!add(constant.value, constant)) return std::nullopt;
  }
  for (const StateData& state : graph.states) {
    if (!add(state.value, state.initial)) return std::nullopt;
  }
  return file;
}

}  // namespace

std::optional<std::string> fold_graph(const Module& module, const OpSet& ops, Diagnostics& diagnostics) {
  const auto file = validate(module, diagnostics) ? weights_file(module.main, diagnostics) : std::nullopt;
  if (!file) return std::nullopt;
  ClaimedNames names;
  GraphBuilder builder(ops, names);
  if (!builder.add_graph(module.main, diagnostics)) return std::nullopt;
  const Graph& graph = builder.graph();
  GraphText what;
  what.name = graph.name;
  what.doc = graph.doc;
  what.weights_file = *file;
  for (const DimDeclaration& dim : graph.dims) names.claim(dim.name);
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (builder.is_number(id)) continue;
    names.claim(graph.value(id).name);
    what.value_names[id] = graph.value(id).name;
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = output_name(graph, i);
    what.outputs.push_back({name, name, graph.outputs[i]});
  }
  return graph_text(what, builder).text;
}

}  // namespace kgen
