// Written by kgen from rope.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of rope, each in stubs/<name>.hip.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_rope {

// first, second: mul, sub, mul, add
void stub_second(kgen::View<float, 4> first, kgen::View<float, 4> second, kgen::View<const float, 4> x1,
                 kgen::View<const float, 3> c, kgen::View<const float, 4> x2, kgen::View<const float, 3> s,
                 kgen::Stream stream);

}  // namespace graph_rope
