// Written by kgen 0.1.0: kgen plan grayscale.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 5be20862a9e3570f.

// The graph grayscale: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   image: f32[3, H, W]
//   outputs  gray: f32[H, W]
//   dims     H: 0..16384
//            W: 0..16384
#pragma once

#include "kgen_runtime.h"

#ifdef __cplusplus
extern "C"
#endif
const kgen_graph* kgen_graph_grayscale(void);
