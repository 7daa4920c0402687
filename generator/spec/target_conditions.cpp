#include "generator/spec/target_conditions.hpp"

#include "generator/spec/node_expression.hpp"

namespace kgen {

void keep_conditions_of(TargetKind target, Architecture architecture, OpSet& ops) {
  const auto is_never = [&](const OpSpec& op, const Expression& condition) {
    return !condition.empty() && holds_never(op, condition, target, architecture);
  };
  for (KernelSignature& kernel : ops.kernels) {
    const OpSpec* op = ops.find(kernel.op);
    if (!op) continue;
    for (KernelOperand& operand : kernel.operands) {
      if (is_never(*op, operand.memory)) operand.memory = {};
      std::erase_if(operand.evaluations, [&](const Evaluations& each) { return is_never(*op, each.when); });
    }
  }
  std::erase_if(ops.tuning, [&](const TuningRule& rule) {
    const auto kernel = ops.kernel_index.find(rule.kernel);
    const OpSpec* op = kernel == ops.kernel_index.end() ? nullptr : ops.find(ops.kernels[kernel->second].op);
    return op && is_never(*op, rule.when);
  });
}

}  // namespace kgen
