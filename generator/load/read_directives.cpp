#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "generator/load/fields.hpp"
#include "generator/load/graph_context.hpp"

namespace kgen {
namespace {

void add_output(Yaml public_name, Yaml value, GraphContext& context) {
  const ValueId id = find_value(context, value);
  if (id == no_id) return;
  context.graph.outputs.push_back(id);
  if (!context.is_function) context.graph.output_names.emplace_back(public_name.text());
}

// One group: at least two values that nodes make.
void read_group(Yaml value, std::string_view what, std::vector<FusionDirectives::Group>& groups,
                GraphContext& context) {
  Diagnostics& diagnostics = context.diagnostics();
  FusionDirectives::Group group{{}, value.where()};
  for (const Yaml word : value.items()) {
    const ValueId id = find_value(context, word);
    if (id == no_id) continue;
    if (context.graph.value(id).kind != ValueKind::result) {
      diagnostics.error(word.where(), fmt::format("no node makes '{}', so it cannot be fused", word.text()))
          .note(context.graph.value(id).where, "it is defined here");
    }
    group.values.emplace_back(word.text());
  }
  if (value.size() < 2) {
    diagnostics.error(value.where(), fmt::format("a group of {} must name at least two values", what));
  }
  groups.push_back(std::move(group));
}

// A list of groups.
void read_groups(Yaml section, std::string_view what, std::vector<FusionDirectives::Group>& groups,
                 GraphContext& context) {
  if (!section.is_sequence()) {
    report_mismatch(section, what, "a list of groups", context.diagnostics())
        .advise("write [[a, b]] for one group of two values");
    return;
  }
  for (const Yaml item : section.items()) {
    if (item.is_sequence()) {
      read_group(item, what, groups, context);
    } else {
      report_mismatch(item, fmt::format("each group of {}", what), "a list of values", context.diagnostics())
          .advise("write [[a, b]] for one group of two values");
    }
  }
}

void read_pins(Yaml section, GraphContext& context) {
  for (const Yaml word : read_list(section, "'pin'", context.diagnostics()).value_or(std::vector<Yaml>{})) {
    if (!validate_name(word, "a stub", context.diagnostics())) continue;
    context.graph.directives.pin.push_back({{std::string(word.text())}, word.where()});
  }
}

}  // namespace

void read_outputs(Yaml section, GraphContext& context) {
  Diagnostics& diagnostics = context.diagnostics();
  if (section.is_mapping() && !context.is_function) {
    for (const Yaml::Entry entry : section.entries()) {
      if (validate_name(entry.key, "an output", diagnostics)) add_output(entry.key, entry.value, context);
    }
    return;
  }
  if (section.is_scalar()) {
    add_output(section, section, context);
    return;
  }
  if (!section.is_sequence()) {
    report_mismatch(section, "'outputs'", context.is_function ? "a list of values" : "a list or a mapping of values",
                    diagnostics);
    return;
  }
  std::unordered_set<std::string_view> seen;
  for (const Yaml word : section.items()) {
    if (is_hopeless(diagnostics)) return;
    if (word.is_scalar() && !seen.insert(word.text()).second) {
      diagnostics.error(word.where(), fmt::format("'{}' is listed twice among the outputs", word.text()));
    } else {
      add_output(word, word, context);
    }
  }
}

void read_fusion(Yaml section, GraphContext& context) {
  validate_keys(section, {"forbid", "force", "pin"}, "'fusion'", context.diagnostics());
  if (!section.is_mapping()) return;
  FusionDirectives& directives = context.graph.directives;
  if (const Yaml forbid = section.find("forbid")) read_groups(forbid, "'forbid'", directives.forbid, context);
  if (const Yaml force = section.find("force")) read_groups(force, "'force'", directives.force, context);
  if (const Yaml pin = section.find("pin")) read_pins(pin, context);
}

void read_expect_fused(Yaml section, GraphContext& context) {
  read_groups(section, "'expect_fused'", context.graph.directives.expect, context);
}

}  // namespace kgen
