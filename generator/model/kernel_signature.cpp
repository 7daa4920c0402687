#include "generator/model/kernel_signature.hpp"

#include <algorithm>
#include <utility>

namespace kgen {

std::optional<std::size_t> several_operand(const KernelSignature& kernel) {
  const auto found =
      std::find_if(kernel.operands.begin(), kernel.operands.end(), [](const auto& each) { return each.several > 1; });
  if (found == kernel.operands.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kernel.operands.begin());
}

void add_result(KernelSignature& kernel, KernelOperand parameter) {
  KernelOperand behind = parameter;
  behind.joint = 0;
  kernel.results.push_back(std::move(parameter));
  for (int i = 1; i < kernel.results.back().joint; ++i) kernel.results.insert(kernel.results.end(), behind);
}

}  // namespace kgen
