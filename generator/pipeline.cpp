#include "generator/pipeline.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <future>

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
#include "generator/pass/fuse/check_expectations.hpp"
#include "generator/pass/fuse/fuse.hpp"
#include "generator/pass/infer/infer.hpp"
#include "generator/pass/lower/lower.hpp"
#include "generator/pass/lower/plan_check.hpp"
#include "generator/pass/materialise/materialise.hpp"
#include "generator/pass/place/place.hpp"
#include "generator/pass/place/schedule.hpp"
#include "generator/pass/raise/raise.hpp"
#include "generator/pass/simplify/simplify.hpp"
#include "generator/pass/verify/verify.hpp"
#include "generator/pass/verify/verify_views.hpp"

namespace kgen {
namespace {

using Clock = std::chrono::steady_clock;

// Runs passes one after another: none after an error.
class PassRunner {
 public:
  PassRunner(const PipelineOptions& options, const Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics) {}

  const PipelineOptions& options() const { return options_; }

  // pass() if there is no error yet, else the value as it is.
  template <class Value, class Pass>
  Value run(const char* name, Value value, Pass&& pass) {
    if (diagnostics_.has_errors()) return value;
    const auto begin = Clock::now();
    if (options_.progress && begin - start_ > std::chrono::seconds(1)) fmt::print(stderr, "kgen: {} ...\n", name);
    value = pass(std::move(value));
    const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
    if (options_.timings) fmt::print(stderr, "kgen: {:<14} {:8.2f} ms\n", name, time.count());
    if constexpr (requires { dump(value); }) {
      if (options_.dump_after == name) fmt::print("{}", dump(value));
    }
    return value;
  }

 private:
  const PipelineOptions& options_;
  const Diagnostics& diagnostics_;
  Clock::time_point start_ = Clock::now();
};

// fuse ... lower of one graph. `function`: its name, empty for main; `done` are the functions that it may call.
FunctionPlan plan_graph(Graph graph, const std::string& function, const std::vector<FunctionPlan>& done,
                        PassRunner& passes, Session& session, StubTable& stubs) {
  const std::string stub_prefix = function.empty() ? "stub_" : fmt::format("stub_{}_", function);
  const std::string name_prefix = function.empty() ? "" : function + ".";
  FusedGraph fused;
  fused.graph = std::move(graph);
  fused = passes.run("fuse", std::move(fused),
                     [](FusedGraph f) { return fuse(std::move(f.graph), {}); });
  fused = passes.run("schedule", std::move(fused), [](FusedGraph f) { return schedule(std::move(f)); });
  FunctionPlan plan;
  plan.fused = std::move(fused);
  plan = passes.run("place", std::move(plan), [&](FunctionPlan p) {
    // Check mode runs stub by stub.
    return place(std::move(p.fused), done, passes.options().check ? 1 : passes.options().streams);
  });
  plan = passes.run("verify", std::move(plan), [&](FunctionPlan p) {
    verify(p, done, session.diagnostics);
    return p;
  });
  plan = passes.run("lower", std::move(plan), [&](FunctionPlan p) {
    const FuseFacts facts(p.fused.graph);
    const std::vector<std::uint32_t> stub_of = lower(p.fused, session.ops, stub_prefix, stubs);
    for (auto* steps : {&p.load_steps, &p.steps}) {
      for (Step& step : *steps) {
        if (stub_of[step.group] == no_id) continue;
        const Group& group = p.fused.groups[step.group];
        step.stub = stub_of[step.group];
        step.name = name_prefix + result_name(facts, group);
        if (step.name == p.fused.graph.name) step.name += "." + step.name;  // a whole run goes by the graph's name
        step.arguments = stub_arguments(p.fused.graph, group);
      }
    }
    return p;
  });
  return passes.run("verify_views", std::move(plan), [&](FunctionPlan p) {
    verify_views(p, stubs.stubs(), session.diagnostics);
    return p;
  });
}

}  // namespace

const std::vector<std::string>& pass_names() {
  static const std::vector<std::string> names = {"load",     "infer",       "raise", "choose_kernels", "decompose",
                                                 "simplify", "materialise", "fuse",  "schedule"};
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
  if (!session.diagnostics.has_errors()) link_ops(session.ops, session.diagnostics);
  if (!session.diagnostics.has_errors()) warn_of_hidden_kernels(session.ops, session.diagnostics);
  return !session.diagnostics.has_errors();
}

std::optional<Plan> make_plan(const PipelineOptions& options, Session& session) {
  Diagnostics& diagnostics = session.diagnostics;
  PassRunner passes(options, diagnostics);
  const OpSet& ops = session.ops;
  if (!load_operators(options, session)) return std::nullopt;
  const SourceText* text = session.sources.read(options.graph, diagnostics);
  if (!text) return std::nullopt;
  session.read_files.push_back(options.graph);

  Module module;
  module = passes.run("load", std::move(module), [&](Module m) { return load_graph(*text, ops, diagnostics).value_or(std::move(m)); });
  module = passes.run("infer", std::move(module), [&](Module m) { return infer(std::move(m), ops, diagnostics); });
  module = passes.run("raise", std::move(module), [&](Module m) { return raise(std::move(m), ops); });
  module = passes.run("choose_kernels", std::move(module),
                      [&](Module m) { return choose_kernels(std::move(m), ops, diagnostics); });
  module = passes.run("decompose", std::move(module), [&](Module m) { return decompose(std::move(m), ops, diagnostics); });
  module = passes.run("simplify", std::move(module), [&](Module m) { return simplify(std::move(m), ops, diagnostics); });
  module = passes.run("materialise", std::move(module), [&](Module m) { return materialise(std::move(m), ops, diagnostics); });
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
  for (const FunctionPlan& function : plan.functions) check_expectations(function.fused, diagnostics);
  check_expectations(plan.main.fused, diagnostics);
  if (diagnostics.has_errors() && !options.explain) return std::nullopt;
  if (options.check) plan.check = plan_check(plan, ops);
  return plan;
}

std::vector<SourceFile> emit_plan(const Plan& plan, const EmitOptions& options) {
  // The largest files of a large graph, written by two threads.
  std::future<SourceFile> plan_yaml = std::async(std::launch::async, [&] { return emit_plan_yaml(plan, options); });
  std::vector<SourceFile> files = emit_wrapper(plan, options);
  const std::string& name = plan.main.fused.graph.name;
  for (const StubProgram& stub : plan.stubs) files.push_back(emit_stub(stub, name, "stubs", options));
  if (plan.check) {
    for (const StubProgram& stub : plan.check->stubs) files.push_back(emit_stub(stub, name, "check", options));
    files.push_back(emit_check_header(plan, options));
    files.push_back(emit_check_source(plan, options));
  }
  files.push_back(plan_yaml.get());
  files.push_back(emit_lines_yaml(plan, options));
  return files;
}

}  // namespace kgen
