// Written by kgen from swiglu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph swiglu: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   gate_up: f32[M, 2752]
//   outputs  y: f32[M, 1376]
//   dims     M: 0..65536
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_swiglu(void);
