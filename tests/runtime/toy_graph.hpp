// A graph as kgen emits one, written by hand, so that the runtime is tested without the generator:
//   y = scale * x + gate;  total[:, P : P + 2*D] += y;  sum = 2 * weight of layer 0 + 2 * weight of layer 1
#pragma once

#include "kgen/runtime/graph_info.hpp"

extern "C" const kgen_graph* kgen_graph_toy(void);

namespace toy {

// A copy of the descriptor, for tests that change it.
kgen::GraphInfo graph();

// What stub_y adds wrongly to its results, for check mode to find.
extern float error_of_stub_y;

}  // namespace toy
