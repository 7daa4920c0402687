// Graphs as text, loaded and inferred with the operators that kgen ships.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/base/source_map.hpp"
#include "generator/load/load_graph.hpp"
#include "generator/load/load_ops.hpp"
#include "generator/pass/infer/infer.hpp"
#include "tests/unit/repository.hpp"

namespace kgen::test {

// The operators of specs/ops and the kernels of templates/kgen, loaded once.
inline const OpSet& shipped_ops() {
  static SourceMap sources;
  static const OpSet set = [] {
    OpSet result;
    Diagnostics diagnostics;
    for (const std::string& path : repository::files_below("specs/ops", {".yaml"})) {
      load_ops(sources.add(path, repository::read(path)), result, diagnostics);
    }
    load_signatures(sources.add("signatures.yaml", repository::read("templates/kgen/signatures.yaml")), result,
                    diagnostics);
    link_ops(result, diagnostics);
    REQUIRE_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
    return result;
  }();
  return set;
}

struct Inferred {
  Module module;
  Diagnostics diagnostics;

  const Value& value(std::string_view name) const {
    for (const Value& each : module.main.values) {
      if (each.name == name) return each;
    }
    FAIL("no value named ", std::string(name));
    return module.main.values.front();
  }
  // "f32[M, 4096]"
  std::string type(std::string_view name) const {
    const Value& found = value(name);
    return found.type ? to_text(*found.type) : "no type";
  }
  const Node& node(std::string_view result) const { return module.main.nodes[value(result).producer]; }
};

// Requires that the graph can be loaded. Whether it could be inferred, its diagnostics say.
inline Inferred infer_text(std::string text) {
  static SourceMap sources;
  Diagnostics load_diagnostics;
  auto module = load_graph(sources.add("graph.yaml", std::move(text)), shipped_ops(), load_diagnostics);
  REQUIRE_MESSAGE(module, load_diagnostics.text(false));
  Inferred result;
  result.module = infer(std::move(*module), shipped_ops(), result.diagnostics);
  return result;
}

// The same, for a graph without errors.
inline Inferred infer_good(std::string text) {
  Inferred result = infer_text(std::move(text));
  REQUIRE_MESSAGE(!result.diagnostics.has_errors(), result.diagnostics.text(false));
  return result;
}

// The messages of a graph with errors: "line: message", then "note: ..." and "help: ..." on lines of their own.
inline std::string problems_of(std::string text) {
  const Inferred inferred = infer_text(std::move(text));
  std::string result;
  for (const Diagnostic& each : inferred.diagnostics.all()) {
    if (!result.empty()) result += '\n';
    result += std::to_string(each.where.line) + ": " + each.message;
    for (const auto& [where, note] : each.notes) result += "\nnote: " + note;
    if (!each.help.empty()) result += "\nhelp: " + each.help;
  }
  return result;
}

}  // namespace kgen::test
