// Written by kgen from gated_convolution.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph gated_convolution: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: bf16[B, L, 96]
//            gate: bf16[B, L, 96]
//            weight: bf16[4, 96]
//            bias: bf16[96]
//   outputs  y: bf16[B, L, 96]
//   dims     B: 1..64
//            L: 0..4096
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_gated_convolution(void);
