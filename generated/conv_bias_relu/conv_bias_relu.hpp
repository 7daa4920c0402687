// Written by kgen from conv_bias_relu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph conv_bias_relu: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[N, H, W, 32]
//            filters: f32[3, 3, 32, 48]
//            bias: f32[48]
//   outputs  y: f32[N, (H + 1)/2, (W + 1)/2, 48]
//   dims     N: 0..64
//            H: 1..1024
//            W: 1..1024
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_conv_bias_relu(void);
