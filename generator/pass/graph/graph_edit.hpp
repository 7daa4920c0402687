// What every pass that inserts, replaces or removes nodes needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// Names that are not taken.
class UniqueNames {
 public:
  UniqueNames() = default;
  // Those of the graph's values are taken. They are looked at when the first name is asked for: the graph outlives
  // that.
  explicit UniqueNames(const Graph& graph) : graph_(&graph) {}
  bool is_taken(const std::string& name);
  // `wish`, or `wish_2`, `wish_3`, ... where it is taken. The name is taken from then on.
  std::string take(const std::string& wish);
  // How many names `take` has tried.
  std::size_t tried() const { return tried_; }

 private:
  void take_all();

  const Graph* graph_ = nullptr;                                // whose names are yet to be taken
  std::unordered_map<std::string, std::uint32_t> next_suffix_;  // by name that is taken
  std::size_t tried_ = 0;
};

// A new value of kind `result`; whoever adds its node calls number_producers afterwards.
ValueId add_result(Graph& graph, std::string name, TensorType type, SourceLocation where);

// A new constant whose elements are `values` (one: a splat). Without a type, infer_node chooses it (a scalar).
ValueId add_constant(Graph& graph, std::string name, std::optional<TensorType> type, std::vector<Number> values,
                     SourceLocation where);

// Of a conversion to that dtype that no graph spells out: its other attributes are their defaults.
Attributes attributes_of_cast(const OpSpec& cast, DType to);

// Sets producer and index of every result.
void number_producers(Graph& graph);

// Says of what a node makes now, by name, what was recognised and which kernel was chosen for what it made: results
// that a view or another operator makes from then on. Nothing changes where the new value is not there (any more).
void move_choices(Graph& graph, const std::unordered_map<std::string, std::string>& renamed);

// The state whose buffer `value` lives in: itself, or that of a chain of updates of it; no_id: none.
ValueId updated_state(const Graph& graph, ValueId value);

// By ValueId: whether a fusion directive names it, or the stub that is named after it.
std::vector<bool> named_values(const Graph& graph);

// By ValueId: how many nodes read it (each counted once), plus one where it is an output, plus one for each state that
// it is the next value of.
std::vector<std::uint32_t> count_readers(const Graph& graph);

// A warning where nothing reads any result of the node. `readers` as from count_readers.
void warn_if_unread(const Graph& graph, const Node& node, const std::vector<std::uint32_t>& readers,
                    Diagnostics& diagnostics);

// Drops the nodes in `removed` (by NodeId) and numbers the others again.
void drop_nodes(Graph& graph, const std::vector<bool>& removed);

// Drops results and constants that nothing refers to; inputs and states stay. The others are numbered again, in the
// same order.
void drop_unused_values(Graph& graph);

}  // namespace kgen
