// Written by kgen 0.1.0: kgen plan cross_entropy.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 3d488856de0319ff.

// The stubs of cross_entropy, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace cross_entropy {

// loss: cross_entropy   (cross_entropy.yaml:9)
void stub_loss(kgen::View<kgen::bf16, 1> loss, kgen::View<const std::int64_t, 2> loss_column,
               kgen::View<const kgen::bf16, 2> logits, kgen::Stream stream);

}  // namespace cross_entropy
