// The rows of the descriptor: constants, states and results of load, of the graph and of each function it calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// Which graph of a plan is meant: the number of a function, or `main_graph`.
using GraphIndex = std::uint32_t;
inline constexpr GraphIndex main_graph = no_id;

const FunctionPlan& graph_of(const Plan& plan, GraphIndex graph);

// By ValueId: what the steps touch, and all that those values are views or parts of.
std::vector<bool> touched_values(const FunctionPlan& plan, const std::vector<Step>& steps);

// How often functions are called, and by which number a call is known where constants and states are looked up. Calls
// that the main graph makes itself come first, then those made within functions.
struct CallNumbers {
  std::vector<std::int64_t> calls;                    // by function: in one run of the graph
  std::vector<std::vector<std::int64_t>> made;        // made[f][g]: calls of g that one call of f makes itself
  std::vector<std::vector<std::int64_t>> first;       // first[f][g]: the number of the first of those in call 0 of f
};
CallNumbers number_calls(const Plan& plan);

// A row belongs to one constant, state or persistent buffer of one graph, and holds it for every call of that graph.
struct TableRow {
  GraphIndex graph = main_graph;
  std::uint32_t index = 0;  // into the graph's constants or states, or the plan's persistent buffers
};
struct Tables {
  std::vector<TableRow> constants, states, persistents;
  // Where a row stands; no_id where nothing touches the constant.
  struct Rows {
    std::vector<std::uint32_t> constants, states, persistents;
  };
  std::vector<Rows> by_function;
  Rows by_main;

  const Rows& rows(GraphIndex graph) const { return graph == main_graph ? by_main : by_function[graph]; }
};
Tables make_tables(const Plan& plan, const CallNumbers& numbers);

// The members of kgen::GraphInfo, one designated initialiser after another.
void write_descriptor(Writer& writer, const Plan& plan, const Tables& tables, const CallNumbers& numbers);

}  // namespace kgen
