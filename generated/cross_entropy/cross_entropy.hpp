// Written by kgen from cross_entropy.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph cross_entropy: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   logits: bf16[N, 32768]
//            target: i64[N]
//   outputs  loss: bf16[N]
//   dims     N: 0..65536
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_cross_entropy(void);
