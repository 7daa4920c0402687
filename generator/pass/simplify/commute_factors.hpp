// Rule: a factor on an operand becomes one on the result, or on the other operand, where then the product of the two
// need not be written to memory.
//
//   r = rsqrt(mean(x * x) + epsilon) [M, 1], n = x * r * gain, y = matmul(n, W)
//   ->   y = matmul(x, gain * W) * r, with gain * W computed at load
//
// - The operator says along which axes factors may go where (ScaledAxis of its specification). A factor is what an
//   elementwise operator, whose definition is a product or a quotient, multiplies the operand by, broadcast to it;
//   perhaps before the operand is reshaped, where that keeps the rows that have one such factor each.
// - Not under `numerics: match_unfused`, as it rounds differently; and in no type that cannot hold as great numbers as
//   f32, in which products are accumulated: x * W may be much greater than what it is multiplied by.
// - The operand is made of whole rows, or its kernel wants it in memory, so that it would be written; all that read it
//   are such operators; and what is left of it is in memory anyway, or may be a prologue of them.
// - A factor goes to another operand only where both are known when the model is loaded, and nothing but such operators
//   reads that.
// - It must move less memory for all sizes, by more than the multiplications that it adds take.
#pragma once

#include "generator/model/graph.hpp"

namespace kgen {

// Takes and leaves a simplified module whose kernels are chosen. Linear in the number of nodes. Where a factor was in
// question, the graph records what became of it, and why.
Module commute_factors(Module module, const OpSet& ops);

}  // namespace kgen
