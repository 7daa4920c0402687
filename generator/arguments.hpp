// The command line's options: what each verb takes.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "generator/import_file.hpp"

namespace kgen {

constexpr int exit_error = 1;  // the input has errors; status: there is something to do
constexpr int exit_usage = 2;  // the command line has

struct Arguments {
  std::string graph;
  std::string emit;
  std::string target = "cpu";
  std::string architecture;
  std::string depfile;
  std::vector<std::string> specs;
  std::vector<std::string> kernels;
  std::string dump_after;
  std::vector<std::string> without;
  std::string color = "auto";
  bool check = false;
  bool quiet = false;
  bool timings = false;
  std::string first, second;  // explain
  bool explain_all = false;
  std::string op;                             // ops
  std::string stub, output;                   // observe
  std::string folder, file;                   // status, diff
  std::vector<std::string> headers, include;  // introspect
  ImportFileOptions import;
  bool compare_kernels = false;
};

// Each declares its verb, whose values go into `arguments`.
CLI::App* add_plan(CLI::App& app, Arguments& arguments);
CLI::App* add_tune(CLI::App& app, Arguments& arguments);
CLI::App* add_import(CLI::App& app, Arguments& arguments);
CLI::App* add_explain(CLI::App& app, Arguments& arguments);
CLI::App* add_ops(CLI::App& app, Arguments& arguments);
CLI::App* add_schema(CLI::App& app, Arguments& arguments);
CLI::App* add_introspect(CLI::App& app, Arguments& arguments);
CLI::App* add_observe(CLI::App& app, Arguments& arguments);
CLI::App* add_status(CLI::App& app, Arguments& arguments);
CLI::App* add_diff(CLI::App& app, Arguments& arguments);

// The architecture that was asked for, or the target's first. False, with a message, where the target does not have it.
bool choose_architecture(Arguments& arguments);

}  // namespace kgen
