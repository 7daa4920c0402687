// The verbs of the command line, each from its arguments to the exit code of the process.
#pragma once

#include "generator/arguments.hpp"

namespace kgen {

int run_plan(const Arguments& arguments);
int run_tune(const Arguments& arguments);
int run_import(const Arguments& arguments);
int run_status(const Arguments& arguments);
int run_diff(const Arguments& arguments);
int run_explain(const Arguments& arguments);
int run_ops(const Arguments& arguments);
int run_schema(const Arguments& arguments);
int run_introspect(const Arguments& arguments);
int run_observe(const Arguments& arguments);

}  // namespace kgen
