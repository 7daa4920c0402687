// Rule: values between kernels lie in the order of axes in which the kernels read them.
//
//   image = permute(x), a = conv2d(image, w), a_first = permute(a), b = add(a_first, x), y = relu(b), max_pool(y) ...
//   ->   x, b, y and what is pooled are [N, H, W, C] as conv2d has it, instead of [N, C, H, W]
//
// Which order that is, of which values, and what it costs: axis_orders.hpp. A value in another order keeps its name;
// its type has the axes in that order, and so have the attributes of what computes it. Functions take and give their
// values so. What has its axes as written reads a permuted view.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/model/graph.hpp"

namespace kgen {

// Takes and leaves a simplified module: views that cancel are gone. The graph records which values were reordered.
Module order_axes(Module module, const OpSet& ops, Diagnostics& diagnostics);

}  // namespace kgen
