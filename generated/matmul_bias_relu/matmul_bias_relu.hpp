// Written by kgen from matmul_bias_relu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph matmul_bias_relu: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   A: f32[M, 512]
//            B: f32[512, 512]
//            bias: f32[512]
//   outputs  y: f32[M, 512]
//   dims     M: 1..8192
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_matmul_bias_relu(void);
