// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph llama_tiny: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[B, S, 64]
//            position: i64[]
//   outputs  logits: f32[B, S, 256]
//   dims     B: 1..4
//            S: 1..128
//            P: 0..255, the value of position
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_llama_tiny(void);
