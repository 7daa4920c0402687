// Written by kgen from kernel_choice.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph kernel_choice: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   few: f32[S, 256]
//            many: f32[M, 256]
//            weight: f32[256, 192]
//            bias: f32[192]
//            low: bf16[M, 192]
//   outputs  y_few: f32[S, 192]
//            y_many: f32[M, 192]
//            y_low: bf16[M, 192]
//   dims     S: 1..16
//            M: 1..1024
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_kernel_choice(void);
