// The benchmark's graphs in one shared library, beside the C ABI that they are run through.
#include <kgen_runtime.h>

#include <cstring>
#include <initializer_list>

#define KGEN_GRAPH(name) extern "C" const kgen_graph* kgen_graph_##name(void);
#include "graphs.def"
#undef KGEN_GRAPH

// The graph of this name; null where the library was built without it.
extern "C" const kgen_graph* kgen_rows_graph(const char* name) {
#define KGEN_GRAPH(row) kgen_graph_##row(),
  for (const kgen_graph* graph : {
#include "graphs.def"
       }) {
    if (std::strcmp(kgen_graph_name(graph), name) == 0) return graph;
  }
#undef KGEN_GRAPH
  return nullptr;
}
