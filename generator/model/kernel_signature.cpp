#include "generator/model/kernel_signature.hpp"

#include <utility>

namespace kgen {

void add_result(KernelSignature& kernel, KernelOperand parameter) {
  KernelOperand behind = parameter;
  behind.joint = 0;
  kernel.results.push_back(std::move(parameter));
  for (int i = 1; i < kernel.results.back().joint; ++i) kernel.results.insert(kernel.results.end(), behind);
}

}  // namespace kgen
