#include "generator/pass/fuse/report_unmet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace kgen {
namespace {

class UnmetDirectives {
 public:
  UnmetDirectives(const FusedGraph& fused, Diagnostics& diagnostics) : fused_(fused), diagnostics_(diagnostics) {
    for (const Value& value : fused.graph.values) {
      if (value.kind != ValueKind::result) continue;
      makers_[value.name] = value.producer;
      if (value.again_of != no_id) again_[fused.graph.value(value.again_of).name].push_back(value.producer);
    }
  }

  // `of_siblings`: which become one stub of those that do not need each other.
  void expect(const FusionDirectives::Group& set, std::string_view what, std::string_view of_siblings) {
    std::string_view first;
    std::vector<std::uint32_t> together;  // the stubs that compute all values so far
    for (const std::string& name : set.values) {
      if (std::string why = not_computed(name); !why.empty()) {
        diagnostics_.error(set.where, fmt::format("{}: {}", what, why)).advise(advice(name, what));
        continue;
      }
      const std::vector<std::uint32_t> computing = groups_of(name);
      if (first.empty()) {
        first = name;
        together = computing;
        continue;
      }
      const auto apart = [&](std::uint32_t group) {
        return std::find(computing.begin(), computing.end(), group) == computing.end();
      };
      if (std::all_of(together.begin(), together.end(), apart)) {
        report_apart(set.where, what, first, name, of_siblings);
      } else {
        std::erase_if(together, apart);
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
  // Of what makes the value, and of what computes it again.
  std::vector<std::uint32_t> groups_of(std::string_view name) const {
    std::vector<std::uint32_t> groups{fused_.group_of[makers_.at(name)]};
    const auto again = again_.find(name);
    if (again == again_.end()) return groups;
    for (const NodeId node : again->second) groups.push_back(fused_.group_of[node]);
    return groups;
  }

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
    if (path.empty()) {
      const std::uint32_t a = groups_of(first).front(), b = groups_of(other).front();
      error.note(needs(a, b) || needs(b, a)
                     ? "neither needs the other, but the stub of one waits for that of the other"
                     : fmt::format("neither needs the other: of such only {} become one", of_siblings));
    }
    error.advise("`kgen explain --all` prints every decision and its reason");
  }

  // Whether the group `from` runs after, and because of, the group `to`.
  bool needs(std::uint32_t from, std::uint32_t to) const {
    const Graph& graph = fused_.graph;
    std::vector<bool> walked(fused_.groups.size(), false), seen(graph.nodes.size(), false);
    std::vector<NodeId> open = fused_.groups[from].nodes;
    walked[from] = true;
    while (!open.empty()) {
      const Node& node = graph.nodes[open.back()];
      open.pop_back();
      for (const ValueId input : node.inputs) {
        const NodeId maker = input == no_id ? no_id : graph.value(input).producer;
        if (maker == no_id || seen[maker]) continue;
        seen[maker] = true;
        const std::uint32_t group = fused_.group_of[maker];
        if (group == to) return true;
        if (group == no_id) {
          open.push_back(maker);
        } else if (!walked[group]) {
          walked[group] = true;
          open.insert(open.end(), fused_.groups[group].nodes.begin(), fused_.groups[group].nodes.end());
        }
      }
    }
    return false;
  }

  const std::string& name_of(const Node& node) const { return fused_.graph.value(node.outputs[0]).name; }

  const FusedGraph& fused_;
  Diagnostics& diagnostics_;
  std::unordered_map<std::string_view, NodeId> makers_;
  std::unordered_map<std::string_view, std::vector<NodeId>> again_;  // by value: what computes it for other stubs
};

}  // namespace

void report_unmet(const FusedGraph& fused, Diagnostics& diagnostics) {
  const FusionDirectives& directives = fused.graph.directives;
  if (directives.expect.empty() && directives.force.empty() && directives.forbid.empty()) return;
  UnmetDirectives unmet(fused, diagnostics);
  for (const auto& set : directives.expect)
    unmet.expect(set, "expect_fused", "loops that read the same memory and siblings of one kernel");
  for (const auto& set : directives.force)
    unmet.expect(set, "fusion: force", "loops over the same elements and siblings of one kernel");
  for (const auto& set : directives.forbid) unmet.forbid(set);
}

}  // namespace kgen
