#include "generator/model/kernel_signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kgen {

std::optional<std::size_t> several_operand(const KernelSignature& kernel) {
  const auto found =
      std::find_if(kernel.operands.begin(), kernel.operands.end(), [](const auto& each) { return each.several > 1; });
  if (found == kernel.operands.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kernel.operands.begin());
}

std::optional<LayoutProblem> layout_problem(const KernelSignature& kernel, const KernelParameter& parameter,
                                            const std::string& operand) {
  const auto is_it = [&](const KernelOperand& each) {
    return each.name == operand && (each.rank == -1 || each.rank >= 2);
  };
  if (std::none_of(kernel.operands.begin(), kernel.operands.end(), is_it)) {
    return LayoutProblem{fmt::format("'{}' is no matrix among the operands of '{}'", operand, kernel.name),
                         "name an operand of two axes or more"};
  }
  if (parameter.values != std::vector<std::int64_t>{0, 1, 2} || parameter.default_value != 0) {
    return LayoutProblem{fmt::format("'{}' cannot say how an operand lies", parameter.name),
                         "give it the values 0 (not known, its default), 1 (row-major) and 2 (column-major)"};
  }
  return std::nullopt;
}

void add_result(KernelSignature& kernel, KernelOperand parameter) {
  KernelOperand behind = parameter;
  behind.joint = 0;
  kernel.results.push_back(std::move(parameter));
  for (int i = 1; i < kernel.results.back().joint; ++i) kernel.results.insert(kernel.results.end(), behind);
}

}  // namespace kgen
