#include "generator/pass/fuse/check_expectations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace kgen {
namespace {

class ExpectationCheck {
 public:
  ExpectationCheck(const FusedGraph& fused, Diagnostics& diagnostics) : fused_(fused), diagnostics_(diagnostics) {
    for (const Value& value : fused.graph.values) {
      if (value.kind == ValueKind::result) makers_[value.name] = value.producer;
    }
  }

  // `of_siblings`: which become one stub of those that do not need each other.
  void expect(const FusionDirectives::Group& set, std::string_view what, std::string_view of_siblings) {
    std::string_view first;
    for (const std::string& name : set.values) {
      if (std::string why = not_computed(name); !why.empty()) {
        diagnostics_.error(set.where, fmt::format("{}: {}", what, why)).advise(advice(name, what));
      } else if (first.empty()) {
        first = name;
      } else if (group_of(first) != group_of(name)) {
        report_apart(set.where, what, first, name, of_siblings);
      }
    }
  }

  void forbid(const FusionDirectives::Group& set) {
    const std::string_view what = "fusion: forbid";
    for (const std::string& name : set.values) {
      const std::string why = not_computed(name);
      if (why.empty()) continue;
      diagnostics_.warning(set.where, fmt::format("{}: {}, and nothing is to be kept apart from it", what, why))
          .advise(advice(name, what));
    }
  }

 private:
  std::uint32_t group_of(std::string_view name) const { return fused_.group_of[makers_.at(name)]; }

  // Why no stub computes the value; empty where one does.
  std::string not_computed(std::string_view name) const {
    const auto maker = makers_.find(name);
    if (maker == makers_.end()) return fmt::format("no output needs '{}', so no stub computes it", name);
    if (fused_.group_of[maker->second] != no_id) return {};
    return fmt::format("'{}' is a view of '{}', read in place: no stub computes it", name, shown(maker->second));
  }

  std::string advice(std::string_view name, std::string_view what) const {
    const auto maker = makers_.find(name);
    if (maker != makers_.end()) return fmt::format("name '{}' instead", shown(maker->second));
    return fmt::format("remove it from `{}`, or read it: a value that nothing reads can be listed under `outputs:`",
                       what);
  }

  // What the views up to `node` show.
  const std::string& shown(NodeId node) const {
    ValueId value = fused_.graph.nodes[node].inputs[0];
    for (;;) {
      const NodeId maker = fused_.graph.value(value).producer;
      if (maker == no_id || fused_.group_of[maker] != no_id) return fused_.graph.value(value).name;
      value = fused_.graph.nodes[maker].inputs[0];
    }
  }

  void report_apart(SourceLocation where, std::string_view what, std::string_view first, std::string_view other,
                    std::string_view of_siblings) {
    Diagnostic& error =
        diagnostics_.error(where, fmt::format("{}: '{}' and '{}' are not computed by one stub", what, first, other));
    std::vector<const Decision*> path = decision_path(fused_, makers_.at(first), makers_.at(other));
    if (path.empty()) path = decision_path(fused_, makers_.at(other), makers_.at(first));
    for (const Decision* made : path) {
      if (made->fused) continue;
      const Node& consumer = fused_.graph.nodes[made->consumer];
      error.note(consumer.where, fmt::format("'{}' does not join '{}': {}", name_of(consumer),
                                             name_of(fused_.graph.nodes[made->producer]), made->reason));
    }
    if (path.empty()) error.note(fmt::format("neither needs the other: of such only {} become one", of_siblings));
    error.advise("`kgen explain` prints every decision and its reason");
  }

  const std::string& name_of(const Node& node) const { return fused_.graph.value(node.outputs[0]).name; }

  const FusedGraph& fused_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string_view, NodeId> makers_;
};

}  // namespace

void check_expectations(const FusedGraph& fused, Diagnostics& diagnostics) {
  const FusionDirectives& directives = fused.graph.directives;
  if (directives.expect.empty() && directives.force.empty() && directives.forbid.empty()) return;
  ExpectationCheck check(fused, diagnostics);
  for (const auto& set : directives.expect)
    check.expect(set, "expect_fused", "loops that read the same memory and siblings of one kernel");
  for (const auto& set : directives.force)
    check.expect(set, "fusion: force", "loops over the same elements and siblings of one kernel");
  for (const auto& set : directives.forbid) check.forbid(set);
}

}  // namespace kgen
