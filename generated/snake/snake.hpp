// Written by kgen 0.1.0: kgen plan snake.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 941ceadeee6c95b9.

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
