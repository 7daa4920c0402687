// What the parts of load_graph share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/load/dim_text.hpp"
#include "generator/load/yaml.hpp"
#include "generator/model/graph.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

struct FunctionName {
  std::uint32_t position = 0;  // among the functions of the file
  SourceLocation where;
};

// Of the whole file.
struct ModuleContext {
  const OpSet& set;
  Diagnostics& diagnostics;
  Yaml root;
  DimScope dims;
  std::vector<DimDeclaration> declarations;                      // of the symbols among the dims
  std::vector<Yaml> sources;                                     // by declaration: the value of `from`, or no node
  std::unordered_map<std::string_view, FunctionName> functions;  // every function of the file
  std::vector<Graph> finished;                                   // the functions read so far
};

// Of main or of one function.
struct GraphContext {
  ModuleContext& module;
  Graph& graph;
  bool is_function = false;
  std::unordered_map<std::string_view, ValueId> names;
  std::vector<bool> used;         // by ValueId: some node, output or state takes it
  std::size_t next_constant = 0;  // for the names of numbers among operands

  Diagnostics& diagnostics() const { return module.diagnostics; }
  // "a graph" or "a function", for messages.
  std::string_view noun() const { return is_function ? "a function" : "a graph"; }
};

// Reports that a name has been given before, at `first`.
void report_redefinition(Yaml name, SourceLocation first, Diagnostics& diagnostics);
// Adds a value named by the scalar `name`; no_id after an error: no name, or that of another value, a dim or a
// function.
ValueId define_value(GraphContext& context, Yaml name, ValueKind kind);
// The value named by a scalar, marked as used; no_id after an error: no such value.
ValueId find_value(GraphContext& context, Yaml name);
ValueId find_value(GraphContext& context, std::string_view name, SourceLocation where);

// ---- read_values.cpp: the sections that declare values --------------------------------------------------------------

void read_inputs(Yaml section, GraphContext& context);
void read_constants(Yaml section, GraphContext& context);
// Without `next`, which read_next_states resolves once the nodes are known.
void read_states(Yaml section, GraphContext& context);
void read_next_states(Yaml section, GraphContext& context);

// ---- read_nodes.cpp -------------------------------------------------------------------------------------------------

// All results are defined before the first operand is looked up, so that nodes may stand in any order.
void read_nodes(Yaml section, GraphContext& context);
// Sets first_index and index_stride of every call. Error: more calls than anyone could mean.
void number_calls(Module& module, Diagnostics& diagnostics);

// ---- read_directives.cpp: what becomes of the values ----------------------------------------------------------------

void read_outputs(Yaml section, GraphContext& context);
void read_fusion(Yaml section, GraphContext& context);
void read_expect_fused(Yaml section, GraphContext& context);

}  // namespace kgen
