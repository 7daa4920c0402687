// Each program has a graphs.def of its own, and so a table; run_graph.cpp is the same in all.
#include "graph_table.hpp"

#define KGEN_GRAPH(name) extern "C" const kgen_graph* kgen_graph_##name(void);
#include "graphs.def"
#undef KGEN_GRAPH

const GraphEntry graph_table[] = {
#define KGEN_GRAPH(name) {#name, kgen_graph_##name},
#include "graphs.def"
#undef KGEN_GRAPH
    {nullptr, nullptr}};
