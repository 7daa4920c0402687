// Written by kgen from rope.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph rope: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[B, S, H, 64]
//            cos: f32[S, 32]
//            sin: f32[S, 32]
//   outputs  y: f32[B, S, H, 64]
//   dims     B: 0..64
//            S: 0..8192
//            H: 1..128
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_rope(void);
