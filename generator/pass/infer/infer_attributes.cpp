#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "generator/base/ensure.hpp"
#include "generator/pass/infer/infer_context.hpp"

namespace kgen {
namespace {

// The value of a number's default, such as "1 / sqrt(D)", at this node.
std::optional<AttributeValue> default_number(const NodeContext& context, const AttributeSpec& spec) {
  const Expression& expression = spec.default_expression;
  for (const std::string& name : expression.variables) {
    const PatternBindings::Name* bound = context.bindings.find(name);
    if (bound && bound->extent.is_constant()) continue;
    auto& error = context.error(fmt::format("attribute '{}' must be given", spec.name));
    error.note(bound ? fmt::format("its default is {}, and {} is {}, which is known only at run time", expression.text,
                                   name, bound->extent.text())
                     : fmt::format("its default is {}, and no operand's shape says what {} is", expression.text, name));
    return std::nullopt;
  }
  return Number(evaluate(expression, [&](std::string_view name) {
    return static_cast<double>(context.bindings.find(name)->extent.constant());
  }));
}

// The value of a default that is an expression; `before` are the attributes that stand before this one.
std::optional<AttributeValue> default_value(const NodeContext& context, const AttributeSpec& spec,
                                            const Attributes& before) {
  if (spec.type == AttributeType::number) return default_number(context, spec);
  const auto size = size_at(scope_of(context, before), spec.default_expression);
  if (size && spec.type == AttributeType::dim) return *size;
  if (size && spec.type == AttributeType::integer && size->is_constant()) return size->constant();
  context.error(fmt::format("attribute '{}' must be given", spec.name))
      .note(fmt::format("its default, {}, cannot be worked out here", spec.default_expression.text));
  return std::nullopt;
}

// A default of one value, as often as a list with a count has it.
AttributeValue repeated_default(const NodeContext& context, const AttributeSpec& spec, const Attributes& before) {
  AttributeValue value = *spec.default_value;
  const auto count = spec.count.empty() ? std::nullopt : size_at(scope_of(context, before), spec.count);
  if (!count || !count->is_constant()) return value;
  const auto length = static_cast<std::size_t>(count->constant());
  const auto repeat = [&](auto& list) {
    if (list.size() == 1) list.assign(length, typename std::remove_cvref_t<decltype(list)>::value_type(list[0]));
  };
  if (auto* list = std::get_if<std::vector<Dim>>(&value)) repeat(*list);
  if (auto* list = std::get_if<std::vector<Number>>(&value)) repeat(*list);
  return value;
}

}  // namespace

bool complete_attributes(NodeContext& context) {
  Attributes complete;
  complete.reserve(context.op().attributes.size());
  for (const AttributeSpec& spec : context.op().attributes) {
    const AttributeValue* given = find_attribute(context.node.attributes, spec.name);
    ensure(given || !spec.required(), "load refuses a node without an attribute that it must have");
    auto value = given                ? std::optional(*given)
                 : spec.default_value ? std::optional(repeated_default(context, spec, complete))
                                      : default_value(context, spec, complete);
    if (!value) return false;
    complete.emplace_back(spec.name, std::move(*value));
  }
  context.node.attributes = std::move(complete);
  return validate_attributes(context);
}

}  // namespace kgen
