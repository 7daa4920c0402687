#include "generator/model/op_spec.hpp"

#include <algorithm>

#include "generator/base/characters.hpp"
#include "generator/base/contains.hpp"

namespace kgen {

const AttributeSpec* OpSpec::attribute(std::string_view attribute_name) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const AttributeSpec& each) { return each.name == attribute_name; });
  return found == attributes.end() ? nullptr : &*found;
}

const OpSpec* OpSet::find(std::string_view name) const {
  const auto found = op_index.find(std::string(name));
  return found == op_index.end() ? nullptr : &ops[found->second];
}

const KernelSignature* OpSet::kernel_of(const OpSpec& op) const {
  const auto found = kernel_index.find(op.kernel);
  return found == kernel_index.end() ? nullptr : &kernels[found->second];
}

std::vector<const KernelSignature*> OpSet::kernels_for(const OpSpec& op) const {
  std::vector<const KernelSignature*> result;
  for (const KernelSignature& kernel : kernels) {
    if (kernel.op == op.name && kernel.name != op.kernel) result.push_back(&kernel);
  }
  if (const KernelSignature* own = kernel_of(op)) result.push_back(own);
  return result;
}

const OpSpec* OpSet::with_role(OpRole role) const {
  const auto found = std::find_if(ops.begin(), ops.end(), [&](const OpSpec& each) { return each.role == role; });
  return found == ops.end() ? nullptr : &*found;
}

std::vector<std::string> OpSet::names() const {
  std::vector<std::string> result;
  result.reserve(ops.size());
  for (const OpSpec& op : ops) result.push_back(op.name);
  return result;
}

std::vector<std::string> OpSet::called_elsewhere(std::string_view name) const {
  const std::string lower = lower_case(name);
  std::vector<std::string> result;
  for (const OpSpec& op : ops) {
    if (contains(op.other_names, lower)) result.push_back(op.name);
  }
  return result;
}

}  // namespace kgen
