#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/load/fields.hpp"
#include "generator/load/graph_context.hpp"

namespace kgen {
namespace {

// Calls `read` for each entry of a section, which may be left empty.
template <class Read>
void for_each_entry(Yaml section, std::string_view what, std::string_view example, GraphContext& context, Read read) {
  if (section.is_empty()) return;
  if (!section.is_mapping()) {
    report_mismatch(section, what, fmt::format("a mapping, such as {}", example), context.diagnostics());
    return;
  }
  for (const Yaml::Entry entry : section.entries()) {
    if (is_hopeless(context.diagnostics())) return;
    read(entry, context);
  }
}

void read_input(const Yaml::Entry& entry, GraphContext& context) {
  const ValueId id = define_value(context, entry.key, ValueKind::input);
  Yaml type = entry.value;
  GraphInput input{id, false};
  if (type.is_mapping()) {
    validate_keys(entry.value, {"type", "strided", "doc"}, "an input", context.diagnostics());
    type = require_key(entry.value, "type", "an input", context.diagnostics());
    if (const Yaml strided = entry.value.find("strided")) {
      input.strided = read_boolean(strided, "'strided'", context.diagnostics()).value_or(false);
    }
  }
  auto tensor = type ? read_tensor_type(type, context.module.dims, context.diagnostics()) : std::nullopt;
  if (id == no_id) return;
  context.graph.value(id).index = static_cast<std::uint32_t>(context.graph.inputs.size());
  context.graph.value(id).type = std::move(tensor);
  context.graph.inputs.push_back(input);
}

// ---- constants ------------------------------------------------------------------------------------------------------

// One element. bool takes true and false too.
std::optional<Number> read_element(Yaml value, DType dtype, Diagnostics& diagnostics) {
  if (dtype == DType::boolean && value.is_scalar() && (value.text() == "true" || value.text() == "false")) {
    return value.text() == "true" ? 1 : 0;
  }
  const auto number = read_number(value, "an element of a constant", diagnostics);
  if (!number || info(dtype).floating) return number;
  if (integer_holds(dtype, *number)) return number;
  const auto [low, high] = integer_range(dtype);
  diagnostics.error(value.where(), fmt::format("{} is no value of type {}", value.text(), info(dtype).name))
      .note(fmt::format("it holds whole numbers from {} to {}", low, high));
  return std::nullopt;
}

// A number, or lists of numbers that are nested as the shape says or not at all. False after an error.
bool read_elements(Yaml value, const TensorType& type, std::size_t axis, std::vector<Number>& elements,
                   Diagnostics& diagnostics) {
  if (!value.is_sequence()) {
    const auto element = read_element(value, type.dtype, diagnostics);
    if (element) elements.push_back(*element);
    return element.has_value();
  }
  const bool nested = value.size() > 0 && (*value.items().begin()).is_sequence();
  const bool has_extent = axis < type.shape.size();
  if ((nested || axis > 0) && (!has_extent || type.shape[axis] != Dim(static_cast<std::int64_t>(value.size())))) {
    diagnostics.error(value.where(),
                      fmt::format("a list of {} does not fit axis {} of {}", value.size(), axis, to_text(type)));
    return false;
  }
  for (const Yaml item : value.items()) {
    if (item.is_sequence() != nested) {
      diagnostics.error(item.where(), "numbers and lists are mixed in one list");
      return false;
    }
    if (!read_elements(item, type, axis + 1, elements, diagnostics)) return false;
  }
  return true;
}

void read_values(Yaml value, const TensorType& type, GivenElements& given, Diagnostics& diagnostics) {
  if (!read_elements(value, type, 0, given.values, diagnostics)) return;
  const std::size_t count = given.values.size();
  if (count == 1) return;  // a splat
  const Dim expected = element_count(type.shape);
  if (expected == Dim(static_cast<std::int64_t>(count))) return;
  Diagnostic& diagnostic = diagnostics.error(
      value.where(), fmt::format("{} values for {}, which has {} elements", count, to_text(type), expected.text()));
  diagnostic.advise("write every element in row-major order, or one number that all elements have");
}

// "{index}" and "{index+3}", of constants and state of functions.
void validate_index(Yaml key, std::string_view text, const GraphContext& context) {
  constexpr std::string_view mark = "{index";
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    if (!context.is_function) {
      context.diagnostics()
          .error(key.where(), "'{index}' has a meaning only in the constants and state of a function")
          .note("there it stands for the number of the call");
      return;
    }
    const std::string_view rest = text.substr(at + mark.size(), text.find('}', at) - at - mark.size());
    const auto number = rest.starts_with('+') ? integer_from_text(rest.substr(1)) : std::nullopt;
    const bool is_closed = text.find('}', at) != text.npos;
    if (is_closed && (rest.empty() || (number && *number >= 0 && *number < 1'000'000'000))) continue;
    context.diagnostics()
        .error(key.where(), fmt::format("'{}' does not say which tensor each call reads", text))
        .advise("write {index} for the number of the call, counted from 0, or {index+1} for the one behind it");
    return;
  }
}

void read_file_reference(Yaml file, Yaml key, GivenElements& given, const GraphContext& context) {
  given.file = read_text(file, "'file'", context.diagnostics()).value_or("");
  given.key = read_text(key, "'key'", context.diagnostics()).value_or("");
  validate_index(key, given.key, context);
}

// False after an error. `what`: "a constant".
bool require_fixed_shape(Yaml type_text, const TensorType& type, std::string_view what, std::string_view advice,
                         Diagnostics& diagnostics) {
  const auto symbolic =
      std::find_if(type.shape.begin(), type.shape.end(), [](const Dim& extent) { return !extent.is_constant(); });
  if (symbolic == type.shape.end()) return true;
  diagnostics
      .error(type_text.where(), fmt::format("the shape of {} must be numbers; {} is known only when the graph runs",
                                            what, symbolic->text()))
      .advise(std::string(advice));
  return false;
}

// {type: ..., values: ...} or {type: ..., file: ..., key: ...}
std::optional<TensorType> read_long_constant(Yaml entry, ConstantData& constant, GraphContext& context) {
  Diagnostics& diagnostics = context.diagnostics();
  validate_keys(entry, {"type", "values", "file", "key", "doc"}, "a constant", diagnostics);
  const Yaml type_text = require_key(entry, "type", "a constant", diagnostics);
  const Yaml values = entry.find("values");
  const Yaml file = entry.find("file");
  if (static_cast<bool>(values) == static_cast<bool>(file)) {
    diagnostics.error(entry.where(), values ? "a constant has either 'values' or 'file', not both"
                                            : "a constant needs 'values', or 'file' and 'key'");
  }
  if (file) {
    const Yaml key = require_key(entry, "key", "a constant from a file", diagnostics);
    if (key) read_file_reference(file, key, constant, context);
  }
  auto type = type_text ? read_tensor_type(type_text, context.module.dims, diagnostics) : std::nullopt;
  if (!type || !require_fixed_shape(type_text, *type, "a constant",
                                    "a constant of fewer axes is broadcast where it is used", diagnostics)) {
    return std::nullopt;
  }
  if (values) read_values(values, *type, constant, diagnostics);
  return type;
}

void read_constant(const Yaml::Entry& entry, GraphContext& context) {
  ConstantData constant;
  constant.value = define_value(context, entry.key, ValueKind::constant);
  std::optional<TensorType> type;
  if (entry.value.is_mapping()) {
    type = read_long_constant(entry.value, constant, context);
  } else if (const auto number = read_number(entry.value, "a constant", context.diagnostics())) {
    type = TensorType{DType::f32, {}};
    constant.values = {*number};
  }
  if (constant.value == no_id) return;
  context.graph.value(constant.value).index = static_cast<std::uint32_t>(context.graph.constants.size());
  context.graph.value(constant.value).type = std::move(type);
  context.graph.constants.push_back(std::move(constant));
}

// What a state begins as: `values`, or `file` and `key`; neither: zero.
void read_initial(Yaml entry, Yaml type_text, const TensorType& type, GivenElements& initial, GraphContext& context) {
  Diagnostics& diagnostics = context.diagnostics();
  const Yaml values = entry.find("values");
  if (values && (entry.find("file") || entry.find("key"))) {
    diagnostics.error(entry.where(), "a state begins as its 'values' or as what is in a 'file', not both");
    return;
  }
  const bool is_splat = values && !values.is_sequence();
  if (values) {
    read_values(values, type, initial, diagnostics);
  } else if (entry.find("file") || entry.find("key")) {
    const Yaml file = require_key(entry, "file", "a state with a 'key'", diagnostics);
    const Yaml key = require_key(entry, "key", "a state from a file", diagnostics);
    if (file && key) read_file_reference(file, key, initial, context);
  } else {
    return;
  }
  if (is_splat) return;
  require_fixed_shape(type_text, type, "a state that begins as given elements",
                      "one number, `values: 1.0`, is what all elements of any shape begin as", diagnostics);
}

void read_state(const Yaml::Entry& entry, GraphContext& context) {
  const ValueId id = define_value(context, entry.key, ValueKind::state);
  StateData state{id, no_id, entry.key.where()};
  Yaml type = entry.value;
  if (type.is_mapping()) {
    validate_keys(entry.value, {"type", "next", "values", "file", "key", "doc"}, "a state", context.diagnostics());
    type = require_key(entry.value, "type", "a state", context.diagnostics());
  }
  auto tensor = type ? read_tensor_type(type, context.module.dims, context.diagnostics()) : std::nullopt;
  if (tensor && entry.value.is_mapping()) read_initial(entry.value, type, *tensor, state.initial, context);
  if (id == no_id) return;
  context.graph.value(id).index = static_cast<std::uint32_t>(context.graph.states.size());
  context.graph.value(id).type = std::move(tensor);
  context.graph.states.push_back(std::move(state));
}

void read_next_state(const Yaml::Entry& entry, GraphContext& context) {
  const Yaml next = entry.value.find("next");
  if (!next) return;
  const ValueId id = find_value(context, next);
  const auto state = context.names.find(entry.name());
  if (id == no_id || state == context.names.end()) return;
  const Value& value = context.graph.value(state->second);
  if (value.kind != ValueKind::state) return;
  context.used[state->second] = true;
  context.graph.states[value.index].next = id;
}

}  // namespace

void report_redefinition(Yaml name, SourceLocation first, Diagnostics& diagnostics) {
  diagnostics.error(name.where(), fmt::format("'{}' is defined twice", name.text()))
      .note(first, "it was first defined here")
      .advise("give one of the two another name");
}

ValueId define_value(GraphContext& context, Yaml name, ValueKind kind) {
  if (!validate_name(name, "a value", context.diagnostics())) return no_id;
  const ModuleContext& module = context.module;
  if (const auto dim = module.dims.entries.find(name.text()); dim != module.dims.entries.end()) {
    report_redefinition(name, dim->second.where, context.diagnostics());
    return no_id;
  }
  if (const auto function = module.functions.find(name.text()); function != module.functions.end()) {
    report_redefinition(name, function->second.where, context.diagnostics());
    return no_id;
  }
  const auto id = static_cast<ValueId>(context.graph.values.size());
  const auto [place, is_new] = context.names.emplace(name.text(), id);
  if (!is_new) {
    report_redefinition(name, context.graph.value(place->second).where, context.diagnostics());
    return no_id;
  }
  Value& value = context.graph.values.emplace_back();
  value.name = name.text();
  value.kind = kind;
  value.where = name.where();
  context.used.push_back(false);
  return id;
}

ValueId find_value(GraphContext& context, Yaml name) {
  if (!name.is_scalar()) {
    report_mismatch(name, "the name of a value", "a word", context.diagnostics());
    return no_id;
  }
  return find_value(context, name.text(), name.where());
}

ValueId find_value(GraphContext& context, std::string_view name, SourceLocation where) {
  const auto found = context.names.find(name);
  if (found != context.names.end()) {
    context.used[found->second] = true;
    return found->second;
  }
  if (is_hopeless(context.diagnostics())) return no_id;
  if (const auto dim = context.module.dims.entries.find(name); dim != context.module.dims.entries.end()) {
    context.diagnostics()
        .error(where, fmt::format("'{}' is a dim, and only values may stand here", name))
        .note(dim->second.where, "it is declared here");
    return no_id;
  }
  Diagnostic& diagnostic = context.diagnostics().error(where, fmt::format("'{}' is not defined", name));
  std::vector<std::string> candidates;
  candidates.reserve(context.names.size());
  for (const Value& value : context.graph.values) candidates.push_back(value.name);
  note_candidates(diagnostic, name, candidates, "values");
  if (context.is_function) diagnostic.advise("a function sees no values but its own; pass others as operands");
  return no_id;
}

void read_inputs(Yaml section, GraphContext& context) {
  for_each_entry(section, "'inputs'", "{x: f32[64]}", context, read_input);
}

void read_constants(Yaml section, GraphContext& context) {
  for_each_entry(section, "'constants'", "{eps: 1.0e-5}", context, read_constant);
}

void read_states(Yaml section, GraphContext& context) {
  for_each_entry(section, "'state'", "{total: {type: f32[64], next: new_total}}", context, read_state);
}

void read_next_states(Yaml section, GraphContext& context) {
  if (!section.is_mapping()) return;
  for (const Yaml::Entry entry : section.entries()) read_next_state(entry, context);
}

}  // namespace kgen
