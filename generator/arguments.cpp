#include "generator/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "generator/emit/target.hpp"
#include "generator/pipeline.hpp"

namespace kgen {
namespace {

std::vector<std::string_view> architecture_names(const std::vector<Architecture>& architectures) {
  std::vector<std::string_view> names;
  for (const Architecture each : architectures) names.push_back(name_of(each));
  return names;
}

// An empty name is no place to write to: a variable of a script was not set.
CLI::Validator is_named() {
  return CLI::Validator([](const std::string& name) { return name.empty() ? "is empty: name a place, or '.'" : ""; },
                        "");
}

void add_color_option(CLI::App& verb, Arguments& arguments, const char* what) {
  verb.add_option("--color", arguments.color, what)
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void add_common_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--specs", arguments.specs, "More operator specifications (YAML), beside the built-in ones")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb.add_option("--kernels", arguments.kernels,
                  "Your own kernels: a folder of headers with their signatures (YAML), or one file of signatures. They "
                  "come before the built-in ones, the first given first")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  add_color_option(verb, arguments, "Colour in diagnostics");
}

void add_graph_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("graph", arguments.graph, "The graph to read")->required()->type_name("GRAPH.yaml");
  verb.add_option("--dump-after", arguments.dump_after, "Print what a pass made")
      ->check(CLI::IsMember(dumped_passes()))
      ->type_name("PASS");
  verb.add_option("--without", arguments.without,
                  "Fuse nothing by this rule, to see what it is worth; force and expect_fused are then not asked for")
      ->check(CLI::IsMember(fusion_rule_names()))
      ->type_name("RULE")
      ->allow_extra_args(false);
  verb.add_flag("--timings", arguments.timings, "Print the time of each pass on stderr");
}

void add_target_options(CLI::App& verb, Arguments& arguments, const char* what) {
  std::vector<std::string> targets, architectures;  // the latter "sm_90a, sm_80"
  for (const Target* target : all_targets()) {
    targets.emplace_back(target->name);
    if (target->architectures.empty()) continue;
    architectures.push_back(fmt::format("{}", fmt::join(architecture_names(target->architectures), ", ")));
  }
  verb.add_option("--target", arguments.target, what)->check(CLI::IsMember(targets))->capture_default_str();
  verb.add_option("--arch", arguments.architecture, fmt::format("Of a GPU: {}", fmt::join(architectures, "; ")))
      ->type_name("ARCH");
}

CLI::App* add_verb(CLI::App& app, const char* name, const char* what) {
  CLI::App* verb = app.add_subcommand(name, what);
  verb->footer("");  // the examples are for `kgen --help`
  return verb;
}

}  // namespace

CLI::App* add_plan(CLI::App& app, Arguments& arguments) {
  CLI::App* plan = add_verb(app, "plan", "Plan a graph and write its source");
  add_graph_options(*plan, arguments);
  plan->add_option("--emit", arguments.emit, "The folder to write; without it the plan is only made")
      ->check(is_named())
      ->type_name("FOLDER");
  add_target_options(*plan, arguments, "What to write for");
  plan->add_flag("--check", arguments.check, "Also write an unfused reference of every stub, for the check mode");
  plan->add_option("--depfile", arguments.depfile, "Write what the source depends on, for make and ninja")
      ->check(is_named())
      ->type_name("FILE");
  plan->add_flag("-q,--quiet", arguments.quiet, "Print nothing but diagnostics");
  add_common_options(*plan, arguments);
  return plan;
}

CLI::App* add_tune(CLI::App& app, Arguments& arguments) {
  CLI::App* tune = add_verb(app, "tune", "Write a program that finds the fastest parameters of a graph's kernels");
  add_graph_options(*tune, arguments);
  tune->add_option("--emit", arguments.emit, "The folder to write")->required()->check(is_named())->type_name("FOLDER");
  add_target_options(*tune, arguments, "What to tune for");
  tune->add_flag("-q,--quiet", arguments.quiet, "Print nothing but diagnostics");
  add_common_options(*tune, arguments);
  tune->footer(
      "Built by CMake, the program `tune` in that folder times the candidates, and writes the fastest as rules that\n"
      "`kgen plan --specs` takes.");
  return tune;
}

CLI::App* add_import(CLI::App& app, Arguments& arguments) {
  CLI::App* import =
      add_verb(app, "import", "Write an ONNX model as a graph, its weights beside it; or a graph's layers once");
  import->add_option("model", arguments.import.model, "The model, or a graph whose layers are written out: graph.yaml")
      ->required()
      ->type_name("MODEL.onnx");
  import
      ->add_option("-o,--output", arguments.import.output,
                   "The graph to write; weights go to a .safetensors file beside it")
      ->required()
      ->check(is_named())
      ->type_name("GRAPH.yaml");
  import
      ->add_option("--bind", arguments.import.bound,
                   "The value of an input that says shapes or axes: NAME=3, NAME=[1, 2], NAME=file.npy or .pb")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  import
      ->add_option("--dim", arguments.import.dims,
                   "The range of a symbolic dim (without it 1..8192), its one value, or the dims that it follows from: "
                   "NAME=past + 1, NAME=32*h")
      ->type_name("NAME=RANGE")
      ->allow_extra_args(false);
  import
      ->add_option("--example", arguments.import.example,
                   "Example inputs (input_0.pb, ...): inputs whose values must be known are bound to these")
      ->type_name("FOLDER");
  import->add_option("--rules", arguments.import.rules, "More rules of import, beside the built-in ones")
      ->type_name("FILE")
      ->allow_extra_args(false);
  import->add_flag("-q,--quiet", arguments.quiet, "Print nothing but diagnostics");
  add_common_options(*import, arguments);
  return import;
}

CLI::App* add_explain(CLI::App& app, Arguments& arguments) {
  CLI::App* explain = add_verb(app, "explain", "Print what each stub fuses, and why it ends where it does");
  add_graph_options(*explain, arguments);
  auto* first =
      explain->add_option("a", arguments.first, "A value of the graph: what computes it, and why?")->type_name("VALUE");
  explain->add_option("b", arguments.second, "Another: why are they, or are they not, computed together?")
      ->type_name("VALUE")
      ->needs(first);
  explain->add_flag("--all", arguments.explain_all, "Print every operator and every decision with its reason")
      ->excludes(first);
  add_target_options(*explain, arguments, "What it would be written for");
  add_common_options(*explain, arguments);
  return explain;
}

CLI::App* add_ops(CLI::App& app, Arguments& arguments) {
  CLI::App* ops = add_verb(app, "ops", "List the operators, or describe one");
  ops->add_option("operator", arguments.op, "The operator to describe")->type_name("NAME");
  add_target_options(*ops, arguments, "What to describe it for: kernels that are never used there are marked");
  add_common_options(*ops, arguments);
  return ops;
}

CLI::App* add_schema(CLI::App& app, Arguments& arguments) {
  CLI::App* schema =
      add_verb(app, "schema", "Print the JSON Schema of graphs, with the operators that they may use, for editors");
  add_common_options(*schema, arguments);
  return schema;
}

CLI::App* add_introspect(CLI::App& app, Arguments& arguments) {
  CLI::App* introspect = add_verb(app, "introspect", "Print what the kernels of headers say of themselves");
  introspect->add_option("headers", arguments.headers, "The headers to read")->required()->type_name("HEADER.hpp");
  introspect->add_option("--include", arguments.include, "Where headers include others from, besides kgen's own")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
  introspect->add_flag("--check", arguments.compare_kernels,
                       "Print nothing; check that the operators and these kernels agree");
  add_common_options(*introspect, arguments);
  return introspect;
}

CLI::App* add_observe(CLI::App& app, Arguments& arguments) {
  CLI::App* observe =
      add_verb(app, "observe", "Write a copy of a stub that hands out what it names, for the check mode");
  observe->add_option("stub", arguments.stub, "The source of a stub")->required()->type_name("STUB.cpp");
  observe->add_option("--output", arguments.output, "The file to write")
      ->required()
      ->check(is_named())
      ->type_name("FILE");
  add_color_option(*observe, arguments, "Colour in diagnostics");
  return observe;
}

CLI::App* add_status(CLI::App& app, Arguments& arguments) {
  CLI::App* status =
      add_verb(app, "status", "List what is edited, stale, conflicting, unreadable, missing, orphaned or pinned");
  status->add_option("folder", arguments.folder, "What --emit was given")->required()->type_name("FOLDER");
  add_color_option(*status, arguments, "Colour in diagnostics");
  status->footer(
      "Exit codes: 0 nothing to do (edited and pinned files may stay so), 1 something to do, 2 no such folder.");
  return status;
}

CLI::App* add_diff(CLI::App& app, Arguments& arguments) {
  CLI::App* diff = add_verb(app, "diff", "Print your edits, as a diff from what kgen wrote");
  diff->add_option("folder", arguments.folder, "What --emit was given")->required()->type_name("FOLDER");
  diff->add_option("file", arguments.file, "One file of it; without it all that are edited")->type_name("FILE");
  add_color_option(*diff, arguments, "Colour in the diff and in diagnostics");
  diff->footer("Exit codes: 0 done, with or without edits, 2 no such folder or file.");
  return diff;
}

bool choose_architecture(Arguments& arguments) {
  const auto& known = find_target(arguments.target)->architectures;
  if (arguments.architecture.empty()) {
    if (!known.empty()) arguments.architecture = name_of(known.front());
    return true;
  }
  const std::vector<std::string_view> names = architecture_names(known);
  if (std::find(names.begin(), names.end(), arguments.architecture) != names.end()) return true;
  if (known.empty()) {
    fmt::print(stderr, "kgen: --arch {}: the target {} has no architectures: its build chooses; leave --arch out\n",
               arguments.architecture, arguments.target);
  } else {
    fmt::print(stderr, "kgen: --arch {}: the target {} has {}\n", arguments.architecture, arguments.target,
               fmt::join(names, ", "));
  }
  return false;
}

}  // namespace kgen
