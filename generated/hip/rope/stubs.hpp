// Written by kgen 0.1.0: kgen plan rope.yaml --target hip --arch gfx942
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 10588667a54515a4.

// The stubs of rope, each in stubs/<name>.hip.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace rope {

// first, second: mul, sub, mul, add   (rope.yaml:16-21)
void stub_second(kgen::View<float, 4> first, kgen::View<float, 4> second, kgen::View<const float, 4> x1,
                 kgen::View<const float, 3> c, kgen::View<const float, 4> x2, kgen::View<const float, 3> s,
                 kgen::Stream stream);

}  // namespace rope
