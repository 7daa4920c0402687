// The graphs that a program was linked with, by name.
#pragma once

#include <kgen_runtime.h>

struct GraphEntry {
  const char* name;
  const kgen_graph* (*graph)(void);
};

// Ends with an entry without a name.
extern const GraphEntry graph_table[];
