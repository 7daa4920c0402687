#include "generator/pass/graph/source_operand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace kgen {
namespace {

// Sizes of a call that computes several nodes: of an axis that each gives for itself, the sum.
std::map<std::string, Dim, std::less<>> call_sizes(const NodeScope& at, const std::vector<NodeId>& roots) {
  std::map<std::string, Dim, std::less<>> sums;
  if (roots.size() < 2) return sums;
  for (const JoinedAxis& joined : at.node.op->algebra.joins) {
    const std::vector<PatternAxis>& pattern = *at.node.op->operands[joined.operand].pattern;
    const std::string& name = (pattern.end() + joined.operand_axis)->name;
    Dim& sum = sums[name];
    for (const NodeId root : roots) {
      const NodeScope each{at.graph, at.graph.nodes[root], at.ranges, at.graph.nodes[root].attributes};
      sum = sum + size_named(each, name).value_or(Dim());
    }
  }
  return sums;
}

}  // namespace

bool is_source(const Node& node, std::size_t operand) {
  const KernelSignature* kernel = node.kernel;
  return kernel && operand < kernel->operands.size() && kernel->operands[operand].accepts == Accepts::source;
}

std::string why_in_memory(const NodeScope& at, std::size_t operand) {
  const KernelOperand& declared = at.node.kernel->operands[operand];
  if (declared.memory.empty() || prove(at, declared.memory) == Proof::never) return {};
  return fmt::format("{} is much faster where it reads '{}' from memory: '{}' holds: {}", at.node.kernel->name,
                     declared.name, declared.memory.text, facts_of(at, declared.memory));
}

std::int64_t evaluations(const NodeScope& at, std::size_t operand, const std::vector<NodeId>& roots) {
  const std::vector<Evaluations>& declared = at.node.kernel->operands[operand].evaluations;
  const auto holds = std::find_if(declared.begin(), declared.end(), [&](const Evaluations& each) {
    return each.when.empty() || prove(at, each.when) != Proof::never;
  });
  if (holds == declared.end()) return 1;
  const auto sums = call_sizes(at, roots);
  NodeScope of_call = at;
  of_call.sizes = [&](std::string_view name) {
    const auto found = sums.find(name);
    return found == sums.end() ? nullptr : &found->second;
  };
  const auto times = size_at(of_call, holds->times);
  return times ? std::max<std::int64_t>(times->range(at.ranges).high, 1) : 1;
}

}  // namespace kgen
