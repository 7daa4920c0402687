// Written by kgen from llama_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph llama_decode: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[B, S, 64]
//            positions: i64[B, S]
//   outputs  logits: f32[B, S, 256]
//   dims     B: 1..64
//            S: 1..128
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_llama_decode(void);
