// How a run binds the dims of the graph, and what it must ask of them before anything is computed.
#pragma once

#include "generator/model/plan.hpp"

namespace kgen {

// Fills Plan::dim_sources and Plan::open_requirements; all else of the plan must stand.
//   - A dim whose range is one number is that number; one that is declared `from` an input is read there; any other
//     follows from the extents of inputs, as known_dims.hpp says. What no run can find, none needs.
//   - Requirements of the graph and of the functions that it calls, each once, less those that hold for all dims.
Plan bind_dims(Plan plan);

}  // namespace kgen
