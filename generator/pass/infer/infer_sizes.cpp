// The sizes that a specification holds at one node, and the checks that are made of them.
#include <algorithm>

#include "generator/pass/infer/infer_context.hpp"

namespace kgen {
namespace {

// The value of a size at this node, which must be known.
std::optional<Dim> known_size(NodeContext& context, const Expression& size) {
  auto value = size_at(scope_of(context, context.node.attributes), size);
  if (!value) {
    context.diagnostics.error(size.where, fmt::format("the size '{}' is not known", size.text))
        .note(context.node.where, "it is needed here");
  }
  return value;
}

bool validate_count(NodeContext& context, const AttributeSpec& spec, const AttributeValue& list) {
  const auto count = known_size(context, spec.count);
  if (!count) return false;
  const auto* numbers = std::get_if<std::vector<Number>>(&list);
  const auto given = static_cast<std::int64_t>(numbers ? numbers->size() : std::get<std::vector<Dim>>(list).size());
  if (*count == given) return true;
  const std::string values = given == 1 ? "1 value" : fmt::format("{} values", given);
  context.error(fmt::format("attribute '{}' lists {}, and must list {}", spec.name, values, count->text()))
      .note(fmt::format("{}: {}", spec.name, spec.doc));
  return false;
}

bool validate_least(NodeContext& context, const AttributeSpec& spec, const AttributeValue& value) {
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

NodeScope scope_of(const NodeContext& context, const Attributes& attributes) {
  const auto size = [&](std::string_view name) -> const Dim* {
    const PatternBindings::Name* bound = context.bindings.find(name);
    return bound ? &bound->extent : nullptr;
  };
  return {context.graph, context.node, context.ranges, attributes, size};
}

bool validate_attributes(NodeContext& context) {
  for (const AttributeSpec& spec : context.op().attributes) {
    const AttributeValue& value = *find_attribute(context.node.attributes, spec.name);
    if (!spec.count.empty() && !validate_count(context, spec, value)) return false;
    if (spec.least && !validate_least(context, spec, value)) return false;
  }
  return true;
}

bool validate_conditions(NodeContext& context) {
  for (const SizeCondition& condition : context.op().conditions) {
    const auto left = known_size(context, condition.left);
    const auto right = known_size(context, condition.right);
    if (!left || !right) return false;
    const auto require = condition.equal ? require_equal : require_at_most;
    if (!require(context, *left, *right, condition.meaning)) return false;
  }
  return true;
}

bool bind_sizes(NodeContext& context) {
  for (const NamedSize& named : context.op().sizes) {
    auto size = known_size(context, named.size);
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
    auto extent = known_size(context, result.extents);
    context.bindings.names.pop_back();
    if (!extent) return std::nullopt;
    shape.push_back(std::move(*extent));
  }
  return shape;
}

}  // namespace kgen
