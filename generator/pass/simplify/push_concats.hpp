// Rule: a concatenation that only elementwise nodes read moves behind them, where what they make lies in memory anyway:
//
//   c = concat(a, b); y = f(c, z)   ->   y_a = f(a, slice(z)); y_b = f(b, slice(z)); y = concat(y_a, y_b)
//
// so that the parts are computed where they belong in the result. Else each is copied to where they lie joined, which f
// reads again: a memory's worth of traffic twice over. It applies to all the elementwise nodes that lead on from the
// concatenation, or to none of them:
// - what they lead to is observed, or read by what reads nothing but memory, or by a structured kernel, whose prologue
//   would compute f more than once. A reduction computes f as it loads: there nothing would be gained;
// - what else they read is the same for every part, the parts of another concatenation cut alike, or can be sliced at
//   no cost: memory, and what elementwise nodes make of memory for this one reader;
// - lines of a part are as long as registers, or longer: shorter ones are better copied than computed.
// A value that a directive names stays where it is, and so does what leads to it.
#pragma once

#include "generator/pass/simplify/rewriting.hpp"

namespace kgen {

// One sweep from the first node to the last. Operands must be resolved, and dead nodes dropped. True where anything
// changed; nodes that nobody reads any more are left.
bool push_concats(Rewriting& rewriting);

}  // namespace kgen
