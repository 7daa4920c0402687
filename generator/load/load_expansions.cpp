#include "generator/load/load_expansions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "generator/load/fields.hpp"
#include "generator/load/read_expressions.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {
namespace {

// A word, or a list of them.
std::vector<Yaml> words_of(Yaml value, std::string_view what, Diagnostics& diagnostics) {
  if (value.is_scalar()) return {value};
  return read_list(value, what, diagnostics).value_or(std::vector<Yaml>{});
}

// "$axis + 1" as an expression, which knows neither the mark of an attribute nor the point of YAML's .inf and .nan. It
// has no steps where the text is none: it may be a word.
Expression item_of(Yaml value) {
  std::string text(value.text());
  std::erase(text, '$');
  for (const std::string_view name : {".inf", ".nan"}) {
    if (const auto found = text.find(name); found != std::string::npos) text.erase(found, 1);
  }
  Expression item = parse_expression(text, nullptr, node_functions()).value_or(Expression{});
  item.text = value.text();
  item.where = value.where();
  return item;
}

// What an attribute is given: "$axis", "true", "[0, $axis]".
ExpansionValue value_of(Yaml value, std::string_view name, Diagnostics& diagnostics) {
  if (value.is_scalar()) return {std::string(value.text()), {item_of(value)}};
  ExpansionValue list;
  for (const Yaml each : read_list(value, fmt::format("'{}'", name), diagnostics).value_or(std::vector<Yaml>{})) {
    list.text += (list.items.empty() ? "[" : ", ") + std::string(each.text());
    list.items.push_back(item_of(each));
  }
  list.text += list.items.empty() ? "[]" : "]";
  return list;
}

// Reads one alternative.
class ExpansionReader {
 public:
  // `numbers`: what "$name" may stand for beside the operator's attributes.
  ExpansionReader(const OpSpec& op, Diagnostics& diagnostics, std::set<std::string, std::less<>> numbers = {})
      : op_(op), diagnostics_(diagnostics), numbers_(std::move(numbers)) {
    for (const OperandSpec& operand : op.operands) known_.insert(operand.name);
  }

  std::vector<ExpansionNode> read(Yaml nodes) {
    std::vector<ExpansionNode> result;
    if (!nodes.is_sequence()) {
      report_mismatch(nodes, "an expansion", "a list of nodes", diagnostics_);
      return result;
    }
    for (const Yaml each : nodes.items()) {
      if (each.is_mapping()) {
        result.push_back(read_node(each));
      } else {
        report_mismatch(each, "a node", "a mapping", diagnostics_);
      }
    }
    for (const ResultSpec& result_spec : op_.results) {
      if (known_.contains(result_spec.name)) continue;
      diagnostics_.error(nodes.where(), fmt::format("no node of the expansion makes '{}', a result of '{}'",
                                                    result_spec.name, op_.name));
    }
    return result;
  }

 private:
  ExpansionNode read_node(Yaml entry) {
    ExpansionNode node;
    node.where = entry.where();
    if (const Yaml name = require_key(entry, "op", "a node", diagnostics_)) {
      node.op = read_text(name, "'op'", diagnostics_).value_or("");
      node.where = name.where();
    }
    if (const Yaml in = entry.find("in")) {
      for (const Yaml each : words_of(in, "'in'", diagnostics_)) {
        validate_operand(each);
        node.inputs.push_back(item_of(each));
      }
    }
    for (const Yaml::Entry& attribute : entry.entries()) {
      if (attribute.name() == "op" || attribute.name() == "in" || attribute.name() == "out") continue;
      node.attributes.emplace_back(attribute.name(), value_of(attribute.value, attribute.name(), diagnostics_));
      validate_attribute_names(attribute.value, node.attributes.back().second.text);
    }
    if (const Yaml out = require_key(entry, "out", "a node", diagnostics_)) {
      for (const Yaml each : words_of(out, "'out'", diagnostics_)) {
        define(each);
        node.outputs.emplace_back(each.text());
      }
    }
    return node;
  }

  // A value of the expansion, "$attribute", a number that follows from attributes ("1 / $p"), or a number.
  void validate_operand(Yaml word) {
    const std::string_view text = word.text();
    if (text.find('$') != text.npos) {
      validate_attribute_names(word, text);
    } else if (!known_.contains(text) && !number_from_text(text)) {
      const std::vector<std::string> candidates(known_.begin(), known_.end());
      Diagnostic& diagnostic = diagnostics_.error(
          word.where(), fmt::format("'{}' is neither an operand of '{}' nor made by an earlier node", text, op_.name));
      note_candidates(diagnostic, text, candidates, "values so far");
    }
  }

  // Every "$name" in the text.
  void validate_attribute_names(Yaml value, std::string_view text) {
    for (std::size_t dollar = text.find('$'); dollar != text.npos; dollar = text.find('$', dollar + 1)) {
      std::size_t end = dollar + 1;
      while (end < text.size() && is_identifier(text.substr(dollar + 1, end - dollar))) ++end;
      const std::string_view name = text.substr(dollar + 1, end - dollar - 1);
      if (op_.attribute(name) || numbers_.contains(name)) continue;
      std::vector<std::string> candidates;
      for (const AttributeSpec& each : op_.attributes) candidates.push_back(each.name);
      Diagnostic& diagnostic =
          diagnostics_.error(value.where(), fmt::format("'${}' is no attribute of '{}'", name, op_.name));
      note_candidates(diagnostic, name, candidates, "attributes");
    }
  }

  void define(Yaml word) {
    if (!validate_name(word, "a value", diagnostics_)) return;
    if (known_.emplace(word.text()).second) return;
    diagnostics_.error(word.where(), fmt::format("'{}' is already defined in this expansion", word.text()));
  }

  const OpSpec& op_;
  Diagnostics& diagnostics_;
  std::set<std::string, std::less<>> numbers_;
  std::set<std::string, std::less<>> known_;  // operands, and results of the nodes so far
};

// The words of an expression.
void add_names(std::string_view text, std::set<std::string, std::less<>>& names) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && is_identifier(text.substr(begin, end + 1 - begin))) ++end;
    if (end > begin) names.emplace(text.substr(begin, end - begin));
    begin = end + (end == begin);
  }
}

// The expressions that give attributes and operands of the operator; adds what they mention to `mentioned`.
void read_spelled_numbers(Yaml value, const OpSpec& op, Expansion& spelling,
                          std::set<std::string, std::less<>>& mentioned, Diagnostics& diagnostics) {
  if (!value.is_mapping()) {
    report_mismatch(value, "'numbers'", "a mapping from names", diagnostics);
    return;
  }
  for (const Yaml::Entry& each : value.entries()) {
    const auto is_named = [&](const OperandSpec& operand) { return operand.name == each.name(); };
    const AttributeSpec* attribute = op.attribute(each.name());
    if (attribute ? attribute->type != AttributeType::number
                  : std::none_of(op.operands.begin(), op.operands.end(), is_named)) {
      diagnostics.error(each.key.where(), fmt::format("'{}' is no operand of '{}' and no attribute of type number",
                                                      each.name(), op.name));
      continue;
    }
    const std::string what = fmt::format("the number '{}' of a spelling of '{}'", each.name(), op.name);
    spelling.numbers.emplace_back(each.name(), read_expression(each.value, what, no_functions, diagnostics));
    if (each.value.is_scalar()) add_names(each.value.text(), mentioned);
  }
}

// The values of a spelling, of which each is a node's only one.
void read_shared_values(Yaml value, const OpSpec& op, Expansion& spelling, Diagnostics& diagnostics) {
  if (!value.is_sequence()) {
    report_mismatch(value, "'shared'", "a list of names", diagnostics);
    return;
  }
  for (const Yaml each : value.items()) {
    const std::string name(each.is_scalar() ? each.text() : "");
    const bool is_made = std::any_of(spelling.nodes.begin(), spelling.nodes.end(), [&](const ExpansionNode& node) {
      return node.outputs.size() == 1 && node.outputs[0] == name && name != op.results[0].name;
    });
    if (is_made) {
      spelling.shared.push_back(name);
    } else {
      diagnostics.error(each.where(),
                        fmt::format("'{}' is no value between the nodes of a spelling of '{}'", name, op.name));
    }
  }
}

}  // namespace

void read_spellings(Yaml value, OpSpec& op, Diagnostics& diagnostics) {
  if (!value.is_sequence()) {
    report_mismatch(value, "'spellings'", "a list of spellings", diagnostics);
    return;
  }
  for (const Yaml each : value.items()) {
    validate_keys(each, {"when", "numbers", "shared", "nodes"}, "a spelling", diagnostics);
    if (!each.is_mapping()) continue;
    Expansion& spelling = op.spellings.emplace_back();
    if (const Yaml when = each.find("when")) {
      const std::string what = fmt::format("the condition of a spelling of '{}'", op.name);
      spelling.when = read_expression(when, what, node_functions(), diagnostics);
    }
    std::set<std::string, std::less<>> mentioned;
    if (const Yaml numbers = each.find("numbers")) {
      read_spelled_numbers(numbers, op, spelling, mentioned, diagnostics);
    }
    if (const Yaml nodes = require_key(each, "nodes", "a spelling", diagnostics)) {
      spelling.nodes = ExpansionReader(op, diagnostics, std::move(mentioned)).read(nodes);
    }
    if (const Yaml shared = each.find("shared")) read_shared_values(shared, op, spelling, diagnostics);
  }
}

void read_prepared(Yaml value, OpSpec& op, Diagnostics& diagnostics) {
  if (!value.is_sequence()) {
    report_mismatch(value, "'prepared'", "a list of prepared forms", diagnostics);
    return;
  }
  if (op.kernel.empty()) {
    diagnostics.error(value.where(), fmt::format("'{}' has no kernel, so there is nothing to prepare for", op.name))
        .advise("an operator without a kernel is expanded: give its expansion a choice with this condition");
  }
  for (const Yaml each : value.items()) {
    validate_keys(each, {"when", "nodes"}, "a prepared form", diagnostics);
    if (!each.is_mapping()) continue;
    Expansion& form = op.prepared.emplace_back();
    if (const Yaml when = require_key(each, "when", "a prepared form", diagnostics)) {
      const std::string what = fmt::format("the condition of a prepared form of '{}'", op.name);
      form.when = read_expression(when, what, node_functions(), diagnostics);
    }
    if (const Yaml nodes = require_key(each, "nodes", "a prepared form", diagnostics)) {
      form.nodes = ExpansionReader(op, diagnostics).read(nodes);
    }
  }
}

void read_expansions(Yaml value, OpSpec& op, Diagnostics& diagnostics) {
  if (!value.is_sequence() || value.size() == 0) {
    report_mismatch(value, "'expansion'", "a list of nodes", diagnostics);
    return;
  }
  const Yaml first = *value.items().begin();
  if (!first.is_mapping() || !first.find("nodes")) {
    op.expansions.push_back({{}, ExpansionReader(op, diagnostics).read(value)});
    return;
  }
  for (const Yaml choice : value.items()) {
    Expansion& expansion = op.expansions.emplace_back();
    validate_keys(choice, {"when", "nodes"}, "a choice of an expansion", diagnostics);
    if (!choice.is_mapping()) continue;
    const Yaml when = choice.find("when");
    const bool is_last = op.expansions.size() == value.size();
    if (when) {
      const std::string what = fmt::format("the condition of an expansion of '{}'", op.name);
      expansion.when = read_expression(when, what, node_functions(), diagnostics);
    }
    if (when && is_last && op.kind == OpKind::composite) {
      diagnostics.error(when.where(), "the last choice of an expansion must not have a condition")
          .advise("add a choice without 'when' that is right for all other cases");
    } else if (!when && !is_last) {
      diagnostics.error(choice.where(), "a choice without 'when' leaves the later ones without effect");
    }
    if (const Yaml nodes = require_key(choice, "nodes", "a choice of an expansion", diagnostics)) {
      expansion.nodes = ExpansionReader(op, diagnostics).read(nodes);
    }
  }
}

}  // namespace kgen
