#include "generator/load/load_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/load/fields.hpp"
#include "generator/load/read_expressions.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {
namespace {

std::string condition_text(const TuningRule& rule) {
  return fmt::format("the condition of a rule for '{}' has no meaning", rule.kernel);
}

// {kernel: kgen::matmul, when: "M <= 64", parameters: {TileM: 48}}
void read_rule(Yaml entry, OpSet& set, Diagnostics& diagnostics) {
  if (!validate_keys(entry, {"kernel", "when", "parameters", "doc"}, "a rule of tuning", diagnostics)) return;
  const Yaml kernel = require_key(entry, "kernel", "a rule of tuning", diagnostics);
  const Yaml parameters = require_key(entry, "parameters", "a rule of tuning", diagnostics);
  if (!kernel || !parameters || !read_text(kernel, "'kernel'", diagnostics)) return;
  if (!parameters.is_mapping()) {
    report_mismatch(parameters, "'parameters'", "a mapping, such as {TileM: 48}", diagnostics);
    return;
  }
  TuningRule rule{.kernel = std::string(kernel.text()), .where = kernel.where()};
  if (const Yaml when = entry.find("when")) {
    if (!read_text(when, "'when'", diagnostics)) return;
    rule.when = expression_of(when.text(), when.where(), condition_text(rule), node_functions(), diagnostics);
  }
  for (const Yaml::Entry each : parameters.entries()) {
    const auto value = read_integer(each.value, fmt::format("'{}'", each.name()), diagnostics);
    if (value) rule.choices.push_back({std::string(each.name()), *value, each.key.where()});
  }
  set.tuning.push_back(std::move(rule));
}

void validate_choice(const TuningRule::Choice& choice, const KernelSignature& kernel, Diagnostics& diagnostics) {
  const auto found = std::find_if(kernel.parameters.begin(), kernel.parameters.end(),
                                  [&](const KernelParameter& each) { return each.name == choice.parameter; });
  if (found == kernel.parameters.end()) {
    std::vector<std::string> names;
    for (const KernelParameter& each : kernel.parameters) names.push_back(each.name);
    Diagnostic& diagnostic =
        diagnostics.error(choice.where, fmt::format("'{}' has no parameter '{}'", kernel.name, choice.parameter));
    note_candidates(diagnostic, choice.parameter, names, "parameters");
    return;
  }
  if (std::find(found->values.begin(), found->values.end(), choice.value) != found->values.end()) return;
  diagnostics.error(choice.where, fmt::format("'{}' of '{}' cannot be {}", choice.parameter, kernel.name, choice.value))
      .note(found->where, fmt::format("it may be one of {}", fmt::join(found->values, ", ")));
}

}  // namespace

void load_tuning(Yaml value, OpSet& set, Diagnostics& diagnostics) {
  if (!value.is_sequence()) {
    report_mismatch(value, "'tuning'", "a list of rules", diagnostics);
    return;
  }
  for (const Yaml entry : value.items()) read_rule(entry, set, diagnostics);
}

void validate_tuning(const OpSet& set, Diagnostics& diagnostics) {
  for (const TuningRule& rule : set.tuning) {
    const auto found = set.kernel_index.find(rule.kernel);
    if (found == set.kernel_index.end()) {
      std::vector<std::string> names;
      for (const KernelSignature& each : set.kernels) {
        if (!each.parameters.empty()) names.push_back(each.name);
      }
      Diagnostic& diagnostic = diagnostics.error(rule.where, fmt::format("unknown kernel '{}'", rule.kernel));
      note_candidates(diagnostic, rule.kernel, names, "kernels with parameters");
      continue;
    }
    const KernelSignature& kernel = set.kernels[found->second];
    for (const TuningRule::Choice& choice : rule.choices) validate_choice(choice, kernel, diagnostics);
    if (const OpSpec* op = set.find(kernel.op)) validate_condition(rule.when, *op, condition_text(rule), diagnostics);
  }
}

}  // namespace kgen
