// Written by kgen 0.1.0: kgen plan swiglu.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is a68633a183fff24a.

// The stubs of swiglu, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace swiglu {

// y = mul(silu(gate), up)   (swiglu.yaml:10-11)
void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> gate, kgen::View<const float, 2> up,
            kgen::Stream stream);

}  // namespace swiglu
