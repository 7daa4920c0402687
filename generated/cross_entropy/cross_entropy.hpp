// Written by kgen 0.1.0: kgen plan cross_entropy.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 9fc54d93a9f726a9.

// The graph cross_entropy: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   logits: bf16[N, 32768]
//            target: i64[N]
//   outputs  loss: bf16[N]
//   dims     N: 0..65536
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_cross_entropy(void);
