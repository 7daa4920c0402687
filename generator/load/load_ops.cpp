#include "generator/load/load_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "generator/load/attribute.hpp"
#include "generator/load/dim_text.hpp"
#include "generator/load/fields.hpp"
#include "generator/load/load_algebra.hpp"
#include "generator/load/load_expansions.hpp"
#include "generator/load/load_structs.hpp"
#include "generator/load/load_tuning.hpp"
#include "generator/load/read_expressions.hpp"
#include "generator/load/read_updated.hpp"
#include "generator/load/yaml.hpp"
#include "generator/spec/node_expression.hpp"

namespace kgen {
namespace {

// The parameters of each ViewRule::Form, in the order of the enumeration.
const std::array<std::vector<std::string_view>, names_of<ViewRule::Form>.size()> form_parameters = {
    {{"axes"},
     {"shape"},
     {"shape"},
     {"axis", "begin", "end", "step"},
     {"axis", "index"},
     {"axis"},
     {"axis"},
     {"axis"},
     {"axis"},
     {"axis", "begin"}}};

// Sets `text` where the mapping has the key.
void read_optional_text(Yaml mapping, std::string_view key, std::string& text, Diagnostics& diagnostics) {
  if (const Yaml value = mapping.find(key)) text = read_text(value, fmt::format("'{}'", key), diagnostics).value_or("");
}

// [{at_most: [H, "H / G * G"], meaning: ...}, {equal: [C, "G * group"], meaning: ...}]
void read_conditions(Yaml value, OpSpec& op, Diagnostics& diagnostics) {
  if (!value.is_sequence()) {
    report_mismatch(value, "'conditions'", "a list of conditions", diagnostics);
    return;
  }
  for (const Yaml entry : value.items()) {
    if (!validate_keys(entry, {"at_most", "equal", "meaning"}, "a condition", diagnostics)) continue;
    const bool equal = static_cast<bool>(entry.find("equal"));
    const std::string key = equal ? "equal" : "at_most";
    const Yaml sides = require_key(entry, key, "a condition", diagnostics);
    const Yaml meaning = require_key(entry, "meaning", "a condition", diagnostics);
    if (!sides || !meaning) continue;
    const auto list = read_list(sides, fmt::format("'{}'", key), diagnostics);
    if (!list) continue;
    if (list->size() != 2) {
      report_mismatch(sides, fmt::format("'{}'", key), "a list of two sizes, such as [D, \"D / 2 * 2\"]", diagnostics);
      continue;
    }
    const auto side = [&](std::size_t i) { return read_size((*list)[i], diagnostics); };
    op.conditions.push_back({side(0), side(1), equal, std::string(meaning.text())});
  }
}

// {M: "2 * D + 1"}
void read_named_size(const Yaml::Entry& entry, OpSpec& op, Diagnostics& diagnostics) {
  if (!validate_name(entry.key, "a size", diagnostics)) return;
  op.sizes.push_back({std::string(entry.name()), read_size(entry.value, diagnostics)});
}

// "[..., M, 4]"
std::optional<std::vector<PatternAxis>> read_pattern(Yaml value, Diagnostics& diagnostics) {
  const auto text = read_text(value, "a shape pattern", diagnostics);
  if (!text) return std::nullopt;
  const auto reject = [&]() -> std::optional<std::vector<PatternAxis>> {
    diagnostics.error(value.where(), fmt::format("'{}' is not a shape pattern", *text))
        .advise("write names, sizes and at most one '...', such as \"[..., M, 4]\"");
    return std::nullopt;
  };
  if (text->size() < 2 || text->front() != '[' || text->back() != ']') return reject();
  std::string_view rest = text->substr(1, text->size() - 2);
  std::vector<PatternAxis> axes;
  while (rest.find_first_not_of(' ') != rest.npos || !axes.empty()) {
    std::string_view word = rest.substr(0, rest.find(','));
    const bool last = word.size() == rest.size();
    rest.remove_prefix(last ? rest.size() : word.size() + 1);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    word = word.substr(0, word.find_last_not_of(' ') + 1);
    const bool is_open = std::any_of(axes.begin(), axes.end(), [](const PatternAxis& each) { return each.ellipsis; });
    PatternAxis& axis = axes.emplace_back();
    if (const auto size = integer_from_text(word); size && *size >= 0) {
      axis.constant = *size;
    } else if (word == "..." && !is_open) {
      axis.ellipsis = true;
    } else if (is_identifier(word)) {
      axis.name = word;
    } else {
      return reject();
    }
    if (last) break;
  }
  return axes;
}

void read_types(Yaml types, OpSpec& op, Diagnostics& diagnostics) {
  if (!types.is_mapping()) {
    report_mismatch(types, "'types'", "a mapping, such as {T: number}", diagnostics);
    return;
  }
  for (const Yaml::Entry entry : types.entries()) {
    if (!is_identifier(entry.name()) || dtype_from_name(entry.name())) {
      diagnostics.error(entry.key.where(), fmt::format("'{}' cannot name a type variable", entry.name()));
      continue;
    }
    if (auto dtypes = read_dtypes(entry.value, diagnostics)) op.types[std::string(entry.name())] = std::move(*dtypes);
  }
}

// A type variable, a dtype, a struct, or (results) "$attribute". Attributes have been read.
std::string read_type_name(Yaml value, const OpSpec& op, const Structs& structs, bool is_result,
                           Diagnostics& diagnostics) {
  const auto name = read_text(value, "a type", diagnostics);
  if (!name) return "";
  if (const StructType* structure = find_struct(structs, *name)) {
    if (op.kind == OpKind::opaque) return structure->name;
    diagnostics.error(value.where(), fmt::format("'{}' is a struct, which only opaque operators take and make", *name))
        .note(structure->where, "it is declared here")
        .advise("give the operator `kind: opaque` and a kernel that is a plain function on views");
    return "";
  }
  if (is_result && name->starts_with('$')) {
    const AttributeSpec* attribute = op.attribute(name->substr(1));
    if (!attribute || attribute->type != AttributeType::dtype) {
      diagnostics.error(value.where(), fmt::format("'{}' names no attribute of type dtype", *name));
    }
  } else if (!op.types.contains(std::string(*name)) && !dtype_from_name(*name)) {
    std::vector<std::string> candidates = dtype_names();
    for (const auto& [variable, dtypes] : op.types) candidates.push_back(variable);
    for (const auto& [known, structure] : structs) candidates.push_back(known);
    Diagnostic& diagnostic = diagnostics.error(value.where(), fmt::format("unknown type '{}'", *name));
    note_candidates(diagnostic, *name, candidates, "types");
    diagnostic.advise(name->find(':') == name->npos
                          ? fmt::format("declare it: types: {{{}: number}}", *name)
                          : fmt::format("declare it, before 'ops': structs: [{{struct: {}, header: my.hpp, bytes: 16, "
                                        "alignment: 8}}]",
                                        *name));
  }
  return std::string(*name);
}

bool validate_unique_name(Yaml key, std::string_view what, const OpSpec& op, Diagnostics& diagnostics) {
  if (!validate_name(key, what, diagnostics)) return false;
  const auto same_name = [&](const auto& each) { return each.name == key.text(); };
  if (std::none_of(op.operands.begin(), op.operands.end(), same_name) &&
      std::none_of(op.attributes.begin(), op.attributes.end(), same_name)) {
    return true;
  }
  diagnostics.error(key.where(), fmt::format("'{}' already names an operand or an attribute", key.text()));
  return false;
}

// The axis along which an operand is read in lines: an attribute, which has been read.
std::string read_line(Yaml value, const OpSpec& op, Diagnostics& diagnostics) {
  const auto name = read_text(value, "'line'", diagnostics);
  if (!name) return "";
  const AttributeSpec* attribute = op.attribute(*name);
  if (op.kind != OpKind::elementwise) {
    diagnostics.error(value.where(), "only an operand of an elementwise operator is read in lines");
  } else if (!attribute || attribute->type != AttributeType::integer) {
    diagnostics.error(value.where(), fmt::format("'{}' names no attribute of type integer", *name))
        .advise(fmt::format("declare the axis: attributes: {{{}: {{type: integer}}}}", *name));
  }
  return std::string(*name);
}

void read_operand(const Yaml::Entry& entry, OpSpec& op, const Structs& structs, Diagnostics& diagnostics) {
  if (!validate_unique_name(entry.key, "an operand", op, diagnostics)) return;
  OperandSpec operand;
  operand.name = entry.name();
  operand.where = entry.key.where();
  if (!entry.value.is_mapping()) {
    operand.type = read_type_name(entry.value, op, structs, false, diagnostics);
  } else {
    validate_keys(entry.value, {"type", "shape", "line", "together", "optional", "variadic", "doc"}, "an operand",
                  diagnostics);
    if (const Yaml type = require_key(entry.value, "type", "an operand", diagnostics)) {
      operand.type = read_type_name(type, op, structs, false, diagnostics);
    }
    if (const Yaml shape = entry.value.find("shape")) operand.pattern = read_pattern(shape, diagnostics);
    if (const Yaml line = entry.value.find("line")) operand.line = read_line(line, op, diagnostics);
    if (const Yaml axis = entry.value.find("together")) operand.together = read_together(axis, operand, diagnostics);
    read_flag(entry.value, "optional", operand.optional, diagnostics);
    read_flag(entry.value, "variadic", operand.variadic, diagnostics);
    read_optional_text(entry.value, "doc", operand.doc, diagnostics);
  }
  operand.structure = find_struct(structs, operand.type);
  if (!op.operands.empty() && op.operands.back().variadic) {
    diagnostics.error(entry.key.where(), "no operand may follow a variadic one");
  }
  if (!op.operands.empty() && op.operands.back().optional && !operand.optional) {
    diagnostics.error(entry.key.where(), "a required operand may not follow an optional one");
  }
  op.operands.push_back(std::move(operand));
}

void read_result(const Yaml::Entry& entry, OpSpec& op, const Structs& structs, Diagnostics& diagnostics) {
  if (!validate_unique_name(entry.key, "a result", op, diagnostics)) return;
  ResultSpec result;
  result.name = entry.name();
  result.where = entry.key.where();
  if (!entry.value.is_mapping()) {
    result.type = read_type_name(entry.value, op, structs, true, diagnostics);
  } else {
    validate_keys(entry.value, {"type", "shape", "extents", "updates", "doc"}, "a result", diagnostics);
    if (const Yaml type = require_key(entry.value, "type", "a result", diagnostics)) {
      result.type = read_type_name(type, op, structs, true, diagnostics);
    }
    if (const Yaml shape = entry.value.find("shape")) result.pattern = read_pattern(shape, diagnostics);
    if (const Yaml extents = entry.value.find("extents")) result.extents = read_size(extents, diagnostics);
    if (result.pattern && !result.extents.empty()) {
      diagnostics.error(entry.key.where(), fmt::format("'{}' has both 'shape' and 'extents'", result.name))
          .advise("'shape' names the axes; 'extents' is the size of each axis i of the first operand");
    }
    if (const Yaml updates = entry.value.find("updates")) result.updates = read_updated(updates, op, diagnostics);
  }
  result.structure = find_struct(structs, result.type);
  op.results.push_back(std::move(result));
}

// A value of the attribute's type, or (numbers and sizes) an expression to be worked out where the operator is used.
void read_default(Yaml value, AttributeSpec& attribute, Diagnostics& diagnostics) {
  const bool may_be_expression = attribute.type == AttributeType::number || attribute.type == AttributeType::integer ||
                                 attribute.type == AttributeType::dim;
  const bool is_number = value.is_scalar() && value.is_plain() && number_from_text(value.text());
  if (may_be_expression && value.is_scalar() && !is_number) {
    const std::string what = fmt::format("the default of '{}'", attribute.name);
    const bool is_size = attribute.type != AttributeType::number;
    attribute.default_expression =
        expression_of(value.text(), value.where(), what, is_size ? node_functions() : no_functions, diagnostics);
    return;
  }
  DimScope no_dims;
  attribute.default_value = read_attribute(value, attribute, "'default'", no_dims, diagnostics);
}

// How many values an attribute lists, and what each is at least.
void read_bounds(Yaml entry, AttributeSpec& attribute, Diagnostics& diagnostics) {
  const bool is_list = attribute.type == AttributeType::dims;
  if (const Yaml count = entry.find("count")) {
    if (!is_list && attribute.type != AttributeType::numbers) {
      diagnostics.error(count.where(), "'count' is for attributes of type dims or numbers");
    }
    attribute.count = read_size(count, diagnostics);
  }
  if (const Yaml least = entry.find("least")) {
    if (!is_list && attribute.type != AttributeType::dim && attribute.type != AttributeType::integer) {
      diagnostics.error(least.where(), "'least' is for attributes of type integer, dim or dims");
    }
    attribute.least = read_integer(least, "'least'", diagnostics);
  }
}

void read_attribute_spec(const Yaml::Entry& entry, OpSpec& op, Diagnostics& diagnostics) {
  if (!validate_unique_name(entry.key, "an attribute", op, diagnostics)) return;
  if (entry.name() == "op" || entry.name() == "in" || entry.name() == "out") {
    diagnostics.error(entry.key.where(), fmt::format("'{}' is a key of every node and no attribute", entry.name()));
    return;
  }
  validate_keys(entry.value, {"type", "default", "allowed", "count", "least", "doc"}, "an attribute", diagnostics);
  if (!entry.value.is_mapping()) return;
  AttributeSpec attribute;
  attribute.name = entry.name();
  attribute.where = entry.key.where();
  const Yaml type = require_key(entry.value, "type", "an attribute", diagnostics);
  const auto choice = type ? read_enumerator<AttributeType>(type, "'type'", diagnostics) : std::nullopt;
  if (!choice) return;
  attribute.type = *choice;
  if (const Yaml allowed = entry.value.find("allowed")) {
    if (attribute.type != AttributeType::text) {
      diagnostics.error(allowed.where(), "'allowed' is for attributes of type text");
    }
    for (const Yaml each : read_list(allowed, "'allowed'", diagnostics).value_or(std::vector<Yaml>{})) {
      attribute.allowed.emplace_back(each.text());
    }
  }
  if (const Yaml value = entry.value.find("default")) read_default(value, attribute, diagnostics);
  read_bounds(entry.value, attribute, diagnostics);
  read_optional_text(entry.value, "doc", attribute.doc, diagnostics);
  op.attributes.push_back(std::move(attribute));
}

void read_view(Yaml value, OpSpec& op, Diagnostics& diagnostics) {
  if (!value.is_mapping()) {
    report_mismatch(value, "'view'", "a mapping, such as {form: flip, axis: axis}", diagnostics);
    return;
  }
  const Yaml form = require_key(value, "form", "a view", diagnostics);
  const auto choice = form ? read_enumerator<ViewRule::Form>(form, "'form'", diagnostics) : std::nullopt;
  if (!choice) return;
  ViewRule rule;
  rule.form = *choice;
  const std::vector<std::string_view>& parameters = form_parameters[static_cast<std::size_t>(*choice)];
  for (const std::string_view parameter : parameters) {
    require_key(value, parameter, fmt::format("the view form '{}'", form.text()), diagnostics);
  }
  for (const Yaml::Entry entry : value.entries()) {
    if (entry.name() == "form") continue;
    if (std::find(parameters.begin(), parameters.end(), entry.name()) == parameters.end()) {
      diagnostics.error(entry.key.where(),
                        fmt::format("the view form '{}' has no parameter '{}'", form.text(), entry.name()));
    } else if (const auto attribute = read_text(entry.value, "a parameter of a view", diagnostics)) {
      if (!op.attribute(*attribute)) {
        diagnostics.error(entry.value.where(), fmt::format("'{}' is no attribute of '{}'", *attribute, op.name));
      }
      rule.parameters.emplace(entry.name(), *attribute);
    }
  }
  op.view = std::move(rule);
}

// "{equation: equation, permute: transpose, ...}". Whether there are such operators, link_ops looks.
void read_contraction(Yaml value, OpSpec& op, Diagnostics& diagnostics) {
  const std::initializer_list<std::string_view> keys = {"equation", "permute", "reshape",  "slice",
                                                        "diagonal", "sum",     "multiply", "product"};
  if (!validate_keys(value, keys, "'contraction'", diagnostics)) return;
  if (!value.is_mapping()) {
    report_mismatch(value, "'contraction'", "a mapping, such as {equation: equation, product: matmul, ...}",
                    diagnostics);
    return;
  }
  ContractionRule rule;
  for (const std::string_view key : keys) {
    const Yaml entry = require_key(value, key, "'contraction'", diagnostics);
    const auto text = entry ? read_text(entry, fmt::format("'{}'", key), diagnostics) : std::nullopt;
    if (!text) return;
    if (const auto part = enumerator_named<ContractionRule::Part>(key)) {
      rule.operators.emplace(*part, *text);
    } else {
      rule.equation = *text;
    }
  }
  const AttributeSpec* attribute = op.attribute(rule.equation);
  if (!attribute || attribute->type != AttributeType::text || !attribute->required()) {
    diagnostics.error(
        value.find("equation").where(),
        fmt::format("'{}' is no attribute of '{}' of type text that must be given", rule.equation, op.name));
    return;
  }
  op.contraction = std::move(rule);
}

// What each kind must say of itself.
void validate_kind(const OpSpec& op, Yaml entry, Diagnostics& diagnostics) {
  const auto need = [&](bool has, std::string_view what) {
    if (has) return;
    diagnostics.error(op.where, fmt::format("'{}' is of kind {} and needs {}", op.name, name_of(op.kind), what));
  };
  const auto has_attribute = [&](std::string_view name, AttributeType type) {
    const AttributeSpec* attribute = op.attribute(name);
    return attribute && attribute->type == type;
  };
  need(!op.results.empty(), "at least one result");
  if (op.kind == OpKind::view) {
    need(entry.find("view") && !op.operands.empty() && op.results.size() == 1, "'view', an operand and one result");
  } else if (op.kind == OpKind::composite) {
    need(!op.expansions.empty() || op.contraction, "an expansion");
    if (op.contraction) {
      need(op.expansions.empty() && op.results.size() == 1 && op.operands.size() == 1 && op.operands[0].variadic,
           "no expansion beside its contraction, one variadic operand and one result");
    }
  } else {
    need(!op.kernel.empty(), "a kernel");
    const bool has_other = std::any_of(op.expansions.begin(), op.expansions.end(),
                                       [](const Expansion& each) { return each.when.empty(); });
    if (has_other) need(false, "`when` in every choice of its expansion, as its kernel computes what none holds for");
  }
  if (op.kind == OpKind::reduction) {
    need(has_attribute("axes", AttributeType::dims), "the attribute 'axes' of type dims");
    need(has_attribute("keepdims", AttributeType::boolean), "the attribute 'keepdims' of type boolean");
  }
  for (const ResultSpec& result : op.results) {
    for (const PatternAxis& axis : result.pattern.value_or(std::vector<PatternAxis>{})) {
      const AttributeSpec* attribute = op.attribute(axis.name);
      if (!attribute || attribute->type == AttributeType::dim) continue;
      diagnostics.error(
          op.where, fmt::format("'{}' stands in the shape of '{}', so it must be an attribute of type dim", axis.name,
                                result.name));
    }
  }
  if (op.role == OpRole::cast) {
    need(has_attribute("to", AttributeType::dtype), "the attribute 'to' for its role");
    const bool has_defaults = std::all_of(op.attributes.begin(), op.attributes.end(), [](const AttributeSpec& each) {
      return each.name == "to" || each.default_value.has_value();
    });
    need(has_defaults, "a default for every attribute but 'to', for its role");
  }
}

template <class Read>
void read_entries(Yaml op_entry, std::string_view key, OpSpec& op, Diagnostics& diagnostics, Read read) {
  const Yaml value = op_entry.find(key);
  if (!value || value.is_empty()) return;
  if (!value.is_mapping()) {
    report_mismatch(value, fmt::format("'{}'", key), "a mapping from names", diagnostics);
    return;
  }
  for (const Yaml::Entry entry : value.entries()) read(entry, op, diagnostics);
}

OpSpec read_op(Yaml entry, Yaml name, const Structs& structs, Diagnostics& diagnostics) {
  OpSpec op;
  op.name = name.text();
  op.where = name.where();
  read_optional_text(entry, "doc", op.doc, diagnostics);
  read_optional_text(entry, "source", op.source, diagnostics);
  if (const Yaml names = entry.find("other_names")) {
    for (const Yaml each : read_list(names, "'other_names'", diagnostics).value_or(std::vector<Yaml>{})) {
      op.other_names.emplace_back(each.text());
    }
  }
  read_optional_text(entry, "kernel", op.kernel, diagnostics);
  if (const Yaml definition = entry.find("definition")) {
    const std::string what = fmt::format("the definition of '{}'", op.name);
    op.definition = read_expression(definition, what, no_functions, diagnostics);
  }
  if (const Yaml kind = require_key(entry, "kind", "an operator", diagnostics)) {
    op.kind = read_enumerator<OpKind>(kind, "'kind'", diagnostics).value_or(op.kind);
  }
  if (const Yaml role = entry.find("role")) {
    op.role = read_enumerator<OpRole>(role, "'role'", diagnostics).value_or(op.role);
  }
  if (const Yaml types = entry.find("types")) read_types(types, op, diagnostics);
  read_entries(entry, "attributes", op, diagnostics, read_attribute_spec);
  const auto with_structs = [&](auto read) {
    return
        [read, &structs](const Yaml::Entry& each, OpSpec& to, Diagnostics& report) { read(each, to, structs, report); };
  };
  read_entries(entry, "operands", op, diagnostics, with_structs(read_operand));
  read_entries(entry, "results", op, diagnostics, with_structs(read_result));
  if (const Yaml conditions = entry.find("conditions")) read_conditions(conditions, op, diagnostics);
  read_entries(entry, "sizes", op, diagnostics, read_named_size);
  if (const Yaml algebra = entry.find("algebra")) read_algebra(algebra, op, diagnostics);
  if (const Yaml view = entry.find("view")) read_view(view, op, diagnostics);
  if (const Yaml contraction = entry.find("contraction")) read_contraction(contraction, op, diagnostics);
  if (const Yaml expansion = entry.find("expansion")) read_expansions(expansion, op, diagnostics);
  if (const Yaml prepared = entry.find("prepared")) read_prepared(prepared, op, diagnostics);
  if (const Yaml spellings = entry.find("spellings")) read_spellings(spellings, op, diagnostics);
  validate_kind(op, entry, diagnostics);
  validate_expressions(op, diagnostics);
  return op;
}

}  // namespace

void load_ops(const SourceText& source, OpSet& set, Diagnostics& diagnostics) {
  const auto tree = parse_yaml(source, diagnostics);
  if (!tree || !validate_keys(tree->root(), {"structs", "ops", "tuning"}, "a file of operators", diagnostics)) return;
  if (const Yaml structs = tree->root().find("structs")) load_structs(structs, set.structs, diagnostics);
  const Yaml tuning = tree->root().find("tuning");
  if (tuning) load_tuning(tuning, set, diagnostics);
  const Yaml ops =
      tuning ? tree->root().find("ops") : require_key(tree->root(), "ops", "a file of operators", diagnostics);
  if (!ops) return;
  if (!ops.is_sequence()) {
    report_mismatch(ops, "'ops'", "a list of operators", diagnostics);
    return;
  }
  for (const Yaml entry : ops.items()) {
    validate_keys(entry, {"op",       "doc",     "source",      "other_names", "kind",       "role",     "types",
                          "operands", "results", "attributes",  "kernel",      "conditions", "sizes",    "definition",
                          "algebra",  "view",    "contraction", "expansion",   "prepared",   "spellings"},
                  "an operator", diagnostics);
    if (!entry.is_mapping()) continue;
    const Yaml name = require_key(entry, "op", "an operator", diagnostics);
    if (!name || !read_text(name, "'op'", diagnostics)) continue;
    if (const OpSpec* first = set.find(name.text())) {
      diagnostics.error(name.where(), fmt::format("the operator '{}' is defined twice", name.text()))
          .note(first->where, "it was first defined here")
          .advise("give this one another name; another kernel for that operator is declared with the kernels alone");
      continue;
    }
    set.op_index.emplace(name.text(), set.ops.size());
    set.ops.push_back(read_op(entry, name, set.structs, diagnostics));
  }
}

}  // namespace kgen
