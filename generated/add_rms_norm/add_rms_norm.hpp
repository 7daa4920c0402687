// Written by kgen from add_rms_norm.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph add_rms_norm: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[M, 1024]
//            residual: f32[M, 1024]
//            weight: f32[1024]
//   outputs  h: f32[M, 1024]
//            y: f32[M, 1024]
//   dims     M: 0..65536
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_add_rms_norm(void);
