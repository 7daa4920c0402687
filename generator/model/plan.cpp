#include "generator/model/plan.hpp"

namespace kgen {

Dim arena_bytes(const FunctionPlan& plan) {
  Dim total;
  for (const Slot& slot : plan.slots) total = total + Dim(64) * Dim::floor_divide(slot.bytes + Dim(63), 64);
  return total;
}

}  // namespace kgen
