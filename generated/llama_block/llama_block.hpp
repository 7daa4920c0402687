// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph llama_block: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[B, S, 512]
//            position: i64[]
//   outputs  y: f32[B, S, 512]
//   dims     B: 1..8
//            S: 1..512
//            P: 0..1023, the value of position
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_llama_block(void);
