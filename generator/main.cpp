// The command line: kgen plan, tune, import, explain, status, diff, observe, introspect, ops, schema.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "generator/arguments.hpp"
#include "generator/base/diagnostics.hpp"
#include "generator/commands.hpp"

namespace kgen {
namespace {

int run_command(int argc, char** argv) {
  CLI::App app("kgen writes the C++ that computes a graph of tensor operators: one readable stub per fused subgraph.",
               "kgen");
  app.set_version_flag("--version", std::string("kgen ") + KGEN_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  kgen plan softmax.yaml --emit src/      write the source of a graph\n"
      "  kgen import model.onnx -o model.yaml    write an ONNX model as a graph\n"
      "  kgen tune mlp.yaml --emit tuning/       a program that times candidates of its kernels' parameters\n"
      "  kgen explain softmax.yaml               what each stub fuses, and why it ends; --all: every decision\n"
      "  kgen explain softmax.yaml scaled p      why these two are or are not together\n"
      "  kgen ops                                the operators there are\n"
      "  kgen status src/                        what you edited in it, and what waits to be done\n"
      "  kgen diff src/                          your edits\n"
      "Exit codes: 0 done, 1 errors in the input, 2 errors in the command line.");
  Arguments arguments;
  const std::pair<const CLI::App*, int (*)(const Arguments&)> verbs[] = {
      {add_plan(app, arguments), run_plan},       {add_tune(app, arguments), run_tune},
      {add_import(app, arguments), run_import},   {add_explain(app, arguments), run_explain},
      {add_status(app, arguments), run_status},   {add_diff(app, arguments), run_diff},
      {add_observe(app, arguments), run_observe}, {add_introspect(app, arguments), run_introspect},
      {add_ops(app, arguments), run_ops},         {add_schema(app, arguments), run_schema}};

  std::vector<std::string> names;
  for (const auto& [verb, run_verb] : verbs) names.push_back(verb->get_name());
  if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    const std::vector<std::string> near = nearest_names(argv[1], names);
    fmt::print(stderr, "kgen: there is no command '{}'{}\n", argv[1],
               near.empty() ? "; `kgen --help` lists them" : "; did you mean " + quoted_list(near) + "?");
    return exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  if (!choose_architecture(arguments)) return exit_usage;
  const auto chosen =
      std::find_if(std::begin(verbs), std::end(verbs), [](const auto& verb) { return verb.first->parsed(); });
  return chosen->second(arguments);
}

}  // namespace
}  // namespace kgen

int main(int argc, char** argv) {
  try {
    return kgen::run_command(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kgen: internal error: {}\n", error.what());
    return 3;
  }
}
