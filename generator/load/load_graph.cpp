#include "generator/load/load_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "generator/load/fields.hpp"
#include "generator/load/graph_context.hpp"
#include "generator/model/known_dims.hpp"

namespace kgen {
namespace {

constexpr std::int64_t largest_dim = (std::int64_t{1} << 31) - 1;

// ---- dims -----------------------------------------------------------------------------------------------------------

// "1..8192" or "64".
std::optional<DimRange> read_range(Yaml value, Diagnostics& diagnostics) {
  const auto reject = [&](std::string message) -> std::optional<DimRange> {
    diagnostics.error(value.where(), std::move(message)).advise("write a range such as 1..8192, or one number");
    return std::nullopt;
  };
  if (!value.is_scalar()) return reject(fmt::format("the range of a dim must be numbers, not {}", describe(value)));
  const std::string_view text = value.text();
  const std::size_t dots = text.find("..");
  const auto low = integer_from_text(text.substr(0, dots));
  const std::string_view high_text = dots == text.npos ? text : text.substr(dots + 2);
  const auto high = integer_from_text(high_text);
  const bool is_long = !high && is_integer_text(text.substr(0, dots)) && is_integer_text(high_text);
  if (is_long) return reject(fmt::format("the range {} exceeds {}", text, largest_dim));
  if (!low || !high) return reject(fmt::format("'{}' is not the range of a dim", text));
  if (*low < 0) return reject(fmt::format("the range {} begins below 0", text));
  if (*low > *high) return reject(fmt::format("the range {} is empty", text));
  if (*high > largest_dim) return reject(fmt::format("the range {} exceeds {}", text, largest_dim));
  return DimRange{*low, *high};
}

// "position", an input without axes, or "sizes[2]", an element of one with one axis.
void read_source(Yaml from, DimDeclaration& declaration, Diagnostics& diagnostics) {
  const std::string_view text = read_text(from, "'from'", diagnostics).value_or("");
  const std::size_t bracket = text.find('[');
  declaration.from = text.substr(0, bracket);
  if (bracket == text.npos) return;
  const std::string_view inside = text.substr(bracket + 1);
  if (inside.ends_with(']')) declaration.element = integer_from_text(inside.substr(0, inside.size() - 1));
  if (declaration.element && *declaration.element >= 0) return;
  diagnostics.error(from.where(), fmt::format("'{}' does not say which element of an input the dim is", text))
      .advise("count from 0: sizes[0]");
}

void read_dim_declaration(const Yaml::Entry& entry, ModuleContext& context) {
  if (!validate_name(entry.key, "a dim", context.diagnostics)) return;
  if (entry.name().starts_with("stub_")) {  // other names give way, but a dim stands in every expression
    context.diagnostics.error(entry.key.where(), fmt::format("'{}' cannot name a dim: kgen names its stubs so", entry.name()))
        .advise("give the dim another name");
  }
  DimDeclaration declaration{.name = std::string(entry.name()), .range = {}, .from = {}, .where = entry.key.where()};
  Yaml range = entry.value;
  Yaml from;
  if (range.is_mapping()) {
    validate_keys(entry.value, {"range", "from", "doc"}, "a dim", context.diagnostics);
    from = entry.value.find("from");
    if (from) read_source(from, declaration, context.diagnostics);
    range = from ? entry.value.find("range") : require_key(entry.value, "range", "a dim", context.diagnostics);
  }
  // A dim whose range is wrong is declared nevertheless, so that its uses are not errors too.
  const auto bounds = range ? read_range(range, context.diagnostics) : std::nullopt;
  declaration.range = bounds.value_or(DimRange{from && !range ? 0 : 1, largest_dim});
  const bool is_number = declaration.range.low == declaration.range.high && !from;
  const Dim value = is_number ? Dim(declaration.range.low) : Dim::symbol(entry.name());
  context.dims.entries.emplace(declaration.name, DimScope::Entry{value, declaration.where});
  if (is_number) return;
  context.dims.ranges.emplace(declaration.name, declaration.range);
  context.declarations.push_back(std::move(declaration));
  context.sources.push_back(from);
}

void read_dim_declarations(Yaml section, ModuleContext& context) {
  if (!section.is_mapping()) {
    report_mismatch(section, "'dims'", "a mapping from names to ranges, such as {M: 1..8192}", context.diagnostics);
    return;
  }
  for (const Yaml::Entry entry : section.entries()) read_dim_declaration(entry, context);
}

std::string_view kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::input:
      return "input";
    case ValueKind::constant:
      return "constant";
    case ValueKind::state:
      return "state";
    case ValueKind::result:
      return "result";
  }
  return "";
}

// The input that a dim is read from.
void validate_dim_source(const DimDeclaration& dim, Yaml from, GraphContext& main) {
  if (!from.is_scalar()) return;  // reported already
  const ValueId id = find_value(main, dim.from, from.where());
  if (id == no_id) return;
  const Value& value = main.graph.value(id);
  const auto reject = [&](const std::string& reason) -> Diagnostic& {
    return main.diagnostics()
        .error(from.where(), fmt::format("the dim '{}' cannot be read from '{}': {}", dim.name, from.text(), reason))
        .note(value.where, "it is defined here");
  };
  if (value.kind != ValueKind::input) {
    reject(fmt::format("it is not an input, but a {}", kind_name(value.kind)));
    return;
  }
  if (!value.type) return;  // reported already
  const auto& [dtype, shape, structure] = *value.type;
  const bool is_whole = !structure && (dtype == DType::i64 || dtype == DType::i32);
  if (!is_whole || shape.size() > 1 || (!shape.empty() && !shape[0].is_constant())) {
    reject(fmt::format("it is not an input of type i64[], i64[n], i32[] or i32[n], where n is a number, but {}",
                       to_text(*value.type)));
  } else if (shape.empty() != !dim.element) {
    reject(shape.empty() ? "it is a scalar" : fmt::format("it has {} elements", shape[0].text()))
        .advise(fmt::format("write {}", shape.empty() ? dim.from : fmt::format("{}[0], say", dim.from)));
  } else if (main.graph.inputs[value.index].strided) {
    reject("it may have any strides");
  } else if (dim.element && *dim.element >= shape[0].constant()) {
    reject(fmt::format("it has {} elements, counted from 0", shape[0].text()));
  }
}

// How the run will know each dim: from the extents of inputs, unless it says where from.
void validate_dims(GraphContext& main) {
  const bool inputs_are_good = !main.diagnostics().has_errors();
  std::set<std::string, std::less<>> known;
  for (std::size_t i = 0; i < main.module.declarations.size(); ++i) {
    if (main.module.sources[i]) known.insert(main.module.declarations[i].name);
  }
  std::vector<const Shape*> shapes;
  for (const GraphInput& input : main.graph.inputs) {
    if (const auto& type = main.graph.value(input.value).type) shapes.push_back(&type->shape);
  }
  for (SaidDim& said : dims_said_by(shapes, known)) known.insert(std::move(said.dim));
  for (std::size_t i = 0; i < main.module.declarations.size(); ++i) {
    const DimDeclaration& dim = main.module.declarations[i];
    if (const Yaml from = main.module.sources[i]) {
      validate_dim_source(dim, from, main);
    } else if (inputs_are_good && main.module.dims.entries.at(dim.name).used && !known.contains(dim.name)) {
      main.diagnostics()
          .error(dim.where, fmt::format("no input says what the dim '{}' is", dim.name))
          .note(fmt::format("it would be known if an input had the extent {0} by itself, or a multiple such as 32*{0}",
                            dim.name))
          .advise(fmt::format("or read it from an input of type i64[]: {}: {{range: {}..{}, from: the_input}}",
                              dim.name, dim.range.low, dim.range.high));
    }
  }
}

// ---- graphs ---------------------------------------------------------------------------------------------------------

void read_numerics(Yaml section, Graph& graph, Diagnostics& diagnostics) {
  if (const auto choice = read_enumerator<Numerics>(section, "'numerics'", diagnostics)) {
    graph.numerics = *choice;
  }
}

void warn_of_unused(const GraphContext& context) {
  for (std::size_t id = 0; id < context.graph.values.size(); ++id) {
    const Value& value = context.graph.values[id];
    if (context.used[id] || value.kind == ValueKind::result) continue;
    context.diagnostics()
        .warning(value.where, fmt::format("the {} '{}' is never used", kind_name(value.kind), value.name))
        .advise("remove it, or use it in a node");
  }
}

// The sections that main and functions share.
void read_body(Yaml body, GraphContext& context) {
  const auto read = [&](std::string_view key, void (*reader)(Yaml, GraphContext&)) {
    if (const Yaml section = body.find(key)) reader(section, context);
  };
  read("inputs", read_inputs);
  read("constants", read_constants);
  read("state", read_states);
  if (const Yaml nodes = body.find("nodes"); nodes && nodes.size() > 0) {
    read_nodes(nodes, context);
  } else {
    context.diagnostics()
        .error(nodes ? nodes.where() : context.graph.where, fmt::format("{} must have nodes", context.noun()))
        .advise("such as: nodes: [{op: add, in: [a, b], out: c}]");
  }
  read("state", read_next_states);
  if (const Yaml outputs = body.find("outputs"); outputs && (outputs.is_scalar() || outputs.size() > 0)) {
    read_outputs(outputs, context);
  } else {
    context.diagnostics()
        .error(outputs ? outputs.where() : context.graph.where, fmt::format("{} must have outputs", context.noun()))
        .advise("name the values that it returns, such as: outputs: [y]");
  }
  read("fusion", read_fusion);
  read("expect_fused", read_expect_fused);
}

void read_function(const Yaml::Entry& entry, Numerics numerics, ModuleContext& module) {
  Graph graph;
  graph.name = entry.name();
  graph.where = entry.key.where();
  graph.dims = module.declarations;
  graph.numerics = numerics;
  GraphContext context{module, graph, true, {}, {}};
  validate_name(entry.key, "a function", module.diagnostics);
  if (entry.value.is_mapping()) {
    validate_keys(entry.value,
                  {"doc", "inputs", "constants", "state", "nodes", "outputs", "fusion", "expect_fused", "numerics"},
                  "a function", module.diagnostics);
    if (const Yaml own = entry.value.find("numerics")) read_numerics(own, graph, module.diagnostics);
    read_body(entry.value, context);
    if (!module.diagnostics.has_errors()) warn_of_unused(context);
  } else {
    report_mismatch(entry.value, "a function", "a mapping", module.diagnostics);
  }
  module.finished.push_back(std::move(graph));
}

void read_functions(Yaml section, Numerics numerics, ModuleContext& context) {
  if (!section.is_mapping()) {
    report_mismatch(section, "'functions'", "a mapping from names to functions", context.diagnostics);
    return;
  }
  for (const Yaml::Entry entry : section.entries()) {
    const auto position = static_cast<std::uint32_t>(context.functions.size());
    context.functions.emplace(entry.name(), FunctionName{position, entry.key.where()});
    const auto dim = context.dims.entries.find(entry.name());
    if (dim != context.dims.entries.end()) report_redefinition(entry.key, dim->second.where, context.diagnostics);
  }
  for (const Yaml::Entry entry : section.entries()) read_function(entry, numerics, context);
}

// Its files and its C function stand beside others of these names.
std::string reason_not_a_graph(std::string_view name) {
  if (name == "stubs" || name == "check") return fmt::format("{}.hpp is another file that kgen writes", name);
  for (const std::string_view taken : {"name", "input", "output", "input_count", "output_count"}) {
    if (name == taken) return fmt::format("kgen_runtime.h declares kgen_graph_{}", name);
  }
  return "";
}

void read_name(Yaml root, Graph& graph, Diagnostics& diagnostics) {
  graph.where = root.where();
  const Yaml name = require_key(root, "graph", "a graph", diagnostics);
  if (!name || !validate_name(name, "a graph", diagnostics)) return;
  if (const std::string reason = reason_not_a_graph(name.text()); !reason.empty()) {
    diagnostics.error(name.where(), fmt::format("'{}' cannot name a graph: {}", name.text(), reason))
        .advise(fmt::format("write '{}_graph', say", name.text()));
  }
  graph.name = name.text();
  graph.where = name.where();
}

void read_module(ModuleContext& context, Graph& main) {
  const Yaml root = context.root;
  read_name(root, main, context.diagnostics);
  if (const Yaml dims = root.find("dims"); dims && !dims.is_empty()) read_dim_declarations(dims, context);
  main.dims = context.declarations;
  if (const Yaml numerics = root.find("numerics")) read_numerics(numerics, main, context.diagnostics);
  if (const Yaml doc = root.find("doc"); doc && doc.is_scalar()) main.doc = doc.text();
  const Numerics numerics = main.numerics;
  if (const Yaml functions = root.find("functions"); functions && !functions.is_empty()) {
    read_functions(functions, numerics, context);
  }
  GraphContext main_context{context, main, false, {}, {}};
  read_body(root, main_context);
  validate_dims(main_context);
  if (context.diagnostics.has_errors()) return;
  warn_of_unused(main_context);
  for (const auto& [name, entry] : context.dims.entries) {
    if (!entry.used) context.diagnostics.warning(entry.where, fmt::format("the dim '{}' is never used", name));
  }
}

}  // namespace

std::optional<Module> load_graph(const SourceText& source, const OpSet& set, Diagnostics& diagnostics) {
  const auto tree = parse_yaml(source, diagnostics);
  if (!tree) return std::nullopt;
  ModuleContext context{set, diagnostics, tree->root(), {}, {}, {}, {}, {}};
  if (!context.root.is_mapping()) {
    report_mismatch(context.root, "a graph", "a mapping", diagnostics).advise("begin with: graph: name");
    return std::nullopt;
  }
  validate_keys(context.root,
                {"graph", "doc", "dims", "inputs", "constants", "state", "functions", "nodes", "outputs", "fusion",
                 "expect_fused", "numerics"},
                "a graph", diagnostics);
  Module module;
  module.file = source.path;
  read_module(context, module.main);
  module.functions = std::move(context.finished);
  if (!diagnostics.has_errors()) number_calls(module, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return module;
}

}  // namespace kgen
