#include "generator/pass/graph/source_operand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "generator/spec/expression.hpp"

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

// The first whose condition may hold; null: there is none.
const Evaluations* first_that_may_hold(const NodeScope& at, const std::vector<Evaluations>& declared) {
  const auto holds = std::find_if(declared.begin(), declared.end(), [&](const Evaluations& each) {
    return each.when.empty() || prove(at, each.when) != Proof::never;
  });
  return holds == declared.end() ? nullptr : &*holds;
}

// Of a call that computes all of `roots`.
std::optional<Dim> times_of_call(const NodeScope& at, const Evaluations& declared, const std::vector<NodeId>& roots) {
  const auto sums = call_sizes(at, roots);
  NodeScope of_call = at;
  of_call.sizes = [&](std::string_view name) {
    const auto found = sums.find(name);
    return found == sums.end() ? nullptr : &found->second;
  };
  return size_at(of_call, declared.times);
}

}  // namespace

bool is_source(const Node& node, std::size_t operand) {
  const KernelSignature* kernel = node.kernel;
  return kernel && operand < kernel->operands.size() && kernel->operands[operand].accepts == Accepts::source;
}

std::string why_in_memory(const NodeScope& at, std::size_t operand) {
  const KernelOperand& declared = at.node.kernel->operands[operand];
  if (declared.memory.empty() || prove(at, declared.memory) == Proof::never) return {};
  return fmt::format("{} is much faster where it reads '{}' from memory: {}", at.node.kernel->name, declared.name,
                     facts_of(at, declared.memory));
}

std::int64_t evaluations(const NodeScope& at, std::size_t operand, const std::vector<NodeId>& roots) {
  const Evaluations* declared = first_that_may_hold(at, at.node.kernel->operands[operand].evaluations);
  const auto times = declared ? times_of_call(at, *declared, roots) : std::nullopt;
  return times ? std::max<std::int64_t>(times->range(at.ranges).high, 1) : 1;
}

std::optional<Dim> row_evaluations(const NodeScope& at, std::size_t result, const std::vector<NodeId>& roots) {
  const Evaluations* declared = first_that_may_hold(at, at.node.kernel->results[result].rows);
  return declared ? times_of_call(at, *declared, roots) : std::nullopt;
}

std::string why_no_rows(const NodeScope& at, std::size_t result) {
  const std::string& kernel = at.node.kernel->name;
  const std::vector<Evaluations>& declared = at.node.kernel->results[result].rows;
  if (declared.empty()) return fmt::format("an epilogue of {} sees tiles, and no numbers of whole rows", kernel);
  const std::vector<Expression> parts = conjuncts(declared.front().when);
  const auto failing = std::find_if(parts.begin(), parts.end(),
                                    [&](const Expression& part) { return prove(at, part) == Proof::never; });
  const Expression& part = failing == parts.end() ? declared.front().when : *failing;
  return fmt::format("{} makes numbers of a row only where '{}' holds: {}", kernel, part.text, facts_of(at, part));
}

}  // namespace kgen
