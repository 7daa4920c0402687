// Written by kgen from softmax.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph softmax: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   scores: f32[B, S, T]
//            mask: f32[S, T]
//   outputs  probabilities: f32[B, S, T]
//   dims     B: 0..256
//            S: 0..4096
//            T: 0..4096
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_softmax(void);
