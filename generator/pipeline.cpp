#include "generator/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <future>
#include <type_traits>
#include <utility>

#include "generator/emit/check.hpp"
#include "generator/emit/lines_yaml.hpp"
#include "generator/emit/plan_yaml.hpp"
#include "generator/emit/stub.hpp"
#include "generator/emit/wrapper.hpp"
#include "generator/explain/dump.hpp"
#include "generator/kernels.hpp"
#include "generator/load/load_graph.hpp"
#include "generator/load/load_ops.hpp"
#include "generator/pass/choose/choose_kernels.hpp"
#include "generator/pass/choose/decompose.hpp"
#include "generator/pass/choose/prepare.hpp"
#include "generator/pass/fuse/fuse.hpp"
#include "generator/pass/fuse/report_unmet.hpp"
#include "generator/pass/infer/infer.hpp"
#include "generator/pass/lower/lower_plan.hpp"
#include "generator/pass/lower/plan_check.hpp"
#include "generator/pass/materialise/materialise.hpp"
#include "generator/pass/order/order_axes.hpp"
#include "generator/pass/place/bind_dims.hpp"
#include "generator/pass/place/place.hpp"
#include "generator/pass/place/schedule.hpp"
#include "generator/pass/raise/raise.hpp"
#include "generator/pass/simplify/commute_factors.hpp"
#include "generator/pass/simplify/compute_parts.hpp"
#include "generator/pass/simplify/simplify.hpp"
#include "generator/pass/verify/verify.hpp"
#include "generator/pass/verify/verify_dims.hpp"
#include "generator/pass/verify/verify_graph.hpp"
#include "generator/pass/verify/verify_views.hpp"
#include "generator/spec/target_conditions.hpp"

namespace kgen {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// A pass: what it is called, what holds of graphs after it, and whether `dump_after` may name it.
struct PassInfo {
  std::string_view name;
  GraphFacts holds = {};
  bool is_dumped = true;
};

constexpr GraphFacts inferred = {.inferred = true};
constexpr GraphFacts with_kernels = {.inferred = true, .kernels_chosen = true};
constexpr GraphFacts decomposed = {.inferred = true, .kernels_chosen = true, .decomposed = true};
constexpr GraphFacts materialised = {
    .inferred = true, .kernels_chosen = true, .decomposed = true, .materialised = true};

// In their order.
constexpr std::array passes_in_order = {
    PassInfo{"load"},
    PassInfo{"infer", inferred},
    PassInfo{"raise", inferred},
    PassInfo{"choose_kernels", with_kernels},
    PassInfo{"decompose", decomposed},
    PassInfo{"simplify", decomposed},
    PassInfo{"order_axes", decomposed},
    PassInfo{"compute_parts", decomposed},
    PassInfo{"commute_factors", decomposed},
    PassInfo{"prepare", decomposed},
    PassInfo{"materialise", materialised},
    PassInfo{"fuse", materialised},
    PassInfo{"schedule", materialised},
    PassInfo{"place", materialised, false},
    PassInfo{"lower", materialised, false},
    PassInfo{"bind_dims", materialised, false},
    PassInfo{"check", materialised, false},
};

// One of them; no other name compiles.
struct Pass {
  const PassInfo& info;
  consteval Pass(const char* name)
      : info(*std::find_if(passes_in_order.begin(), passes_in_order.end(),
                           [&](const PassInfo& each) { return each.name == name; })) {}
};

// Runs passes one after another: none after an error. What each makes is verified.
class PassRunner {
 public:
  PassRunner(const PipelineOptions& options, Diagnostics& diagnostics) : options_(options), diagnostics_(diagnostics) {}

  const PipelineOptions& options() const { return options_; }

  // What `make` makes of `in`; after an error an empty one. `verify` reports what is wrong with it.
  template <class In, class Make, class Verify>
  auto run(Pass pass, In in, const Make& make, const Verify& verify) {
    std::invoke_result_t<Make, In> out{};
    if (diagnostics_.has_errors()) return out;
    const auto begin = Clock::now();
    if (options_.progress && begin - start_ > std::chrono::seconds(1)) {
      fmt::print(stderr, "kgen: {} ...\n", pass.info.name);
    }
    out = make(std::move(in));
    const auto made = Clock::now();
    if (!diagnostics_.has_errors()) verify(std::as_const(out));
    if (options_.timings) {
      fmt::print(stderr, "kgen: {:<14} {:8.2f} ms, verified in {:.2f} ms\n", pass.info.name,
                 Milliseconds(made - begin).count(), Milliseconds(Clock::now() - made).count());
    }
    if constexpr (requires { dump(out); }) {
      if (options_.dump_after == pass.info.name) fmt::print("{}", dump(out));
    }
    return out;
  }

  // The same for passes that make what the verifiers of graphs and of groups know.
  template <class In, class Make>
  auto run(Pass pass, In in, const Make& make) {
    return run(pass, std::move(in), make, [&](const auto& out) { verify_made(pass.info, out); });
  }

 private:
  void verify_made(const PassInfo& pass, const Module& module) {
    verify_module(module, pass.holds, pass.name, diagnostics_);
  }
  void verify_made(const PassInfo& pass, const FusedGraph& fused) { verify_fused(fused, pass.name, diagnostics_); }
  void verify_made(const PassInfo& pass, const CheckPlan& check) {
    for (const UnfusedGraph& each : check.functions) verify_fused(each.fused, pass.name, diagnostics_);
    verify_fused(check.main.fused, pass.name, diagnostics_);
  }

  const PipelineOptions& options_;
  Diagnostics& diagnostics_;
  Clock::time_point start_ = Clock::now();
};

// fuse ... lower of one graph. `function`: its name, empty for main; `done` are the functions that it may call.
FunctionPlan plan_graph(Graph graph, const std::string& function, const std::vector<FunctionPlan>& done,
                        PassRunner& passes, Session& session, StubTable& stubs) {
  // Check mode runs stub by stub.
  const std::uint32_t streams = passes.options().check ? 1 : passes.options().streams;
  FusedGraph fused = passes.run("fuse", std::move(graph), [&](Graph g) {
    return fuse(std::move(g), {.without = passes.options().without});
  });
  fused = passes.run("schedule", std::move(fused), [](FusedGraph f) { return schedule(std::move(f)); });
  FunctionPlan plan = passes.run(
      "place", std::move(fused), [&](FusedGraph f) { return place(std::move(f), done, streams); },
      [&](const FunctionPlan& placed) { verify(placed, done, session.diagnostics); });
  return passes.run(
      "lower", std::move(plan), [&](FunctionPlan p) { return lower_plan(std::move(p), function, session.ops, stubs); },
      [&](const FunctionPlan& lowered) { verify_views(lowered, stubs.stubs(), session.diagnostics); });
}

}  // namespace

std::vector<std::string> dumped_passes() {
  std::vector<std::string> names;
  for (const PassInfo& pass : passes_in_order) {
    if (pass.is_dumped) names.emplace_back(pass.name);
  }
  return names;
}

bool load_operators(const PipelineOptions& options, Session& session) {
  for (const std::string& path : options.spec_files) {
    const SourceText* text = session.sources.read(path, session.diagnostics);
    if (!text) continue;
    session.read_files.push_back(path);
    load_ops(*text, session.ops, session.diagnostics);
  }
  load_kernels(options, session);
  session.ops.tuning.insert(session.ops.tuning.end(), options.tuning.begin(), options.tuning.end());
  if (!session.diagnostics.has_errors()) link_ops(session.ops, session.diagnostics);
  if (!session.diagnostics.has_errors()) warn_of_hidden_kernels(session.ops, session.diagnostics);
  return !session.diagnostics.has_errors();
}

std::optional<Plan> make_plan(const PipelineOptions& options, Session& session) {
  Diagnostics& diagnostics = session.diagnostics;
  PassRunner passes(options, diagnostics);
  const OpSet& ops = session.ops;
  if (!load_operators(options, session)) return std::nullopt;
  keep_conditions_of(options.target, options.architecture, session.ops);
  if (options.graph.ends_with(".onnx")) {
    diagnostics.error({}, fmt::format("'{}' is an ONNX model, and no graph", options.graph))
        .advise("write it as a graph, which is then planned: `kgen import model.onnx -o model.yaml`");
    return std::nullopt;
  }
  const SourceText* text = session.sources.read(options.graph, diagnostics);
  if (!text) return std::nullopt;
  session.read_files.push_back(options.graph);

  const auto with_ops = [&](auto pass) {
    return [&ops, &diagnostics, pass](Module m) { return pass(std::move(m), ops, diagnostics); };
  };
  const auto load = [&](const SourceText* t) {
    Module loaded = load_graph(*t, ops, diagnostics).value_or(Module{});
    const auto set_target = [&](Graph& graph) {
      graph.target = options.target;
      graph.architecture = options.architecture;
    };
    std::for_each(loaded.functions.begin(), loaded.functions.end(), set_target);
    set_target(loaded.main);
    return loaded;
  };
  Module module = passes.run("load", text, load);
  module = passes.run("infer", std::move(module), with_ops(infer));
  module = passes.run("raise", std::move(module), [&](Module m) { return raise(std::move(m), ops); });
  module = passes.run("choose_kernels", std::move(module), with_ops(choose_kernels));
  module = passes.run("decompose", std::move(module), with_ops(decompose));
  module = passes.run("simplify", std::move(module), [&](Module m) { return simplify(std::move(m), ops, diagnostics); });
  module = passes.run("order_axes", std::move(module), with_ops(order_axes));
  module = passes.run("compute_parts", std::move(module), [&](Module m) { return compute_parts(std::move(m), ops); });
  module =
      passes.run("commute_factors", std::move(module), [&](Module m) { return commute_factors(std::move(m), ops); });
  module = passes.run("prepare", std::move(module), with_ops(prepare));
  module = passes.run("materialise", std::move(module), with_ops(materialise));
  if (diagnostics.has_errors()) return std::nullopt;

  Plan plan;
  plan.file = options.graph;
  StubTable stubs;
  for (Graph& function : module.functions) {
    const std::string name = function.name;
    plan.functions.push_back(plan_graph(std::move(function), name, plan.functions, passes, session, stubs));
  }
  plan.main = plan_graph(std::move(module.main), "", plan.functions, passes, session, stubs);
  if (diagnostics.has_errors()) return std::nullopt;
  plan.stubs = stubs.take();
  plan =
      passes.run("bind_dims", std::move(plan), bind_dims, [&](const Plan& bound) { verify_dims(bound, diagnostics); });
  if (options.without.empty()) {
    for (const FunctionPlan& function : plan.functions) report_unmet(function.fused, diagnostics);
    report_unmet(plan.main.fused, diagnostics);
  }
  if (diagnostics.has_errors() && !options.explain) return std::nullopt;
  if (options.check) {
    plan.check = passes.run("check", &plan, [&](const Plan* p) { return plan_check(*p, ops); });
    if (diagnostics.has_errors() && !options.explain) return std::nullopt;
  }
  return plan;
}

std::vector<SourceFile> emit_plan(const Plan& plan, const EmitOptions& options) {
  // The largest files of a large graph, written by two threads.
  std::future<std::vector<SourceFile>> records = std::async(std::launch::async, [&] {
    return std::vector{emit_plan_yaml(plan, options), emit_lines_yaml(plan, options)};
  });
  std::vector<SourceFile> files = emit_wrapper(plan, options);
  const std::string& name = plan.main.fused.graph.name;
  for (const StubProgram& stub : plan.stubs) files.push_back(emit_stub(stub, name, "stubs", options));
  if (plan.check) {
    for (const StubProgram& stub : plan.check->stubs) files.push_back(emit_stub(stub, name, "check", options));
    files.push_back(emit_check_header(plan, options));
    files.push_back(emit_check_source(plan, options));
  }
  for (SourceFile& file : records.get()) files.push_back(std::move(file));
  return files;
}

}  // namespace kgen
