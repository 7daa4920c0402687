// Written by kgen from beams.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph beams: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   signal_real: f32[S, 48]
//            signal_imaginary: f32[S, 48]
//            window: f32[48]
//            steering_real: f32[48, 20]
//            steering_imaginary: f32[48, 20]
//            offset: f32[20]
//   outputs  in_phase: f32[S, 20]
//            power: f32[S, 20]
//   dims     S: 1..4096
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_beams(void);
