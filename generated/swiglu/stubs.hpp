// Written by kgen from swiglu.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of swiglu, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_swiglu {

// y = mul(silu(gate), up)
void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> gate, kgen::View<const float, 2> up,
            kgen::Stream stream);

}  // namespace graph_swiglu
