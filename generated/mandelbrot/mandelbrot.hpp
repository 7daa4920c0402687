// Written by kgen from mandelbrot.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The graph mandelbrot: load it with kgen_model_load, run it with kgen_model_run.
//   inputs   center_x: f64[]
//            center_y: f64[]
//            width: f64[]
//            rows: i64[]
//            columns: i64[]
//   outputs  steps: i32[H, W]
//            shade: f32[H, W]
//   dims     H: 1..2160, the value of rows
//            W: 1..3840, the value of columns
#pragma once

#include "kgen_runtime.h"

KGEN_EXTERN_C const kgen_graph* kgen_graph_mandelbrot(void);
