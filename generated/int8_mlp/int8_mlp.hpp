// Written by kgen from int8_mlp.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph int8_mlp: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[M, 48]
//            w_gate: i8[48, 40]
//            w_up: i8[48, 40]
//            gate_scale: f32[40]
//            up_scale: f32[40]
//   outputs  y: f32[M, 40]
//   dims     M: 1..64
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_int8_mlp(void);
