#include "generator/pass/raise/match.hpp"

#include <algorithm>
#include <utility>

#include "generator/base/contains.hpp"
#include "generator/pass/raise/respell.hpp"

namespace kgen {
namespace {

constexpr int most_steps = 2'000;  // of one search, over all orders of commutative operands

// How far a search has come.
struct Progress {
  Match match;
  struct Goal {
    const Pattern::Input* input;
    ValueId value;
  };
  std::vector<Goal> goals;  // what of the pattern must be found where
};

class Search {
 public:
  // `depth`: of spellings within spellings, whose searches count their steps together.
  Search(SearchedGraph& in, const PatternStart& start, NodeId last, int depth, int& steps)
      : in_(in), pattern_(*start.pattern), start_(start.value), last_(last), depth_(depth), steps_(steps) {}

  std::optional<Recognised> run() {
    Progress progress;
    progress.match.values.assign(pattern_.maker.size(), no_id);
    progress.match.parts.resize(pattern_.parts.size());
    const Pattern::Input end{start_, nullptr, {}};
    progress.goals.push_back({&end, in_.graph.nodes[last_].outputs[0]});
    return reach(std::move(progress));
  }

 private:
  // Reaches all goals, or comes back with nothing.
  std::optional<Recognised> reach(Progress progress) {
    while (!progress.goals.empty()) {
      if (++steps_ > most_steps) return std::nullopt;
      const Progress::Goal goal = progress.goals.back();
      progress.goals.pop_back();
      if (goal.input->value == no_id) {
        if (!meet_number(progress.match, *goal.input, goal.value)) return std::nullopt;
        continue;
      }
      ValueId& bound = progress.match.values[goal.input->value];
      if (bound != no_id && bound != goal.value) return std::nullopt;
      if (std::exchange(bound, goal.value) != no_id) continue;
      const std::uint32_t part = pattern_.maker[goal.input->value];
      if (part == no_id) continue;
      if (!meet_part(progress.match, part, goal.value)) return std::nullopt;
      const auto& node = progress.match.parts[part];
      if (!node) continue;  // a view that is undone
      if (is_commutative(*node)) {
        Progress as_it_stands = progress;
        add_goals(as_it_stands, part);
        if (auto found = reach(std::move(as_it_stands))) return found;
        std::swap(progress.match.parts[part]->inputs[0], progress.match.parts[part]->inputs[1]);
      }
      add_goals(progress, part);
    }
    return finish_match(in_, pattern_, last_, progress.match);
  }

  static bool is_commutative(const Node& node) {
    return node.op->algebra.commutative && node.inputs.size() == 2 && node.inputs[0] != node.inputs[1];
  }

  void add_goals(Progress& progress, std::uint32_t part) const {
    const Pattern::Part& spelled = pattern_.parts[part];
    const std::vector<ValueId>& inputs = progress.match.parts[part]->inputs;
    // Numbers and operands are met first: they need no search.
    for (const bool made : {true, false}) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::uint32_t value = spelled.inputs[i].value;
        const bool is_made = value != no_id && pattern_.maker[value] != no_id;
        if (is_made == made) progress.goals.push_back({&spelled.inputs[i], inputs[i]});
      }
    }
  }

  // A constant of one number. What it must be, where that depends on attributes, is asked at the end.
  bool meet_number(Match& match, const Pattern::Input& input, ValueId value) const {
    const Number* number = number_of(in_.graph, value);
    if (!number) return false;
    const DType dtype = in_.graph.type(value).dtype;
    if (input.literal) return equal_as(dtype, *number, *input.literal);
    learn_number(match, *pattern_.op, *input.number, *number, dtype);
    match.numbers.emplace_back(input.number, value);
    return true;
  }

  // Finds what stands for a part that makes `value`.
  bool meet_part(Match& match, std::uint32_t index, ValueId value) {
    const Pattern::Part& part = pattern_.parts[index];
    std::optional<Node> node = node_for(match, part, value);
    if (node && part.can_undo && !respells(in_, Node{.op = pattern_.op}, part, *node)) {
      match.covered.pop_back();
      node.reset();
    }
    if (!node) return part.can_undo && part.shows_operand;
    while (!node->inputs.empty() && node->inputs.back() == no_id) node->inputs.pop_back();
    if (node->inputs.size() != part.inputs.size()) return false;
    if (std::find(node->inputs.begin(), node->inputs.end(), no_id) != node->inputs.end()) return false;
    for (std::size_t i = 0; i < node->outputs.size(); ++i) match.values[part.first_output + i] = node->outputs[i];
    if (match.values[part.first_output + in_.graph.value(value).index] != value) return false;
    learn_attributes(match, *part.from, *node);
    match.parts[index] = std::move(*node);
    return true;
  }

  // A node of the part's operator, or of what else spells it.
  std::optional<Node> node_for(Match& match, const Pattern::Part& part, ValueId value) {
    if (value == no_id || in_.graph.value(value).kind != ValueKind::result) return std::nullopt;
    const NodeId id = in_.graph.value(value).producer;
    const Node& node = in_.graph.nodes[id];
    if (!node.op) return std::nullopt;
    if (node.op == part.op) {
      match.covered.push_back(id);
      if (part.shows_operand || part.is_shared) match.may_stay.push_back(id);
      return node;
    }
    if (depth_ == deepest_nesting || !may_stand_for(*node.op, part)) return std::nullopt;
    if (contains(in_.not_spelled[id], part.op)) return std::nullopt;
    for (const Pattern* each : *part.spellings) {
      auto found = Search(in_, {each, each->result}, id, depth_ + 1, steps_).run();
      // Views around it would have to be the outer match's, which looks at its operands as they are.
      if (!found || !found->before.empty() || !found->after.empty()) continue;
      match.covered.insert(match.covered.end(), found->covered.begin(), found->covered.end());
      match.staying.insert(match.staying.end(), found->staying.begin(), found->staying.end());
      if (part.is_shared) {
        match.may_stay.insert(match.may_stay.end(), found->covered.begin(), found->covered.end());
      }
      match.as_written = match.as_written && found->as_written;
      return std::move(found->node);
    }
    // From further within, or with more steps behind it, a search finds no more than this one.
    if (depth_ == 0 && steps_ <= most_steps) in_.not_spelled[id].push_back(part.op);
    return std::nullopt;
  }

  SearchedGraph& in_;
  const Pattern& pattern_;
  std::uint32_t start_;
  NodeId last_;
  int depth_;
  int& steps_;
};

// Whether inputs that the spelling calls by one name are one value.
bool repeats_inputs(const Pattern::Part& part, const Node& node) {
  for (std::size_t i = 1; i < std::min(part.inputs.size(), node.inputs.size()); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool same_name = part.inputs[i].value != no_id && part.inputs[i].value == part.inputs[j].value;
      if (same_name && node.inputs[i] != node.inputs[j]) return false;
    }
  }
  return true;
}

// Whether the nodes next to the last one may be those of the pattern: a look that needs no memory.
bool may_match(const SearchedGraph& in, const Pattern& pattern, const Pattern::Part& part, NodeId id, int depth) {
  const Node& node = in.graph.nodes[id];
  if (!node.op || !may_stand_for(*node.op, part) || contains(in.not_spelled[id], part.op)) return false;
  if (depth == 0) return true;
  if (node.op != part.op) {
    return std::any_of(part.spellings->begin(), part.spellings->end(), [&](const Pattern* each) {
      return may_match(in, *each, each->parts[each->maker[each->result]], id, depth - 1);
    });
  }
  if (!repeats_inputs(part, node)) return false;
  return std::all_of(part.inputs.begin(), part.inputs.end(), [&](const Pattern::Input& input) {
    if (input.value == no_id) {
      return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return number_of(in.graph, id); });
    }
    if (pattern.maker[input.value] == no_id) return true;
    const Pattern::Part& behind = pattern.parts[pattern.maker[input.value]];
    if (behind.can_undo) return true;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId value) {
      if (value == no_id || in.graph.value(value).kind != ValueKind::result) return false;
      return may_match(in, pattern, behind, in.graph.value(value).producer, depth - 1);
    });
  });
}

}  // namespace

std::optional<Recognised> recognise(SearchedGraph& in, const PatternStart& start, NodeId last) {
  const Pattern& pattern = *start.pattern;
  const Pattern::Part& end = pattern.parts[pattern.maker[start.value]];
  if (!may_match(in, pattern, end, last, 4)) return std::nullopt;
  int steps = 0;
  return Search(in, start, last, 0, steps).run();
}

}  // namespace kgen
