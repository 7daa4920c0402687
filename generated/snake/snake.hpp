// Written by kgen from snake.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph snake: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[B, C, L]
//            bias: f32[C, 1]
//            alpha: f32[C, 1]
//            gain: f32[C, 1]
//   outputs  y: f32[B, C, L]
//   dims     B: 1..64
//            C: 1..512
//            L: 0..4096
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_snake(void);
