#include "tests/fuzz/project/common.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "generator/base/source_map.hpp"
#include "generator/load/load_graph.hpp"
#include "generator/load/load_import_rules.hpp"
#include "generator/load/load_ops.hpp"
#include "generator/pass/infer/infer.hpp"

namespace kgen::fuzz {
namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& each : std::filesystem::directory_iterator(std::string(KGEN_SOURCE_DIRECTORY "/") + folder)) {
    if (each.path().extension() == ".yaml") files.push_back(each.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

void report(std::string_view what, const Diagnostics& diagnostics) {
  std::fprintf(stderr, "%.*s\n%s\n", static_cast<int>(what.size()), what.data(), diagnostics.text(false).c_str());
  std::abort();
}

const OpSet& shipped_ops() {
  static SourceMap sources;
  static const OpSet set = [] {
    OpSet result;
    Diagnostics diagnostics;
    for (const std::string& path : files_in("specs/ops"))
      load_ops(*sources.read(path, diagnostics), result, diagnostics);
    load_signatures(*sources.read(KGEN_SOURCE_DIRECTORY "/templates/kgen/signatures.yaml", diagnostics), result,
                    diagnostics);
    link_ops(result, diagnostics);
    if (diagnostics.has_errors()) report("the operators have errors", diagnostics);
    return result;
  }();
  return set;
}

const ImportRules& shipped_rules() {
  static SourceMap sources;
  static const ImportRules set = [] {
    ImportRules rules;
    Diagnostics diagnostics;
    for (const std::string& path : files_in("specs/onnx")) {
      load_import_rules(*sources.read(path, diagnostics), shipped_ops(), rules, diagnostics);
    }
    link_import_rules(rules, diagnostics);
    if (diagnostics.has_errors()) report("the rules have errors", diagnostics);
    return rules;
  }();
  return set;
}

void read_graph(std::string text) {
  const SourceText source{"graph.yaml", std::move(text)};
  Diagnostics diagnostics;
  auto module = load_graph(source, shipped_ops(), diagnostics);
  if (module.has_value() == diagnostics.has_errors())
    report("loaded despite errors, or not loaded without", diagnostics);
  if (module) infer(std::move(*module), shipped_ops(), diagnostics);
  diagnostics.text(false);
}

}  // namespace kgen::fuzz
