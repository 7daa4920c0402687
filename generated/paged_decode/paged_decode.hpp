// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph paged_decode: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   x: f32[B, S, 64]
//            positions: i64[B, S]
//            block_table: i32[B, N]
//   outputs  y: f32[B, S, 64]
//   dims     B: 1..64
//            S: 1..128
//            N: 1..32
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_paged_decode(void);
