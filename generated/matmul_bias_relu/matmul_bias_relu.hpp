// Written by kgen 0.1.0: kgen plan matmul_bias_relu.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is a0c5458c74b5a9ea.

// The graph matmul_bias_relu: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   A: f32[M, 512]
//            B: f32[512, 512]
//            bias: f32[512]
//   outputs  y: f32[M, 512]
//   dims     M: 1..8192
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_matmul_bias_relu(void);
