// Rules, from the facts under `algebra:` of a specification:
// - identity:    f(x, c) -> x       where every element of the constant c is the operator's identity for that operand
//                                   (for either operand where f is commutative), and f(x, c) has the type of x
// - involution:  f(f(x)) -> x       with the same attributes
// - idempotent:  f(f(x)) -> f(x)    with the same attributes
//
// NaN and infinities: nothing but a declared identity is ever dropped, so x * 0 and x - x stay as they are.
//
// The sign of zero: numpy gives -0 + 0 = 0, so dropping the 0 of x + 0 can turn a 0 into a -0. The two compare equal,
// and with `numerics: fast` that is accepted. With `numerics: match_unfused` the identity is dropped only where the
// operator's definition keeps both zeros with the constant at hand: x * 1, x - 0 and x + -0, but not x + 0.
#pragma once

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

bool apply_algebra(Rewriting& rewriting, NodeId node);

}  // namespace kgen
