#include "generator/load/load_import_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "generator/load/fields.hpp"
#include "generator/load/note_operators.hpp"
#include "generator/load/read_expressions.hpp"
#include "generator/load/yaml.hpp"

namespace kgen {
namespace {

using Kind = ImportStep::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 8> step_kinds = {{{"op", Kind::op},
                                                                          {"onnx", Kind::foreign},
                                                                          {"graph", Kind::graph},
                                                                          {"let", Kind::let},
                                                                          {"constant", Kind::constant},
                                                                          {"bytes", Kind::bytes},
                                                                          {"check", Kind::check},
                                                                          {"if", Kind::branch}}};

class RuleReader {
 public:
  RuleReader(const OpSet& ops, Diagnostics& diagnostics) : ops_(ops), diagnostics_(diagnostics) {}

  ImportRule read(Yaml entry) {
    ImportRule rule;
    rule.where = entry.where();
    validate_keys(entry,
                  {"onnx", "domain", "since", "inputs", "values", "outputs", "attributes", "ignored", "steps", "limits",
                   "evaluated"},
                  "a rule of import", diagnostics_);
    if (const Yaml name = require_key(entry, "onnx", "a rule of import", diagnostics_)) {
      rule.op = read_text(name, "'onnx'", diagnostics_).value_or("");
      rule.where = name.where();
    }
    if (const Yaml domain = entry.find("domain")) rule.domain = read_text(domain, "'domain'", diagnostics_).value_or("");
    if (const Yaml since = entry.find("since")) rule.since = read_integer(since, "'since'", diagnostics_).value_or(0);
    if (const Yaml limits = entry.find("limits")) rule.limits = read_text(limits, "'limits'", diagnostics_).value_or("");
    if (const Yaml evaluated = entry.find("evaluated")) {
      rule.evaluated = read_boolean(evaluated, "'evaluated'", diagnostics_).value_or(false);
    }
    read_signature(entry, rule);
    if (const Yaml steps = entry.find("steps")) rule.steps = read_steps(steps);
    return rule;
  }

 private:
  void read_signature(Yaml entry, ImportRule& rule) {
    const auto words = [&](std::string_view key) {
      const Yaml list = entry.find(key);
      return list ? read_list(list, fmt::format("'{}'", key), diagnostics_).value_or(std::vector<Yaml>{})
                  : std::vector<Yaml>{};
    };
    for (const Yaml word : words("inputs")) {
      std::string_view name = word.text();
      ImportInput input;
      input.variadic = name.ends_with("...");
      if (input.variadic) name.remove_suffix(3);
      input.optional = name.ends_with("?");
      if (input.optional) name.remove_suffix(1);
      input.name = name;
      rule.inputs.push_back(std::move(input));
    }
    for (const Yaml word : words("values")) {
      const auto is_named = [&](const ImportInput& each) { return each.name == word.text(); };
      const auto found = std::find_if(rule.inputs.begin(), rule.inputs.end(), is_named);
      if (found != rule.inputs.end()) {
        found->is_value = true;
      } else {
        diagnostics_.error(word.where(), fmt::format("'{}' is no input of '{}'", word.text(), rule.op));
      }
    }
    for (const Yaml word : words("outputs")) {
      std::string_view name = word.text();
      rule.variadic_outputs = name.ends_with("...");
      if (rule.variadic_outputs) name.remove_suffix(3);
      rule.outputs.emplace_back(name);
    }
    if (const Yaml attributes = entry.find("attributes")) {
      for (const Yaml::Entry attribute : attributes.entries()) {
        ImportAttribute read{std::string(attribute.name()), {}};
        if (!attribute.value.is_empty()) read.default_value = read_argument(attribute.value);
        rule.attributes.push_back(std::move(read));
      }
    }
    for (const Yaml word : words("ignored")) rule.attributes.push_back({std::string(word.text()), {}, true});
  }

  std::vector<ImportStep> read_steps(Yaml list) {
    std::vector<ImportStep> steps;
    if (!list.is_sequence()) {
      report_mismatch(list, "the steps of a rule", "a list", diagnostics_);
      return steps;
    }
    for (const Yaml each : list.items()) {
      if (each.is_mapping()) {
        steps.push_back(read_step(each));
      } else {
        report_mismatch(each, "a step", "a mapping", diagnostics_);
      }
    }
    return steps;
  }

  ImportStep read_step(Yaml entry) {
    ImportStep step;
    step.where = entry.where();
    Yaml head;
    for (const auto& [key, kind] : step_kinds) {
      if (const Yaml found = entry.find(key)) head = found, step.kind = kind;
    }
    if (!head) {
      diagnostics_.error(entry.where(),
                         "a step needs one of the keys op, onnx, graph, let, constant, bytes, check and if");
      return step;
    }
    step.where = head.where();
    if (const Yaml when = entry.find("when")) step.when = expression(when);
    if (const Yaml each = entry.find("each")) step.each = expression(each);
    switch (step.kind) {
      case Kind::op:
      case Kind::foreign:
      case Kind::graph: read_node(entry, head, step); break;
      case Kind::let:
        step.outputs = {std::string(head.text())};
        if (const Yaml be = require_key(entry, "be", "'let'", diagnostics_)) step.value = read_argument(be);
        break;
      case Kind::constant:
      case Kind::bytes: read_constant(entry, head, step); break;
      case Kind::check:
        step.value = read_argument(head);
        if (const Yaml text = require_key(entry, "else", "'check'", diagnostics_)) step.message = text.text();
        break;
      case Kind::branch:
        step.value = read_argument(head);
        if (const Yaml then = require_key(entry, "then", "'if'", diagnostics_)) step.then = read_steps(then);
        if (const Yaml otherwise = entry.find("else")) step.otherwise = read_steps(otherwise);
        break;
    }
    return step;
  }

  void read_constant(Yaml entry, Yaml head, ImportStep& step) {
    const char* const name = step.kind == Kind::bytes ? "'bytes'" : "'constant'";
    step.value = read_argument(head);
    for (const std::string_view key : {"dtype", "shape"}) {
      if (const Yaml value = require_key(entry, key, name, diagnostics_)) {
        step.attributes.emplace_back(key, read_argument(value));
      }
    }
    read_outputs(entry, step);
  }

  void read_node(Yaml entry, Yaml head, ImportStep& step) {
    step.op = head.text();
    const OpSpec* op = step.kind == Kind::op ? ops_.find(step.op) : nullptr;
    if (step.kind == Kind::op && !op) {
      Diagnostic& error = diagnostics_.error(head.where(), fmt::format("unknown operator '{}'", step.op));
      note_operators(error, step.op, ops_);
    }
    if (const Yaml in = entry.find("in")) {
      if (in.is_scalar()) {
        step.inputs.push_back({false, {expression(in)}});
      } else {
        for (const Yaml each : in.items()) {
          step.inputs.push_back(each.is_empty() ? ImportArgument{} : ImportArgument{false, {expression(each)}});
        }
      }
    }
    read_outputs(entry, step);
    static const std::set<std::string_view> own = {"op", "onnx", "graph", "in", "out", "when", "each"};
    for (const Yaml::Entry attribute : entry.entries()) {
      if (own.contains(attribute.name())) continue;
      if (op && !op->attribute(attribute.name())) {
        std::vector<std::string> names;
        for (const AttributeSpec& each : op->attributes) names.push_back(each.name);
        Diagnostic& error = diagnostics_.error(
            attribute.key.where(), fmt::format("'{}' has no attribute '{}'", step.op, attribute.name()));
        note_candidates(error, attribute.name(), names, "attributes");
      }
      step.attributes.emplace_back(attribute.name(), read_argument(attribute.value));
    }
  }

  void read_outputs(Yaml entry, ImportStep& step) {
    const Yaml out = require_key(entry, "out", "a step", diagnostics_);
    if (!out) return;
    if (out.is_scalar()) step.outputs.emplace_back(out.text());
    for (const Yaml each : out.items()) step.outputs.emplace_back(each.text());
  }

  ImportArgument read_argument(Yaml value) {
    ImportArgument argument;
    argument.is_list = value.is_sequence();
    if (!argument.is_list) argument.items.push_back(expression(value));
    for (const Yaml each : value.items()) argument.items.push_back(expression(each));
    return argument;
  }

  // YAML writes infinity as .inf, and truth as true.
  Expression expression(Yaml value) {
    std::string text(value.text());
    if (value.is_plain() && (text == ".inf" || text == "-.inf" || text == ".nan")) text.erase(text.find('.'), 1);
    if (value.is_plain() && (text == "true" || text == "false")) text = text == "true" ? "1" : "0";
    return expression_of(text, value.where(), "the expression", import_functions, diagnostics_);
  }

  const OpSet& ops_;
  Diagnostics& diagnostics_;
};

void validate_foreign(const std::vector<ImportStep>& steps, const ImportRules& rules, Diagnostics& diagnostics) {
  for (const ImportStep& step : steps) {
    if (step.kind == Kind::foreign && !rules.rules.contains(":" + step.op)) {
      diagnostics.error(step.where, fmt::format("no rule says what ONNX's '{}' is", step.op));
    }
    validate_foreign(step.then, rules, diagnostics);
    validate_foreign(step.otherwise, rules, diagnostics);
  }
}

}  // namespace

void load_import_rules(const SourceText& source, const OpSet& ops, ImportRules& rules, Diagnostics& diagnostics) {
  const auto tree = parse_yaml(source, diagnostics);
  if (!tree) return;
  const Yaml root = tree->root();
  if (!validate_keys(root, {"versions", "rules"}, "a file of rules", diagnostics)) return;
  if (const Yaml versions = root.find("versions")) {
    const auto list = read_list(versions, "'versions'", diagnostics).value_or(std::vector<Yaml>{});
    if (list.size() == 2) {
      rules.oldest = read_integer(list[0], "a version", diagnostics).value_or(1);
      rules.newest = read_integer(list[1], "a version", diagnostics).value_or(1);
    } else {
      diagnostics.error(versions.where(), "'versions' must be the oldest and the newest");
    }
  }
  const Yaml list = require_key(root, "rules", "a file of rules", diagnostics);
  if (!list) return;
  RuleReader reader(ops, diagnostics);
  for (const Yaml entry : list.items()) {
    if (!entry.is_mapping()) {
      report_mismatch(entry, "a rule of import", "a mapping", diagnostics);
      continue;
    }
    ImportRule rule = reader.read(entry);
    auto& versions = rules.rules[fmt::format("{}:{}", rule.domain, rule.op)];
    const auto place = std::find_if(versions.begin(), versions.end(),
                                    [&](const ImportRule& each) { return each.since <= rule.since; });
    if (place != versions.end() && place->since == rule.since) {
      diagnostics.error(rule.where, rule.since == 0 ? fmt::format("'{}' has two rules without 'since'", rule.op)
                                          : fmt::format("'{}' has two rules since {}", rule.op, rule.since))
          .note(place->where, "the other is here");
    }
    versions.insert(place, std::move(rule));
  }
}

void link_import_rules(const ImportRules& rules, Diagnostics& diagnostics) {
  for (const auto& [name, versions] : rules.rules) {
    for (const ImportRule& rule : versions) validate_foreign(rule.steps, rules, diagnostics);
  }
}

}  // namespace kgen
