// Written by kgen from grayscale.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph grayscale: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   image: f32[3, H, W]
//   outputs  gray: f32[H, W]
//   dims     H: 0..16384
//            W: 0..16384
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_grayscale(void);
