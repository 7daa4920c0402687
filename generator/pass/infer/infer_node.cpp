#include "generator/pass/infer/infer_node.hpp"

#include <algorithm>

#include "generator/base/contains.hpp"
#include "generator/base/ensure.hpp"
#include "generator/pass/infer/infer_context.hpp"
#include "generator/spec/infer_number.hpp"

namespace kgen {
namespace {

// ---- dtypes ---------------------------------------------------------------------------------------------------------

// An operand that is a number in the text, whose dtype is not known yet.
bool is_untyped_number(const NodeContext& context, std::size_t operand) {
  const Value& value = context.graph.value(context.node.inputs[operand]);
  return value.kind == ValueKind::constant && !value.type;
}

std::string dtype_names(const std::vector<DType>& dtypes) {
  std::vector<std::string_view> names;
  for (const DType dtype : dtypes) names.push_back(info(dtype).name);
  const std::string last(names.back());
  names.pop_back();
  return names.empty() ? last : fmt::format("{} or {}", fmt::join(names, ", "), last);
}

// What the type variables of an operator stand for, at one node.
struct TypeVariables {
  struct Variable {
    std::string_view name;
    DType dtype;
    std::size_t operand;  // which one bound it
  };
  std::vector<Variable> bound;

  const Variable* find(std::string_view name) const {
    const auto is_named = [&](const Variable& each) { return each.name == name; };
    const auto found = std::find_if(bound.begin(), bound.end(), is_named);
    return found == bound.end() ? nullptr : &*found;
  }
};

// The dtypes that a type variable may stand for; null where `type` is a dtype's name.
const std::vector<DType>* choices_of(const NodeContext& context, const std::string& type) {
  const auto variable = context.op().types.find(type);
  return variable == context.op().types.end() ? nullptr : &variable->second;
}

bool report_dtype(const NodeContext& context, std::size_t operand) {
  const std::string& type = context.spec(operand).type;
  const std::vector<DType>* choices = choices_of(context, type);
  auto& error = context.error(fmt::format("{} cannot be operand '{}'", context.describe(operand),
                                          context.spec(operand).name));
  error.note(fmt::format("its dtype must be {}", choices ? dtype_names(*choices) : type));
  error.advise("convert it first");
  return false;
}

// "a fractal::Region", or "a number": what an operand or a value holds.
std::string kind_of_element(const StructType* structure) {
  return structure ? fmt::format("a {}", structure->name) : "a number";
}

bool report_structure(const NodeContext& context, std::size_t operand, const std::string& what,
                      const StructType* found) {
  const StructType* wanted = context.spec(operand).structure;
  auto& error = context.error(fmt::format("{} cannot be operand '{}'", what, context.spec(operand).name));
  error.note(fmt::format("its elements must each be {}, not {}", kind_of_element(wanted), kind_of_element(found)));
  const StructType& structure = wanted ? *wanted : *found;
  error.note(structure.where, "the struct is declared here");
  error.advise(
      fmt::format("only operators that are declared with {} make or take one: nothing converts it", structure.name));
  return false;
}

bool bind_dtype(const NodeContext& context, std::size_t operand, TypeVariables& variables) {
  const StructType* structure = context.type(operand).structure;
  if (structure != context.spec(operand).structure) {
    return report_structure(context, operand, context.describe(operand), structure);
  }
  if (structure) return true;
  const DType dtype = context.type(operand).dtype;
  const std::string& type = context.spec(operand).type;
  const std::vector<DType>* choices = choices_of(context, type);
  if (!choices) return info(dtype).name == type || report_dtype(context, operand);
  const TypeVariables::Variable* bound = variables.find(type);
  if (!bound) {
    if (!contains(*choices, dtype)) return report_dtype(context, operand);
    variables.bound.push_back({type, dtype, operand});
    return true;
  }
  if (bound->dtype == dtype) return true;
  auto& error = context.error(fmt::format("{} and {} must have the same dtype", context.describe(bound->operand),
                                          context.describe(operand)));
  error.advise("convert one of them to the dtype of the other");
  return false;
}

// The dtype of a number that no other operand decides.
DType free_dtype(const NodeContext& context, const std::string& type) {
  const std::vector<DType>* choices = choices_of(context, type);
  if (!choices) return *dtype_from_name(type);
  return contains(*choices, DType::f32) ? DType::f32 : choices->front();
}

// Gives a number in the text the dtype of the other operands; f32 where there are none.
bool type_number(NodeContext& context, std::size_t operand, TypeVariables& variables) {
  if (context.spec(operand).structure) return report_structure(context, operand, "a number", nullptr);
  const std::string& type = context.spec(operand).type;
  const TypeVariables::Variable* bound = variables.find(type);
  const DType dtype = bound ? bound->dtype : free_dtype(context, type);
  Value& value = context.graph.value(context.node.inputs[operand]);
  const ConstantData& data = context.graph.constants[value.index];
  ensure(data.values.size() == 1, "a number is one element");
  if (const auto problem = number_problem(data.values[0], dtype)) {
    auto& error = context.diagnostics.error(value.where.known() ? value.where : context.node.where, *problem);
    if (bound) error.note(fmt::format("it takes the dtype of {}", context.describe(bound->operand)));
    return false;
  }
  value.type = TensorType{dtype, {}};
  return bind_dtype(context, operand, variables);
}

bool bind_dtypes(NodeContext& context, TypeVariables& variables) {
  const std::size_t count = context.node.inputs.size();
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if (!context.has_operand(i)) continue;
    if (is_untyped_number(context, i)) {
      numbers.push_back(i);
    } else if (!bind_dtype(context, i, variables)) {
      return false;
    }
  }
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](std::size_t operand) { return type_number(context, operand, variables); });
}

std::optional<DType> result_dtype(const NodeContext& context, const ResultSpec& result,
                                  const TypeVariables& variables) {
  if (result.structure) return DType::u8;  // says nothing
  if (result.type.starts_with('$')) {
    return std::get<DType>(*find_attribute(context.node.attributes, std::string_view(result.type).substr(1)));
  }
  if (const auto fixed = dtype_from_name(result.type)) return fixed;
  if (const TypeVariables::Variable* bound = variables.find(result.type)) return bound->dtype;
  context.error(fmt::format("the dtype of result '{}' cannot be told: no given operand has type {}", result.name,
                            result.type));
  return std::nullopt;
}

// Where callers say a size by a number, which no tensor of theirs bounds: memory of any size must be counted in 63
// bits.
bool validate_extent(const NodeContext& context, const Shape& shape, ValueId result) {
  constexpr double most_elements = 0x1p60;  // as of the tensors that a graph declares
  const auto is_said = [&](const std::string& symbol) {
    return std::ranges::any_of(context.graph.dims,
                               [&](const auto& dim) { return dim.name == symbol && !dim.from.empty(); });
  };
  double elements = 1;
  bool any = false;
  for (const Dim& extent : shape) {
    elements *= std::max(1.0, static_cast<double>(extent.range(context.ranges).high));
    any = any || (!extent.is_constant() && std::ranges::any_of(extent.symbols(), is_said));
  }
  if (!any || elements <= most_elements) return true;
  const std::string& name = context.graph.value(result).name;
  context.error(fmt::format("'{}' ({}) may have more than 2^60 elements", name, to_text(shape)))
      .advise("give its dims smaller ranges");
  return false;
}

// ---- kinds ----------------------------------------------------------------------------------------------------------

// Sets node.kind, and gives the shape of each result.
std::optional<std::vector<Shape>> resolve_kind(NodeContext& context) {
  std::optional<Shape> common;  // the shape that every result has
  switch (context.op().kind) {
    case OpKind::elementwise: return resolve_elementwise(context);
    case OpKind::structured: context.node.kind = Structured{}; return result_shapes(context);
    case OpKind::opaque: context.node.kind = Opaque{}; return result_shapes(context);
    case OpKind::composite: context.node.kind = Composite{}; return result_shapes(context);
    case OpKind::reduction: common = resolve_reduction(context); break;
    case OpKind::view: common = resolve_view(context); break;
  }
  if (!common) return std::nullopt;
  return std::vector<Shape>(context.node.outputs.size(), *common);
}

}  // namespace

std::string describe(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  const bool is_number = value.kind == ValueKind::constant && graph.constants[value.index].values.size() == 1;
  const std::string number = is_number ? fmt::format(" = {}", graph.constants[value.index].values[0]) : "";
  return fmt::format("'{}' ({}{})", value.name, to_text(*value.type), number);
}

bool infer_node(Graph& graph, Node& node, const DimRanges& ranges, Diagnostics& diagnostics) {
  ensure(node.op && node.outputs.size() == node.op->results.size(), "load refuses a node of no operator");
  NodeContext context{graph, node, ranges, diagnostics, {}};
  TypeVariables variables;
  if (!bind_dtypes(context, variables) || !bind_patterns(context) || !complete_attributes(context)) return false;
  if (!validate_conditions(context) || !bind_sizes(context)) return false;
  auto shapes = resolve_kind(context);
  if (!shapes) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const auto dtype = result_dtype(context, context.op().results[i], variables);
    if (!dtype) return false;
    if (has_too_many_products((*shapes)[i])) {
      context.error(fmt::format("the size of '{}' would be a sum of more than {} products",
                                graph.value(node.outputs[i]).name, most_products));
      return false;
    }
    if (!validate_extent(context, (*shapes)[i], node.outputs[i])) return false;
    const StructType* structure = context.op().results[i].structure;
    graph.value(node.outputs[i]).type = TensorType{*dtype, std::move((*shapes)[i]), structure};
  }
  return true;
}

}  // namespace kgen
