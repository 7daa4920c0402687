// What check mode adds to a plan: every node as a stub of its own, the reference; and where each fused stub holds the
// values between them.
#pragma once

#include "generator/model/op_spec.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// `plan` is whole but for `check`.
CheckPlan plan_check(const Plan& plan, const OpSet& ops);

}  // namespace kgen
