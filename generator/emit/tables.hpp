// The rows of the descriptor: constants, states and results of load, of the graph and of each function it calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/base/writer.hpp"
#include "generator/emit/load_phase.hpp"
#include "generator/emit/target.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// Which graph of a plan is meant: the number of a function, or `main_graph`.
using GraphIndex = std::uint32_t;
inline constexpr GraphIndex main_graph = no_id;

const FunctionPlan& graph_of(const Plan& plan, GraphIndex graph);

// By ValueId: what the steps touch, and all that those values are views or parts of.
std::vector<bool> touched_values(const FunctionPlan& plan, const std::vector<Step>& steps);

// How often each function is called in one run of the graph, and which of the others it calls itself.
struct CallNumbers {
  std::vector<std::int64_t> calls;       // by function
  std::vector<std::vector<bool>> makes;  // makes[f][g]: f calls g
};
CallNumbers number_calls(const Plan& plan);

// A row belongs to one constant, state or persistent buffer of one graph, and holds it for every call of that graph.
struct TableRow {
  GraphIndex graph = main_graph;
  std::uint32_t index = 0;  // into the graph's constants or states, or the plan's persistent buffers
  bool load_only = false;   // a constant that calls do not read
  bool shared = false;      // a persistent buffer that all calls have in common
};
struct Tables {
  std::vector<TableRow> constants, states, persistents;
  // Where a row stands; no_id where nothing touches the constant.
  struct Rows {
    std::vector<std::uint32_t> constants, states, persistents;
  };
  std::vector<Rows> by_function;
  Rows by_main;
  std::vector<LoadPhase> phase_by_function;
  LoadPhase phase_of_main;

  const Rows& rows(GraphIndex graph) const { return graph == main_graph ? by_main : by_function[graph]; }
  const LoadPhase& phase(GraphIndex graph) const {
    return graph == main_graph ? phase_of_main : phase_by_function[graph];
  }
};
Tables make_tables(const Plan& plan, const CallNumbers& numbers);

// What callers pass: inputs and outputs as they know them.
struct Argument {
  std::string name;
  ValueId value = no_id;
  bool strided = false;
  bool is_size = false;  // a dim is read from it
};
std::vector<Argument> input_arguments(const Graph& graph);
std::vector<Argument> output_arguments(const Graph& graph);

// The members of kgen::GraphInfo, one designated initialiser after another.
void write_descriptor(Writer& writer, const Plan& plan, const Tables& tables, const CallNumbers& numbers);

}  // namespace kgen
