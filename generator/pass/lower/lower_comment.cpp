#include "generator/pass/lower/lower_comment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "generator/pass/fuse/fuse_siblings.hpp"
#include "generator/pass/lower/lower_names.hpp"

namespace kgen {
namespace {

constexpr std::size_t longest_formula = 90;
constexpr std::size_t most_names = 3;

class Comment {
 public:
  Comment(const FuseFacts& facts, const Group& group) : facts_(facts), graph_(facts.graph()), group_(group) {}

  StubComment make() const {
    StubComment comment;
    comment.graph = graph_.name;
    comment.use = what();
    count_spared(comment);
    count_shared(comment);
    return comment;
  }

 private:
  // "add", or the composite that a node was expanded from.
  const std::string& operator_name(const Node& node) const { return node.within.empty() ? node.op->name : node.within; }

  bool is_made_here(ValueId value) const {
    const Value& v = graph_.value(value);
    return v.kind == ValueKind::result && std::binary_search(group_.nodes.begin(), group_.nodes.end(), v.producer);
  }

  // "relu(add(matmul(A, B), bias))"; gives up once the text is too long for one line.
  std::string formula(ValueId value, std::size_t budget) const {
    const ValueId shown = facts_.peel(value);
    const bool reshaped = group_.kind == GroupKind::structured && is_made_here(facts_.unshaped(shown));
    if (!is_made_here(shown) && !reshaped) return graph_.value(value).name;
    const Node& node = graph_.nodes[graph_.value(shown).producer];
    std::string text = node.op->name + "(";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == no_id) continue;
      if (i > 0) text += ", ";
      if (is_literal(graph_, node, node.inputs[i])) {
        text += fmt::format("{}", *single_number(graph_, node.inputs[i]));
      } else if (text.size() < budget) {
        text += formula(node.inputs[i], budget - text.size());
      }
      if (text.size() > budget) return std::string(budget + 1, ' ');
    }
    return text + ")";
  }

  std::string what() const {
    const bool composite = std::any_of(group_.nodes.begin(), group_.nodes.end(),
                                       [&](NodeId id) { return !graph_.nodes[id].within.empty(); });
    if (group_.outputs.size() == 1 && !composite) {
      const std::string text =
          fmt::format("{} = {}", graph_.value(group_.outputs[0]).name, formula(group_.outputs[0], longest_formula));
      if (text.size() <= longest_formula) return text;
    }
    std::string names, steps, last;
    for (const ValueId output : group_.outputs) {
      const std::string& name = graph_.value(written_value(facts_, group_, output)).name;
      if (name != last) names += (names.empty() ? "" : ", ") + name;
      last = name;
    }
    last.clear();
    for (const NodeId id : group_.nodes) {
      const std::string& step = operator_name(graph_.nodes[id]);
      const bool follows = graph_.nodes[id].op->role == OpRole::copy && !steps.empty();
      if (step == last || follows) continue;
      steps += (steps.empty() ? "" : ", ") + step;
      last = step;
      if (steps.size() > longest_formula) {
        steps += ", ...";
        break;
      }
    }
    return fmt::format("{}: {}", names, steps);
  }

  // What never reaches memory, each written once and read at least once.
  void count_spared(StubComment& comment) const {
    const std::unordered_set<ValueId> written(group_.outputs.begin(), group_.outputs.end());
    for (const NodeId id : group_.nodes) {
      for (const ValueId output : graph_.nodes[id].outputs) {
        if (written.contains(output) || facts_.consumers(output).empty()) continue;
        comment.bytes = comment.bytes + bytes_of(graph_.type(output)) * Dim(2);
        if (comment.spared.size() < most_names && graph_.nodes[id].within.empty()) {
          comment.spared.push_back(graph_.value(output).name);
        } else {
          ++comment.others;
        }
      }
    }
  }

  // What siblings read in common: once, and not once for each.
  void count_shared(StubComment& comment) const {
    if (group_.siblings.empty()) return;
    for (const ValueId value : shared_operands(graph_, group_.root)) {
      if (std::find(group_.inputs.begin(), group_.inputs.end(), value) == group_.inputs.end()) continue;
      comment.shared.push_back(graph_.value(value).name);
      comment.bytes =
          comment.bytes + bytes_of(graph_.type(value)) * Dim(static_cast<std::int64_t>(group_.siblings.size()));
    }
  }

  const FuseFacts& facts_;
  const Graph& graph_;
  const Group& group_;
};

// "a, b and c never reach memory", of some names and how many others.
std::string said_of(const std::vector<std::string>& names, std::size_t others, std::string_view thing,
                    std::string_view of_one, std::string_view of_several) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    list += (i == 0 ? "" : others == 0 && i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  if (others > 0) {
    list += fmt::format("{}{} {}{}", names.empty() ? "" : " and ", others, thing, others == 1 ? "" : "s");
  }
  return fmt::format("{} {}", list, names.size() + others == 1 ? of_one : of_several);
}

}  // namespace

StubComment stub_comment(const FuseFacts& facts, const Group& group) { return Comment(facts, group).make(); }

std::vector<std::string> uses_text(const std::vector<StubComment>& comments) {
  const bool one_graph = std::all_of(comments.begin(), comments.end(), [&](const StubComment& comment) {
    return comment.graph == comments.front().graph;
  });
  std::vector<std::string> uses;
  for (const StubComment& comment : comments) {
    uses.push_back(one_graph ? comment.use : fmt::format("{}   (in {})", comment.use, comment.graph));
  }
  return uses;
}

std::string saved_text(const std::vector<StubComment>& comments) {
  std::vector<std::string> names, shared;
  std::size_t others = 0;
  Dim bytes;
  for (const StubComment& comment : comments) {
    for (const std::string& name : comment.spared) {
      if (names.size() < most_names) {
        names.push_back(name);
      } else {
        ++others;
      }
    }
    for (const std::string& name : comment.shared) {
      if (std::find(shared.begin(), shared.end(), name) == shared.end()) shared.push_back(name);
    }
    others += comment.others;
    bytes = bytes + comment.bytes;
  }
  std::vector<std::string> said;
  if (!names.empty() || others > 0) {
    said.push_back(said_of(names, others, "intermediate", "never reaches memory", "never reach memory"));
  }
  if (!shared.empty()) {
    const std::size_t shown = std::min(shared.size(), most_names);
    said.push_back(said_of({shared.begin(), shared.begin() + static_cast<std::ptrdiff_t>(shown)}, shared.size() - shown,
                           "other", "is read once", "are read once"));
  }
  if (said.empty()) return {};
  return fmt::format("{}: {} bytes of traffic saved.", fmt::join(said, "; "), bytes.text());
}

}  // namespace kgen
