#include "generator/explain/schema.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace kgen {
namespace {

using Json = nlohmann::ordered_json;

Json reference(const char* definition) { return {{"$ref", std::string("#/$defs/") + definition}}; }

Json schema_of(const AttributeSpec& attribute) {
  switch (attribute.type) {
    case AttributeType::boolean:
      return {{"type", "boolean"}};
    case AttributeType::integer:
      return {{"type", "integer"}};
    case AttributeType::number:
      return {{"type", {"number", "string"}}};
    case AttributeType::text:
      return attribute.allowed.empty() ? Json{{"type", "string"}} : Json{{"enum", attribute.allowed}};
    case AttributeType::dtype:
      return reference("dtype");
    case AttributeType::dim:
      return reference("size");
    case AttributeType::dims:
      return {{"anyOf", {reference("size"), {{"type", "array"}, {"items", reference("size")}}}}};
    case AttributeType::numbers:
      return {{"anyOf",
               {{{"type", {"number", "string"}}}, {{"type", "array"}, {"items", {{"type", {"number", "string"}}}}}}}};
  }
  return {};
}

// A node of one operator: its operands by number, its attributes by name.
Json rule_of(const OpSpec& op) {
  const auto needed = static_cast<std::size_t>(std::count_if(
      op.operands.begin(), op.operands.end(), [](const OperandSpec& operand) { return !operand.optional; }));
  Json operands = {{"minItems", needed}};
  if (op.operands.empty() || !op.operands.back().variadic) operands["maxItems"] = op.operands.size();
  if (needed > 1) operands["type"] = "array";
  Json properties = {{"op", {{"description", op.doc}}}, {"in", std::move(operands)}, {"out", Json::object()}};
  Json required = Json::array();
  for (const AttributeSpec& attribute : op.attributes) {
    Json schema = schema_of(attribute);
    if (!attribute.doc.empty()) schema["description"] = attribute.doc;
    properties[attribute.name] = std::move(schema);
    if (attribute.required()) required.push_back(attribute.name);
  }
  if (needed > 0) required.push_back("in");
  Json then = {{"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) then["required"] = std::move(required);
  return {{"if", {{"properties", {{"op", {{"const", op.name}}}}}}}, {"then", std::move(then)}};
}

}  // namespace

std::string graph_schema(std::string_view general, const OpSet& ops) {
  Json dtypes = Json::array(), names = Json::array(), rules = Json::array();
  for (const DTypeInfo& dtype : dtype_table()) dtypes.push_back(std::string(dtype.name));
  std::vector<const OpSpec*> sorted;
  for (const OpSpec& op : ops.ops) sorted.push_back(&op);
  std::sort(sorted.begin(), sorted.end(), [](const OpSpec* a, const OpSpec* b) { return a->name < b->name; });
  for (const OpSpec* op : sorted) {
    names.push_back(op->name);
    rules.push_back(rule_of(*op));
  }
  Json schema = Json::parse(general);
  schema["$defs"]["dtype"] = {{"enum", std::move(dtypes)}};
  schema["$defs"]["node"]["properties"]["op"] = {{"enum", std::move(names)}};
  schema["$defs"]["node"]["allOf"] = std::move(rules);
  return schema.dump(2) + "\n";
}

}  // namespace kgen
