// Rule: what is only read in parts is computed in parts, where one call of its kernel can give them all.
//
//   y = matmul(x, W), h = reshape(y) to [M, H, 2, E], a = h[:, :, 0], b = h[:, :, 1]
//   ->   a = reshape(matmul(x, W_a)), b = reshape(matmul(x, W_b)), with W_a and W_b columns of W, gathered at load
//
// Then what reads several parts at one position (rotary embedding, a gate and what it gates) can be the epilogue of one
// call on several right-hand sides, which none can be that needs two positions of one product.
//
// - It applies to an operator that joins along the axis (JointAxis of its specification) by an operand that is known at
//   load, whose kernel takes several of that operand at once; and to elementwise nodes between it and its parts.
// - Nothing reads the whole; the parts do not overlap, and an elementwise node reads one of them: else nothing is gained.
// - A value that a directive names, or that is observed, stays whole.
#pragma once

#include "generator/model/graph.hpp"

namespace kgen {

// Takes and leaves a simplified module whose kernels are chosen. Linear in the number of nodes.
Module compute_parts(Module module, const OpSet& ops);

}  // namespace kgen
