// Graph texts through the passes, with the operators and kernels of the repository.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "generator/base/source_map.hpp"
#include "generator/load/load_graph.hpp"
#include "generator/load/load_ops.hpp"
#include "generator/pass/choose/choose_kernels.hpp"
#include "generator/pass/choose/decompose.hpp"
#include "generator/pass/choose/prepare.hpp"
#include "generator/pass/fuse/fuse.hpp"
#include "generator/pass/fuse/report_unmet.hpp"
#include "generator/pass/infer/infer.hpp"
#include "generator/pass/lower/lower.hpp"
#include "generator/pass/materialise/materialise.hpp"
#include "generator/pass/order/order_axes.hpp"
#include "generator/pass/place/schedule.hpp"
#include "generator/pass/raise/raise.hpp"
#include "generator/pass/simplify/commute_factors.hpp"
#include "generator/pass/simplify/compute_parts.hpp"
#include "generator/pass/simplify/simplify.hpp"
#include "generator/pass/verify/verify_graph.hpp"
#include "tests/unit/repository.hpp"

namespace kgen::test {

struct Fixture {
  SourceMap sources;
  OpSet ops;
  Diagnostics diagnostics;

  // `own_ops` and `own_kernels` are texts of such files, or empty: a user's own.
  explicit Fixture(const std::string& own_ops = "", const std::string& own_kernels = "") {
    const std::filesystem::path root = repository::root();
    for (const auto& entry : std::filesystem::directory_iterator(root / "specs" / "ops")) {
      load_ops(*sources.read(entry.path().string(), diagnostics), ops, diagnostics);
    }
    if (!own_ops.empty()) load_ops(sources.add("my_ops.yaml", own_ops), ops, diagnostics);
    load_signatures(*sources.read((root / "templates" / "kgen" / "signatures.yaml").string(), diagnostics), ops, diagnostics);
    if (!own_kernels.empty()) load_signatures(sources.add("my_kernels.yaml", own_kernels), ops, diagnostics);
    link_ops(ops, diagnostics);
    REQUIRE_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
  }

  // load ... materialise, each result verified. Errors are left in `diagnostics`.
  Module prepare(const std::string& text, TargetKind target = TargetKind::cpu,
                 Architecture architecture = Architecture::none) {
    Module m = with_parts(text, target, architecture);
    GraphFacts facts{.inferred = true, .kernels_chosen = true, .decomposed = true};
    const auto then = [&](const char* name, auto pass) {
      if (!diagnostics.has_errors()) m = pass(std::move(m), ops, diagnostics);
      if (!diagnostics.has_errors()) verify_module(m, facts, name, diagnostics);
    };
    then("prepare", kgen::prepare);
    facts.materialised = true;
    then("materialise", materialise);
    return m;
  }

  // The same up to commute_factors.
  Module with_parts(const std::string& text, TargetKind target = TargetKind::cpu,
                    Architecture architecture = Architecture::none) {
    const SourceText& source = sources.add("graph.yaml", text);
    auto module = load_graph(source, ops, diagnostics);
    REQUIRE_MESSAGE(module, diagnostics.text(false));
    const auto set_target = [&](Graph& graph) {
      graph.target = target;
      graph.architecture = architecture;
    };
    for (Graph& function : module->functions) set_target(function);
    set_target(module->main);
    Module m = infer(std::move(*module), ops, diagnostics);
    GraphFacts facts{.inferred = true};
    const auto then = [&](const char* name, auto pass) {
      if (!diagnostics.has_errors()) verify_module(m, facts, name, diagnostics);
      if (!diagnostics.has_errors()) m = pass(std::move(m), ops, diagnostics);
    };
    then("infer", [](Module d, const OpSet& o, Diagnostics&) { return raise(std::move(d), o); });
    then("raise", choose_kernels);
    facts.kernels_chosen = true;
    then("choose_kernels", decompose);
    facts.decomposed = true;
    then("decompose", [](Module d, const OpSet& o, Diagnostics& found) { return simplify(std::move(d), o, found); });
    then("simplify", order_axes);
    then("order_axes", [](Module d, const OpSet& o, Diagnostics&) { return compute_parts(std::move(d), o); });
    then("compute_parts", [](Module d, const OpSet& o, Diagnostics&) { return commute_factors(std::move(d), o); });
    if (!diagnostics.has_errors()) verify_module(m, facts, "commute_factors", diagnostics);
    return m;
  }

  FusedGraph fuse_main(const std::string& text, TargetKind target = TargetKind::cpu,
                       Architecture architecture = Architecture::none) {
    const Module module = prepare(text, target, architecture);
    REQUIRE_MESSAGE(!diagnostics.has_errors(), diagnostics.text(false));
    FusedGraph fused = fuse(module.main, {});
    verify_fused(fused, "fuse", diagnostics);
    report_unmet(fused, diagnostics);
    return fused;
  }
};

inline ValueId value_named(const Graph& graph, const std::string& name) {
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].name == name) return id;
  }
  FAIL("no value is named " << name);
  return no_id;
}

inline std::uint32_t group_making(const FusedGraph& fused, const std::string& name) {
  return fused.group_of[fused.graph.value(value_named(fused.graph, name)).producer];
}

inline bool together(const FusedGraph& fused, const std::string& a, const std::string& b) {
  return group_making(fused, a) == group_making(fused, b);
}

// Why the nodes that make `producer` and `consumer` are, or are not, one stub.
inline std::string reason(const FusedGraph& fused, const std::string& producer, const std::string& consumer) {
  const NodeId from = fused.graph.value(value_named(fused.graph, producer)).producer;
  const NodeId to = fused.graph.value(value_named(fused.graph, consumer)).producer;
  for (const Decision& made : fused.decisions) {
    if (made.producer == from && made.consumer == to) return made.reason;
  }
  return "no decision";
}

}  // namespace kgen::test
