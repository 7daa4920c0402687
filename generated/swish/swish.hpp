// Written by kgen from swish.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph swish: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[M, N]
//   outputs  y: f32[M, N]
//   dims     M: 0..65536
//            N: 0..65536
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_swish(void);
