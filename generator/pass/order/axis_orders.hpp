// In which order the axes of values lie in memory, where nothing but the operators around them has a say.
//
// Elementwise operators, reductions, joins, slices and those whose specification says so (`reorders`: pooling) compute
// the same whatever order their axes have. Values that such nodes tie together, through calls of functions too, are a
// class, and have one order. Each place where a class meets something that has an order of its own has a price, in
// bytes that are read or written out of order (see Need). A class takes the order in which that is least; where nothing
// is gained, as it is written. So no order costs more than that of the graph.
//
// The memory that the graph's callers know, constants, states, what kernels make and what a directive names have the
// order in which they are written.
#pragma once

#include <string>
#include <vector>

#include "generator/model/graph.hpp"

namespace kgen {

// Place i holds axis order[i]. Empty: as written.
using AxisOrder = std::vector<int>;

bool is_as_written(const AxisOrder& order);
// Where each axis went.
std::vector<int> places_of(const AxisOrder& order);

struct AxisOrders {
  struct OfGraph {
    std::vector<AxisOrder> values;           // by ValueId: in which it lies
    std::vector<AxisOrder> nodes;            // by NodeId: in which one that takes any order computes
    std::vector<AxisOrder> inputs, outputs;  // in which callers of the function give and take them; main: as written
    std::vector<std::string> reasons;        // by ValueId, of those in another order
  };
  std::vector<OfGraph> graphs;  // of the functions, then of main
  bool any = false;             // one is not as written
};

// Of a simplified module. Linear in the number of operands, but for classes that meet many different orders.
AxisOrders choose_axis_orders(const Module& module);

}  // namespace kgen
