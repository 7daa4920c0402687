// Written by kgen from beams.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of beams, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_beams {

// in_phase, power: mul, complex_matmul, sub, neg, square, add
void stub_power(kgen::View<float, 2> in_phase, kgen::View<float, 2> power, kgen::View<const float, 2> signal_real,
                kgen::View<const float, 1> window, kgen::View<const float, 2> signal_imaginary,
                kgen::View<const float, 2> steering_real, kgen::View<const float, 2> steering_imaginary,
                kgen::View<const float, 1> offset, kgen::Stream stream);

}  // namespace graph_beams
