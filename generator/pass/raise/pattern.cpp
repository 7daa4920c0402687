#include "generator/pass/raise/pattern.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "generator/spec/expression.hpp"

namespace kgen {
namespace {

bool is_literal(const Expression& each) { return !each.steps.empty() && each.variables.empty() && each.names.empty(); }

std::optional<Number> literal_number(const Expression& input) {
  if (!is_literal(input)) return std::nullopt;
  const Expression::Step& last = input.steps.back();
  return last.operation == Expression::Operation::number ? last.number
                                                         : Number(evaluate(input, std::span<const double>{}));
}

bool names_nothing(const ExpansionNode& node) {
  return std::all_of(node.attributes.begin(), node.attributes.end(), [](const auto& each) {
    return std::all_of(each.second.items.begin(), each.second.items.end(), is_literal);
  });
}

bool has_inverse(const OpSpec& op) {
  using Form = ViewRule::Form;
  return op.view &&
         (op.view->form == Form::permute || op.view->form == Form::squeeze || op.view->form == Form::unsqueeze);
}

// Numbers the values of a spelling; nothing where it names an operator that is not there.
class PatternBuilder {
 public:
  PatternBuilder(const OpSet& ops, const OpSpec& op, const Expansion& spelled, bool is_expansion) : ops_(ops) {
    pattern_.op = &op;
    pattern_.spelled = &spelled;
    pattern_.is_expansion = is_expansion;
    for (const OperandSpec& operand : op.operands) add_value(operand.name, no_id);
  }

  // Nothing where what comes last makes several values: the operator has one.
  std::unique_ptr<Pattern> build() {
    for (const ExpansionNode& node : pattern_.spelled->nodes) {
      if (!add_part(node)) return nullptr;
    }
    const auto result = values_.find(pattern_.op->results[0].name);
    if (result == values_.end()) return nullptr;
    pattern_.result = result->second;
    const std::uint32_t last = pattern_.maker[pattern_.result];
    if (last != no_id && pattern_.parts[last].from->outputs.size() != 1) return nullptr;
    mark_views_of_operands();
    mark_views_at_end();
    return std::make_unique<Pattern>(std::move(pattern_));
  }

 private:
  void add_value(const std::string& name, std::uint32_t maker) {
    values_[name] = static_cast<std::uint32_t>(pattern_.maker.size());
    pattern_.maker.push_back(maker);
    readers_.push_back(0);
  }

  bool add_part(const ExpansionNode& node) {
    Pattern::Part part{.op = ops_.find(node.op), .from = &node};
    if (!part.op) return false;
    for (const Expression& input : node.inputs) {
      const auto value = values_.find(input.text);
      if (value == values_.end()) {
        part.inputs.push_back({no_id, &input, literal_number(input)});
      } else {
        part.inputs.push_back({value->second, nullptr, {}});
        ++readers_[value->second];
      }
    }
    part.first_output = static_cast<std::uint32_t>(pattern_.maker.size());
    part.is_shared = contains(pattern_.spelled->shared, node.outputs[0]);
    for (const std::string& output : node.outputs) add_value(output, static_cast<std::uint32_t>(pattern_.parts.size()));
    pattern_.parts.push_back(std::move(part));
    return true;
  }

  // An expansion is what it is.
  bool can_undo(const Pattern::Part& part) const {
    return !pattern_.is_expansion && has_inverse(*part.op) && part.inputs.size() == 1 &&
           part.inputs[0].value != no_id && names_nothing(*part.from) && readers_[part.inputs[0].value] == 1;
  }

  void mark_views_of_operands() {
    for (Pattern::Part& part : pattern_.parts) {
      if (part.op->kind != OpKind::view || part.inputs.size() != 1 || part.inputs[0].value == no_id) continue;
      const std::uint32_t before = pattern_.maker[part.inputs[0].value];
      part.shows_operand = before == no_id || pattern_.parts[before].shows_operand;
      part.can_undo = part.shows_operand && can_undo(part) && (before == no_id || pattern_.parts[before].can_undo);
    }
  }

  void mark_views_at_end() {
    pattern_.core = pattern_.result;
    for (;;) {
      Pattern::Part& part = pattern_.parts[pattern_.maker[pattern_.core]];
      const std::uint32_t shown = part.inputs.empty() ? no_id : part.inputs[0].value;
      if (part.shows_operand || !can_undo(part) || pattern_.maker[shown] == no_id) return;
      part.can_undo = true;
      pattern_.core = shown;
    }
  }

  const OpSet& ops_;
  Pattern pattern_;
  std::map<std::string, std::uint32_t> values_;
  std::vector<std::uint32_t> readers_;  // by value: how many parts read it
};

// How many nodes match it at most: parts that have spellings of their own count as those.
std::size_t size_of(const PatternTable& table, const Pattern& pattern, int depth = 0) {
  std::size_t size = 0;
  for (const Pattern::Part& part : pattern.parts) {
    std::size_t largest = 1;
    if (depth < deepest_nesting) {
      for (const Pattern* each : table.spelling(*part.op))
        largest = std::max(largest, size_of(table, *each, depth + 1));
    }
    size += largest;
  }
  return size;
}

void add_last_ops(const PatternTable& table, const OpSpec& op, int depth, std::vector<const OpSpec*>& found) {
  if (std::find(found.begin(), found.end(), &op) != found.end()) return;
  found.push_back(&op);
  if (depth == deepest_nesting) return;
  for (const Pattern* each : table.spelling(op)) {
    add_last_ops(table, *each->parts[each->maker[each->result]].op, depth + 1, found);
  }
}

}  // namespace

PatternTable::PatternTable(const OpSet& ops) {
  for (const OpSpec& op : ops.ops) {
    const bool variadic = !op.operands.empty() && op.operands.back().variadic;
    if (op.results.size() != 1 || variadic) continue;
    const auto add = [&](const Expansion& spelled, bool is_expansion) {
      auto pattern = PatternBuilder(ops, op, spelled, is_expansion).build();
      if (!pattern || pattern->maker[pattern->result] == no_id) return;
      by_op_[&op].push_back(pattern.get());
      patterns_.push_back(std::move(pattern));
    };
    if (op.kind == OpKind::composite) {
      for (const Expansion& each : op.expansions) add(each, true);
    }
    for (const Expansion& each : op.spellings) add(each, false);
  }
  for (const OpSpec& op : ops.ops) add_last_ops(*this, op, 0, last_ops_[&op]);
  for (const auto& pattern : patterns_) {
    for (Pattern::Part& part : pattern->parts) {
      part.last_ops = &last_ops_.at(part.op);
      part.spellings = &spelling(*part.op);
    }
  }
  index_ends();
}

void PatternTable::index_ends() {
  std::vector<std::pair<std::size_t, const Pattern*>> by_size;
  for (const auto& pattern : patterns_) by_size.emplace_back(size_of(*this, *pattern), pattern.get());
  std::stable_sort(by_size.begin(), by_size.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [size, pattern] : by_size) {
    for (const std::uint32_t start : {pattern->result, pattern->core}) {
      const OpSpec* last = pattern->parts[pattern->maker[start]].op;
      for (const OpSpec* end : last_ops_[last]) by_end_[end].push_back({pattern, start});
      if (pattern->result == pattern->core) break;
    }
  }
}

const std::vector<PatternStart>& PatternTable::ending_in(const OpSpec& op) const {
  static const std::vector<PatternStart> none;
  const auto found = by_end_.find(&op);
  return found == by_end_.end() ? none : found->second;
}

const std::vector<const Pattern*>& PatternTable::spelling(const OpSpec& op) const {
  static const std::vector<const Pattern*> none;
  const auto found = by_op_.find(&op);
  return found == by_op_.end() ? none : found->second;
}

bool is_axis(const OpSet& ops, const OpSpec& op, std::string_view attribute) {
  const auto reads_line = [&](const OperandSpec& operand) { return operand.line == attribute; };
  if (std::any_of(op.operands.begin(), op.operands.end(), reads_line)) return true;
  if (op.kind == OpKind::reduction) return attribute == "axes";
  if (op.view) {
    const auto found = op.view->parameters.find("axis");
    return found != op.view->parameters.end() && found->second == attribute;
  }
  const auto stands_for = [&](const ExpansionValue& value) {
    return value.items.size() == 1 && value.items[0].text == "$" + std::string(attribute);
  };
  for (const Expansion& expansion : op.expansions) {
    for (const ExpansionNode& node : expansion.nodes) {
      const OpSpec* inner = ops.find(node.op);
      for (const auto& [inner_attribute, value] : node.attributes) {
        if (inner && stands_for(value) && is_axis(ops, *inner, inner_attribute)) return true;
      }
    }
  }
  return false;
}

}  // namespace kgen
