#include "generator/explain/list_ops.hpp"

#include <fmt/format.h>

#include <array>

#include "generator/base/writer.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {
namespace {

constexpr std::array kinds = {OpKind::elementwise, OpKind::reduction, OpKind::view,
                              OpKind::structured,  OpKind::opaque,    OpKind::composite};

std::string operands_text(const OpSpec& op) {
  std::string text;
  for (const OperandSpec& operand : op.operands) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", operand.name, operand.optional ? "?" : "", operand.variadic ? "..." : "");
  }
  return text;
}

std::string results_text(const OpSpec& op) {
  std::string text;
  for (const ResultSpec& result : op.results) text += (text.empty() ? "" : ", ") + result.name;
  return text;
}

std::string pattern_text(const std::optional<std::vector<PatternAxis>>& pattern) {
  if (!pattern) return {};
  std::string text;
  for (const PatternAxis& axis : *pattern) {
    text += text.empty() ? "" : ", ";
    text += axis.ellipsis ? "..." : axis.name.empty() ? fmt::format("{}", axis.constant) : axis.name;
  }
  return "[" + text + "]";
}

std::string dtypes_text(const OpSpec& op, const std::string& type) {
  const auto found = op.types.find(type);
  if (found == op.types.end()) return type;
  std::string text;
  for (const DType dtype : found->second) text += (text.empty() ? "" : " ") + std::string(info(dtype).name);
  return fmt::format("{} in {}", type, text);
}

std::string not_for(const OpSpec& op, const Expression& condition, TargetKind target) {
  const bool never = !condition.empty() && holds_never(op, condition, target);
  return never ? fmt::format(" (never for {})", name_of(target)) : "";
}

// The first sentence, or the first line.
std::string summary(const std::string& doc) {
  const std::size_t end = doc.find_first_of("\n");
  const std::size_t stop = doc.find(". ");
  return doc.substr(0, std::min(end, stop == std::string::npos ? stop : stop + 1));
}

}  // namespace

std::string list_ops(const OpSet& ops) {
  Writer out;
  for (const OpKind kind : kinds) {
    bool any = false;
    for (const OpSpec& op : ops.ops) {
      if (op.kind != kind) continue;
      if (!any) out.line("{}", name_of(kind));
      any = true;
      out.line("  {:<34} {}", fmt::format("{}({})", op.name, operands_text(op)), summary(op.doc));
    }
  }
  return out.take();
}

std::string describe_op(const OpSet& ops, const std::string& name, TargetKind target, Diagnostics& diagnostics) {
  const OpSpec* op = ops.find(name);
  if (!op) {
    const std::vector<std::string> here = ops.called_elsewhere(name), near = nearest_names(name, ops.names());
    diagnostics.error({}, fmt::format("there is no operator '{}'", name))
        .note(!here.empty()  ? fmt::format("what others call '{}' is {} here", name, quoted_list(here))
              : near.empty() ? "no name is near it"
                             : nearest_text(near))
        .advise("`kgen ops` lists them all");
    return {};
  }
  Writer out;
  out.line("{}({}) -> {}", op->name, operands_text(*op), results_text(*op));
  out.line("{}", op->doc);
  out.line();
  for (const OperandSpec& operand : op->operands) {
    out.line("  {:<12} {} {}{}", operand.name, dtypes_text(*op, operand.type), pattern_text(operand.pattern),
             operand.line.empty() ? "" : fmt::format("(read anywhere along `{}`)", operand.line));
  }
  for (const ResultSpec& result : op->results) {
    const std::string shape =
        result.extents.empty() ? pattern_text(result.pattern) : "each axis i: " + result.extents.text;
    if (!shape.empty()) out.line("  {:<12} {} {}", result.name, result.type, shape);
  }
  for (const NamedSize& named : op->sizes) out.line("  {:<12} = {}", named.name, named.size.text);
  for (const AttributeSpec& attribute : op->attributes) {
    out.line("  {:<12} {}{}", attribute.name, attribute.doc, attribute.required() ? " (required)" : "");
  }
  for (const KernelSignature* kernel : ops.kernels_for(*op)) {
    out.line("  kernel       {}{}{}", kernel->name, kernel->when.empty() ? "" : " where " + kernel->when.text,
             not_for(*op, kernel->when, target));
  }
  const auto describe_form = [&](std::string_view what, const Expansion& form) {
    out.line("  {}{}{}", what, form.when.empty() ? "" : fmt::format(" when {}", form.when.text),
             not_for(*op, form.when, target));
    for (const ExpansionNode& node : form.nodes) {
      std::string inputs;
      for (const Expression& input : node.inputs) inputs += (inputs.empty() ? "" : ", ") + input.text;
      out.line("    {} = {}({})", fmt::join(node.outputs, ", "), node.op, inputs);
    }
  };
  for (const Expansion& expansion : op->expansions) describe_form("expands into", expansion);
  for (const Expansion& form : op->prepared) describe_form("prepared at load", form);
  if (!op->other_names.empty()) out.line("  elsewhere    {}", fmt::join(op->other_names, ", "));
  if (!op->source.empty()) out.line("  defined by   {}", op->source);
  if (op->where.known()) out.line("  specified in {}", short_text(op->where));
  return out.take();
}

}  // namespace kgen
