// Where values that may have any order of axes meet what has one: what choose_axis_orders weighs.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/model/graph.hpp"
#include "generator/pass/order/axis_orders.hpp"

namespace kgen {

// What is asked of the memory that an operand is read from, or a result written to.
enum class Need {
  lines,      // neighbours along the last axis that is walked: elementwise nodes, and what may be their prologue
  together,   // neighbours along the axis that the specification names (`together`)
  as_before,  // neighbours along the axis along which they are written in the graph: other kernels
  dense,      // the order that is asked for, whole: reshapes, calls, outputs
};

// An operand, or a result, that shows memory with its axes permuted: axis i of it is axis shown[i] of the memory.
struct Meeting {
  std::uint32_t asks = no_id;  // the class that walks it; no_id: something that has its axes as written
  std::uint32_t lies = no_id;  // the class of the memory; no_id: as written
  Need need = Need::lines;
  std::vector<int> shown;
  std::vector<bool> unit;   // by axis of the memory: of extent 1
  int together = 0;         // the axis of what is shown
  std::size_t missing = 0;  // leading axes of the walk that what is shown has not
  double bytes = 0;
  const OpSpec* reader = nullptr;
};

// A reduction, which goes over memory once more where its axes no longer come last.
struct ReducedLast {
  std::uint32_t walk = no_id;
  std::vector<int> axes;
  std::vector<bool> unit;
  double bytes = 0;
};

// What a choice of orders, by class, costs there.
using OrdersOfClasses = std::vector<AxisOrder>;
double cost_of(const Meeting& meeting, const OrdersOfClasses& orders);
double cost_of(const ReducedLast& reduction, const OrdersOfClasses& orders);

// The order of class `of` with which the meeting costs nothing, the others' being what they are. Nothing where it has
// no say.
std::vector<int> wished_order(const Meeting& meeting, std::uint32_t of, const OrdersOfClasses& orders);

struct Meetings {
  std::uint32_t classes = 0;
  std::vector<Meeting> met;
  std::vector<ReducedLast> reduced;
  std::vector<bool> fixed;  // by class: it has to stay as written
  // Classes, or no_id: by graph, then by ValueId, NodeId and output.
  std::vector<std::vector<std::uint32_t>> of_values, of_nodes, of_outputs;
};
Meetings find_meetings(const Module& module);

// Whether the node computes the same with its axes in any order, and how many axes those are.
bool takes_any_order(const Graph& graph, const Node& node);
std::size_t walked_rank(const Graph& graph, const Node& node);

}  // namespace kgen
