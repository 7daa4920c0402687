// Written by kgen 0.1.0: kgen plan grayscale.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 4244138fea761f1b.

// The graph grayscale: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   image: f32[3, H, W]
//   outputs  gray: f32[H, W]
//   dims     H: 0..16384
//            W: 0..16384
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_grayscale(void);
