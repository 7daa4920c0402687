// Written by kgen from snake.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of snake, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_snake {

// y = mul(snake(add(x, bias), alpha), gain)
void stub_y(kgen::View<float, 3> y, kgen::View<const float, 3> x, kgen::View<const float, 2> bias,
            kgen::View<const float, 2> alpha, kgen::View<const float, 2> gain, kgen::Stream stream);

}  // namespace graph_snake
