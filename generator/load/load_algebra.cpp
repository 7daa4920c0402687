#include "generator/load/load_algebra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "generator/load/fields.hpp"

namespace kgen {
namespace {

// The axis of a pattern that has that name, counted from the last; nothing where none has, or several have.
std::optional<int> axis_named(const std::optional<std::vector<PatternAxis>>& pattern, std::string_view name) {
  if (!pattern) return std::nullopt;
  const auto is_it = [&](const PatternAxis& axis) { return axis.name == name; };
  if (std::count_if(pattern->begin(), pattern->end(), is_it) != 1) return std::nullopt;
  const auto found = std::find_if(pattern->begin(), pattern->end(), is_it);
  const bool after_ellipsis =
      std::none_of(found, pattern->end(), [](const PatternAxis& axis) { return axis.ellipsis; });
  return after_ellipsis ? std::optional(static_cast<int>(found - pattern->end())) : std::nullopt;
}

void read_joined_axis(Yaml name, OpSpec& op, Diagnostics& diagnostics) {
  const auto in_result = op.results.size() == 1 ? axis_named(op.results[0].pattern, name.text()) : std::nullopt;
  std::vector<JoinedAxis> found;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const auto axis = axis_named(op.operands[i].pattern, name.text());
    if (in_result && axis && !op.operands[i].variadic) found.push_back({i, *axis, *in_result});
  }
  if (found.size() == 1) {
    op.algebra.joins.push_back(found[0]);
    return;
  }
  diagnostics.error(name.where(), fmt::format("'{}' does not join along '{}'", op.name, name.text()))
      .note("such an axis is one of the only result, and of one operand alone; each of the two patterns names it once");
}

// The axis of that name, or the last of those in `...`.
std::optional<int> scaled_axis(const std::optional<std::vector<PatternAxis>>& pattern, std::string_view name) {
  if (name != "..." || !pattern) return axis_named(pattern, name);
  const auto found =
      std::find_if(pattern->begin(), pattern->end(), [](const PatternAxis& axis) { return axis.ellipsis; });
  return found == pattern->end() ? std::nullopt : std::optional(static_cast<int>(found - pattern->end()));
}

// Where a factor along that axis of the operand may go: the result, if that has the axis, else the one other operand
// that has it.
std::optional<ScaledAxis> scaled_axis(const OpSpec& op, std::size_t operand, std::string_view name) {
  const auto axis = scaled_axis(op.operands[operand].pattern, name);
  if (!axis || op.results.size() != 1) return std::nullopt;
  const bool leading = name == "...";
  if (const auto in_result = scaled_axis(op.results[0].pattern, name)) {
    return ScaledAxis{operand, *axis, leading, std::nullopt, *in_result};
  }
  std::vector<ScaledAxis> found;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const auto other = i == operand ? std::nullopt : axis_named(op.operands[i].pattern, name);
    if (other) found.push_back({operand, *axis, leading, i, *other});
  }
  return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
}

void read_scales(Yaml value, OpSpec& op, Diagnostics& diagnostics) {
  if (!value.is_mapping()) {
    report_mismatch(value, "'scales'", "a mapping of operands to axes, such as {a: [M, K]}", diagnostics);
    return;
  }
  for (const Yaml::Entry entry : value.entries()) {
    const auto operand = std::find_if(op.operands.begin(), op.operands.end(),
                                      [&](const OperandSpec& each) { return each.name == entry.name(); });
    if (operand == op.operands.end()) {
      diagnostics.error(entry.key.where(), fmt::format("'{}' is no operand of '{}'", entry.name(), op.name));
      continue;
    }
    for (const Yaml each : read_list(entry.value, "axes", diagnostics).value_or(std::vector<Yaml>{})) {
      const auto index = static_cast<std::size_t>(operand - op.operands.begin());
      if (const auto scaled = scaled_axis(op, index, each.text())) {
        op.algebra.scales.push_back(*scaled);
      } else {
        diagnostics
            .error(each.where(),
                   fmt::format("'{}' does not scale along '{}' of '{}'", op.name, each.text(), entry.name()))
            .note(
                "such an axis is one of the operand, and of the only result or else of one other operand; each of the "
                "two patterns names it once");
      }
    }
  }
}

// Attributes with an item for each axis, or with several such lists.
void read_reorders(Yaml value, OpSpec& op, Diagnostics& diagnostics) {
  if (op.kind != OpKind::structured) diagnostics.error(value.where(), "'reorders' is for structured operators");
  std::vector<std::string>& names = op.algebra.reorders.emplace();
  for (const Yaml each : read_list(value, "'reorders'", diagnostics).value_or(std::vector<Yaml>{})) {
    const AttributeSpec* attribute = op.attribute(each.text());
    const bool is_list =
        attribute && (attribute->type == AttributeType::dims || attribute->type == AttributeType::numbers);
    if (!is_list || attribute->count.empty()) {
      diagnostics
          .error(each.where(),
                 fmt::format("'{}' is no attribute of '{}' with an item for each axis", each.text(), op.name))
          .note("such an attribute is of type dims or numbers, and its `count` is rank(x), or a multiple of that");
    }
    names.emplace_back(each.text());
  }
}

}  // namespace

std::optional<int> read_together(Yaml value, const OperandSpec& operand, Diagnostics& diagnostics) {
  const auto name = read_text(value, "'together'", diagnostics);
  const auto axis = name ? axis_named(operand.pattern, *name) : std::nullopt;
  if (name && !axis) {
    diagnostics.error(value.where(), fmt::format("'{}' has no axis '{}'", operand.name, *name))
        .note("'together' names one of the axes of its 'shape'");
  }
  return axis;
}

void read_algebra(Yaml value, OpSpec& op, Diagnostics& diagnostics) {
  validate_keys(
      value,
      {"commutative", "idempotent", "involution", "one_element", "moves", "identity", "joins", "scales", "reorders"},
      "'algebra'", diagnostics);
  if (!value.is_mapping()) return;
  read_flag(value, "commutative", op.algebra.commutative, diagnostics);
  read_flag(value, "idempotent", op.algebra.idempotent, diagnostics);
  read_flag(value, "involution", op.algebra.involution, diagnostics);
  read_flag(value, "one_element", op.algebra.one_element, diagnostics);
  read_flag(value, "moves", op.algebra.moves, diagnostics);
  if (const Yaml joins = value.find("joins")) {
    for (const Yaml each : read_list(joins, "'joins'", diagnostics).value_or(std::vector<Yaml>{})) {
      read_joined_axis(each, op, diagnostics);
    }
  }
  if (const Yaml scales = value.find("scales")) read_scales(scales, op, diagnostics);
  if (const Yaml reorders = value.find("reorders")) read_reorders(reorders, op, diagnostics);
  const Yaml identity = value.find("identity");
  if (!identity) return;
  if (!identity.is_mapping()) {
    report_mismatch(identity, "'identity'", "a mapping, such as {b: 0}", diagnostics);
    return;
  }
  for (const Yaml::Entry entry : identity.entries()) {
    const auto found = std::find_if(op.operands.begin(), op.operands.end(),
                                    [&](const OperandSpec& each) { return each.name == entry.name(); });
    if (found == op.operands.end()) {
      diagnostics.error(entry.key.where(), fmt::format("'{}' is no operand of '{}'", entry.name(), op.name));
    } else if (const auto number = read_number(entry.value, "an identity", diagnostics)) {
      op.algebra.identity[static_cast<std::size_t>(found - op.operands.begin())] = *number;
    }
  }
}

}  // namespace kgen
