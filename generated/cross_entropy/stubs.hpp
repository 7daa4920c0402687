// Written by kgen from cross_entropy.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of cross_entropy, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_cross_entropy {

// loss: cross_entropy
void stub_loss(kgen::View<kgen::bf16, 1> loss, kgen::View<const std::int64_t, 2> loss_column,
               kgen::View<const kgen::bf16, 2> logits, kgen::Stream stream);

}  // namespace graph_cross_entropy
