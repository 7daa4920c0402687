// Written by kgen from layer_norm_gelu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph layer_norm_gelu: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[M, 768]
//            weight: f32[768]
//            bias: f32[768]
//   outputs  y: f32[M, 768]
//   dims     M: 0..65536
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_layer_norm_gelu(void);
