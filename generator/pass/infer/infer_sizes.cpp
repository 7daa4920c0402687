// What names and functions mean in the sizes that a specification holds, and the checks that are made of such sizes.
#include <algorithm>
#include <array>

#include "generator/pass/infer/infer_context.hpp"

namespace kgen {
namespace {

constexpr std::array<std::string_view, 3> size_functions = {"extent", "rank", "item"};

using Arguments = std::span<const ExpressionArgument>;

std::optional<Dim> attribute_size(const Attributes& attributes, std::string_view name) {
  const AttributeValue* value = find_attribute(attributes, name);
  if (const auto* integer = value ? std::get_if<std::int64_t>(value) : nullptr) return Dim(*integer);
  const auto* size = value ? std::get_if<Dim>(value) : nullptr;
  return size ? std::optional(*size) : std::nullopt;
}

// The position of an operand that is given.
std::optional<std::size_t> operand_named(const NodeContext& context, std::string_view name) {
  const auto& operands = context.op().operands;
  const auto is_named = [&](const OperandSpec& each) { return each.name == name; };
  const auto found = std::find_if(operands.begin(), operands.end(), is_named);
  const auto position = static_cast<std::size_t>(found - operands.begin());
  return context.has_operand(position) ? std::optional(position) : std::nullopt;
}

std::optional<Dim> size_named(const NodeContext& context, const Attributes& attributes, std::string_view name) {
  const PatternBindings::Name* bound = context.bindings.find(name);
  return bound ? std::optional(bound->extent) : attribute_size(attributes, name);
}

// A number, or a name that stands for one.
std::optional<std::int64_t> number_of(const NodeContext& context, const Attributes& attributes,
                                      const ExpressionArgument& argument) {
  if (argument.name.empty()) return static_cast<std::int64_t>(argument.value);
  const auto size = size_named(context, attributes, argument.name);
  return size && size->is_constant() ? std::optional(size->constant()) : std::nullopt;
}

// list[index] of an attribute.
std::optional<Dim> item_of(const NodeContext& context, const Attributes& attributes, Arguments arguments) {
  const AttributeValue* value = find_attribute(attributes, arguments[0].name);
  const auto* list = value ? std::get_if<std::vector<Dim>>(value) : nullptr;
  const auto index = number_of(context, attributes, arguments[1]);
  if (!list || !index || *index < 0 || *index >= static_cast<std::int64_t>(list->size())) return std::nullopt;
  return (*list)[static_cast<std::size_t>(*index)];
}

std::optional<Dim> call(const NodeContext& context, const Attributes& attributes, std::string_view function,
                        Arguments arguments) {
  if (arguments.size() != (function == "rank" ? 1 : 2)) return std::nullopt;
  if (function == "item") return item_of(context, attributes, arguments);
  const auto operand = operand_named(context, arguments[0].name);
  if (!operand) return std::nullopt;
  const Shape& shape = context.shape(*operand);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (function == "rank") return Dim(rank);
  auto axis = number_of(context, attributes, arguments[1]);
  if (!axis) return std::nullopt;
  if (*axis < 0) *axis += rank;
  const bool exists = *axis >= 0 && *axis < rank;
  return exists ? shape[static_cast<std::size_t>(*axis)] : Dim();  // who uses the axis tells what is wrong with it
}

// The value of a size in the operator's specification, which stands at `where`.
std::optional<Dim> size_of_text(NodeContext& context, const std::string& text, SourceLocation where) {
  std::string problem = "it is no size";
  const auto expression = parse_size(text, &problem);
  auto value = expression ? size_in_spec(context, context.node.attributes, *expression) : std::nullopt;
  if (!value) context.diagnostics.error(where, fmt::format("the size '{}': {}", text, problem));
  return value;
}

bool check_count(NodeContext& context, const AttributeSpec& spec, const std::vector<Dim>& list) {
  const auto count = size_of_text(context, spec.count, spec.where);
  if (!count) return false;
  const auto given = static_cast<std::int64_t>(list.size());
  if (*count == given) return true;
  const std::string values = given == 1 ? "1 value" : fmt::format("{} values", given);
  context.error(fmt::format("attribute '{}' lists {}, and must list {}", spec.name, values, count->text()))
      .note(fmt::format("{}: {}", spec.name, spec.doc));
  return false;
}

bool check_least(NodeContext& context, const AttributeSpec& spec, const AttributeValue& value) {
  std::vector<Dim> sizes;
  if (const auto* list = std::get_if<std::vector<Dim>>(&value)) sizes = *list;
  if (const auto* size = std::get_if<Dim>(&value)) sizes = {*size};
  if (const auto* integer = std::get_if<std::int64_t>(&value)) sizes = {Dim(*integer)};
  return std::all_of(sizes.begin(), sizes.end(), [&](const Dim& size) {
    const std::string meaning =
        fmt::format("attribute '{}' must be at least {}, and holds {}", spec.name, *spec.least, size.text());
    return require_at_most(context, *spec.least, size, meaning);
  });
}

}  // namespace

std::optional<Expression> parse_size(const std::string& text, std::string* problem) {
  return parse_expression(text, problem, size_functions);
}

std::optional<Dim> size_in_spec(const NodeContext& context, const Attributes& attributes, const Expression& size) {
  const auto variable = [&](std::string_view name) { return size_named(context, attributes, name); };
  return evaluate_dim(size, variable, [&](std::string_view function, Arguments arguments) {
    return call(context, attributes, function, arguments);
  });
}

bool check_attributes(NodeContext& context) {
  for (const AttributeSpec& spec : context.op().attributes) {
    const AttributeValue& value = *find_attribute(context.node.attributes, spec.name);
    if (!spec.count.empty() && !check_count(context, spec, std::get<std::vector<Dim>>(value))) return false;
    if (spec.least && !check_least(context, spec, value)) return false;
  }
  return true;
}

bool check_conditions(NodeContext& context) {
  for (const SizeCondition& condition : context.op().conditions) {
    const auto left = size_of_text(context, condition.left, condition.where);
    const auto right = size_of_text(context, condition.right, condition.where);
    if (!left || !right) return false;
    const auto require = condition.equal ? require_equal : require_at_most;
    if (!require(context, *left, *right, condition.meaning)) return false;
  }
  return true;
}

bool bind_sizes(NodeContext& context) {
  for (const NamedSize& named : context.op().sizes) {
    auto size = size_of_text(context, named.size, named.where);
    if (!size) return false;
    context.bindings.names.push_back({named.name, std::move(*size)});
  }
  return true;
}

std::optional<Shape> shape_of_extents(NodeContext& context, const ResultSpec& result) {
  Shape shape;
  const auto rank = static_cast<std::int64_t>(context.shape(0).size());
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    context.bindings.names.push_back({axis_name, Dim(axis)});
    auto extent = size_of_text(context, result.extents, result.where);
    context.bindings.names.pop_back();
    if (!extent) return std::nullopt;
    shape.push_back(std::move(*extent));
  }
  return shape;
}

}  // namespace kgen
