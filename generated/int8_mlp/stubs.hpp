// Written by kgen from int8_mlp.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of int8_mlp, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_int8_mlp {

// y: int8_matmul, mul, silu, mul
void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> x, kgen::View<const std::int8_t, 2> w_gate,
            kgen::View<const std::int8_t, 2> w_up, kgen::View<const float, 1> gate_scale,
            kgen::View<const float, 1> up_scale, kgen::Stream stream);

}  // namespace graph_int8_mlp
