#include "generator/spec/node_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>
#include <variant>

#include "generator/base/ensure.hpp"
#include "generator/spec/streamed_operand.hpp"
#include "generator/spec/widening.hpp"

namespace kgen {
namespace {

using Operation = Expression::Operation;

using Size = std::optional<Dim>;  // nothing: it is not known
// Where operands of one type are read from memory of several, a variable stands for all of them.
using DTypes = std::set<DType>;
// The targets that `target` may be, or that a name stands for: gpu for several. Or architectures or numerics, likewise.
struct Targets {
  enum class Kind { targets, architectures, numerics };
  bool is_asked = false;  // `target` itself, `architecture` or `numerics`
  Kind kind = Kind::targets;
  std::set<std::string_view> names;
};
// What a part of an expression is: a size, a type, a target, a condition, or a name that a function takes.
using Term = std::variant<Size, DTypes, Targets, Proof, std::string_view>;

// The operator, and the node where it is used; without a node every size is unknown, but for ranks perhaps, and the
// target may be.
struct Setting {
  explicit Setting(const NodeScope& scope)
      : op(*scope.node.op),
        at(&scope),
        ranks(&scope),
        target(scope.graph.target),
        architecture(scope.graph.architecture),
        numerics(scope.graph.numerics) {}
  explicit Setting(const OpSpec& spec, std::span<const std::string> names = {}) : op(spec), sizes(names) {}

  const OpSpec& op;
  const NodeScope* at = nullptr;
  const NodeScope* ranks = nullptr;  // whose operands' ranks are known
  std::optional<TargetKind> target;
  std::optional<Architecture> architecture;
  std::optional<Numerics> numerics;
  std::span<const std::string> sizes;  // without a node: names beside those of the patterns
};

// ---- logic ----------------------------------------------------------------------------------------------------------

Proof negation(Proof proof) {
  return proof == Proof::sometimes ? proof : proof == Proof::always ? Proof::never : Proof::always;
}

// `a` <= `b`.
Proof at_most(const Dim& a, const Dim& b, const DimRanges& ranges) {
  if (provably_at_most(a, b, ranges)) return Proof::always;
  return provably_at_most(b + 1, a, ranges) ? Proof::never : Proof::sometimes;
}

Proof equal(const Dim& a, const Dim& b, const DimRanges& ranges) {
  if (a == b) return Proof::always;
  const bool apart = at_most(a, b, ranges) == Proof::never || at_most(b, a, ranges) == Proof::never;
  return apart ? Proof::never : Proof::sometimes;
}

Proof equal(const DTypes& a, const DTypes& b) {
  if (a == b && a.size() == 1) return Proof::always;
  const bool may_be = std::any_of(a.begin(), a.end(), [&](DType each) { return b.contains(each); });
  return may_be ? Proof::sometimes : Proof::never;
}

// `target` beside the name of one, in either order; else nothing.
std::optional<Proof> equal(const Targets& a, const Targets& b) {
  if (a.is_asked == b.is_asked || a.kind != b.kind) return std::nullopt;
  const Targets& now = a.is_asked ? a : b;
  const Targets& named = a.is_asked ? b : a;
  const auto is_named = [&](std::string_view each) { return named.names.contains(each); };
  if (std::all_of(now.names.begin(), now.names.end(), is_named)) return Proof::always;
  return std::any_of(now.names.begin(), now.names.end(), is_named) ? Proof::sometimes : Proof::never;
}

std::optional<Term> joined(Operation operation, const Dim& a, const Dim& b, const DimRanges& ranges) {
  switch (operation) {
    case Operation::add:
      return a + b;
    case Operation::subtract:
      return a - b;
    case Operation::multiply:
      return a * b;
    case Operation::divide:
      return b == 0 ? Size() : Dim::floor_divide(a, b);
    case Operation::less_equal:
      return at_most(a, b, ranges);
    case Operation::greater_equal:
      return at_most(b, a, ranges);
    case Operation::less:
      return at_most(a + 1, b, ranges);
    case Operation::greater:
      return at_most(b + 1, a, ranges);
    case Operation::equal:
      return equal(a, b, ranges);
    case Operation::not_equal:
      return negation(equal(a, b, ranges));
    default:
      return std::nullopt;
  }
}

// The same where either may be unknown, and then the result is.
std::optional<Term> joined(Operation operation, const Size& a, const Size& b, const DimRanges& ranges) {
  auto term = joined(operation, a.value_or(0), b.value_or(0), ranges);
  if (!term || (a && b)) return term;
  return std::holds_alternative<Size>(*term) ? Term(Size()) : Term(Proof::sometimes);
}

// Nothing where the two cannot be joined so.
std::optional<Term> joined(Operation operation, const Term& a, const Term& b, const DimRanges& ranges) {
  if (const auto* x = std::get_if<Size>(&a), *y = std::get_if<Size>(&b); x && y) {
    return joined(operation, *x, *y, ranges);
  }
  if (const auto* x = std::get_if<DTypes>(&a), *y = std::get_if<DTypes>(&b); x && y) {
    if (operation == Operation::equal) return equal(*x, *y);
    return operation == Operation::not_equal ? std::optional<Term>(negation(equal(*x, *y))) : std::nullopt;
  }
  if (const auto* x = std::get_if<Targets>(&a), *y = std::get_if<Targets>(&b); x && y) {
    const auto proof = equal(*x, *y);
    if (!proof || (operation != Operation::equal && operation != Operation::not_equal)) return std::nullopt;
    return operation == Operation::equal ? *proof : negation(*proof);
  }
  if (const auto* x = std::get_if<Proof>(&a), *y = std::get_if<Proof>(&b); x && y) {
    if (operation == Operation::logical_and) return std::min(*x, *y);
    return operation == Operation::logical_or ? std::optional<Term>(std::max(*x, *y)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Term> negated(Operation operation, const Term& a) {
  if (const auto* size = std::get_if<Size>(&a); size && operation == Operation::negate) {
    return *size ? Dim() - **size : Size();
  }
  if (const auto* proof = std::get_if<Proof>(&a); proof && operation == Operation::logical_not) return negation(*proof);
  return std::nullopt;
}

// ---- names ----------------------------------------------------------------------------------------------------------

bool in_patterns(const OpSpec& op, std::string_view name) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const OperandSpec& operand) {
    const auto is_named = [&](const PatternAxis& axis) { return axis.name == name; };
    return operand.pattern && std::any_of(operand.pattern->begin(), operand.pattern->end(), is_named);
  });
}

// The extent that a name in a shape pattern stands for ("D" of "[B, S, H, D]"); nothing where no operand that is given
// has the name in its pattern.
Size pattern_extent(const Graph& graph, const Node& node, std::string_view name) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const OperandSpec& spec = node.op->operands[std::min(i, node.op->operands.size() - 1)];
    if (node.inputs[i] == no_id || !spec.pattern) continue;
    const auto axis = std::find_if(spec.pattern->begin(), spec.pattern->end(),
                                   [&](const PatternAxis& each) { return each.name == name; });
    if (axis == spec.pattern->end()) continue;
    const bool after_ellipsis = std::any_of(spec.pattern->begin(), axis, [](const auto& it) { return it.ellipsis; });
    const Shape& shape = graph.type(node.inputs[i]).shape;
    const auto from_start = static_cast<std::size_t>(axis - spec.pattern->begin());
    const auto from_end = static_cast<std::size_t>(spec.pattern->end() - axis);
    return after_ellipsis ? shape[shape.size() - from_end] : shape[from_start];
  }
  return std::nullopt;
}

// A size that has a name, but for attributes.
Size extent_named(const NodeScope& at, std::string_view name) {
  const Dim* size = at.sizes ? at.sizes(name) : nullptr;
  return size ? *size : pattern_extent(at.graph, at.node, name);
}

std::optional<Term> attribute_named(const Setting& in, const AttributeSpec& spec) {
  const AttributeValue* value = in.at ? find_attribute(in.at->attributes, spec.name) : nullptr;
  switch (spec.type) {
    case AttributeType::boolean:
      return !value ? Proof::sometimes : std::get<bool>(*value) ? Proof::always : Proof::never;
    case AttributeType::integer:
      return value ? Dim(std::get<std::int64_t>(*value)) : Size();
    case AttributeType::dim:
      return value ? std::get<Dim>(*value) : Size();
    case AttributeType::dtype: {
      if (value) return DTypes{std::get<DType>(*value)};
      DTypes all;
      for (const DTypeInfo& each : dtype_table()) all.insert(each.dtype);
      return all;
    }
    default:
      return std::nullopt;
  }
}

// The dtypes of the operands given whose type is that variable.
DTypes dtypes_of_variable(const NodeScope& at, std::string_view variable) {
  DTypes dtypes;
  const auto& operands = at.node.op->operands;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) {
    const OperandSpec& operand = operands[std::min(i, operands.size() - 1)];
    if (operand.type == variable && at.node.inputs[i] != no_id) dtypes.insert(at.graph.type(at.node.inputs[i]).dtype);
  }
  return dtypes.empty() ? DTypes{at.graph.type(at.node.outputs[0]).dtype} : dtypes;
}

// All names of an enumeration, or the one that is known.
template <class Enum>
std::set<std::string_view> names_that_may_be(std::optional<Enum> known) {
  if (known) return {name_of(*known)};
  return {names_of<Enum>.begin(), names_of<Enum>.end()};
}

// Kind: of an enumeration, of which the names from number `first` on may be asked for.
template <class Enum>
std::optional<Term> one_of_names(Targets::Kind kind, std::string_view name, std::ptrdiff_t first = 0) {
  const auto& names = names_of<Enum>;
  if (std::find(names.begin() + first, names.end(), name) == names.end()) return std::nullopt;
  return Targets{false, kind, {name}};
}

// "target", "cpu", "gpu"; "architecture", "sm_90a"; "numerics", "tf32".
std::optional<Term> targets_named(const Setting& in, std::string_view name) {
  using Kind = Targets::Kind;
  if (name == "target") return Targets{true, Kind::targets, names_that_may_be(in.target)};
  if (name == "architecture") return Targets{true, Kind::architectures, names_that_may_be(in.architecture)};
  if (name == "numerics") return Targets{true, Kind::numerics, names_that_may_be(in.numerics)};
  if (name == "gpu") return Targets{false, Kind::targets, {name_of(TargetKind::cuda), name_of(TargetKind::hip)}};
  if (auto target = one_of_names<TargetKind>(Kind::targets, name)) return target;
  if (auto architecture = one_of_names<Architecture>(Kind::architectures, name, 1)) return architecture;
  return one_of_names<Numerics>(Kind::numerics, name);
}

std::optional<Term> term_named(const Setting& in, std::string_view name) {
  if (in.at) {
    if (Size extent = extent_named(*in.at, name)) return extent;
  }
  if (in_patterns(in.op, name) || std::find(in.sizes.begin(), in.sizes.end(), name) != in.sizes.end()) return Size();
  if (const AttributeSpec* spec = in.op.attribute(name)) return attribute_named(in, *spec);
  if (const auto variable = in.op.types.find(std::string(name)); variable != in.op.types.end()) {
    if (in.at) return dtypes_of_variable(*in.at, name);
    return DTypes(variable->second.begin(), variable->second.end());
  }
  if (const auto dtype = dtype_from_name(name)) return DTypes{*dtype};
  return targets_named(in, name);
}

// ---- functions ------------------------------------------------------------------------------------------------------

Term extent_of(const NodeScope& at, ValueId operand, const Size& axis) {
  if (!axis || !axis->is_constant()) return Size();
  if (operand == no_id) return Dim(0);
  const Shape& shape = at.graph.type(operand).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t place = axis->constant() < 0 ? axis->constant() + rank : axis->constant();
  return place >= 0 && place < rank ? shape[static_cast<std::size_t>(place)] : Dim(0);
}

Term rank_of(const NodeScope& at, ValueId operand, const Size&) {
  return Dim(operand == no_id ? 0 : static_cast<std::int64_t>(at.graph.type(operand).shape.size()));
}

Term elements_of(const NodeScope& at, ValueId value, const Size&) {
  if (value == no_id) return Dim(0);
  const auto& type = at.graph.value(value).type;
  return type ? Size(element_count(type->shape)) : Size();
}

Term is_given(const NodeScope&, ValueId operand, const Size&) {
  return operand == no_id ? Proof::never : Proof::always;
}

Term is_constant(const NodeScope& at, ValueId operand, const Size&) {
  return operand != no_id && at.is_constant(operand) ? Proof::always : Proof::never;
}

// What asks about an operand.
struct Function {
  std::string_view name;
  bool takes_axis;  // as its second argument
  bool is_size;     // else it is a condition
  // Of an operand of the node; no_id: it is left out.
  Term (*at)(const NodeScope& scope, ValueId operand, const Size& axis);
};
constexpr std::array<Function, 7> functions = {{
    {"extent", true, true, extent_of},
    {"rank", false, true, rank_of},
    {"elements", false, true, elements_of},
    {"given", false, false, is_given},
    {"constant", false, false, is_constant},
    {"degree", false, true, [](const NodeScope& at, ValueId operand, const Size&) -> Term {
       return Size(Dim(static_cast<std::int64_t>(streamed_degree(at.graph, operand)))); }},
    {"stored_bits", false, true, [](const NodeScope& at, ValueId operand, const Size&) -> Term {
       return Size(Dim(operand == no_id ? 0 : info(at.graph.type(before_widening(at.graph, operand)).dtype).bits)); }},
}};
constexpr std::string_view item = "item";  // list[index]

// What asks about a dtype: that of an operand, of an attribute, or of a type variable.
struct DTypeFunction {
  std::string_view name;
  Size (*of)(DType dtype);
};
Size whole(const Number& number) {
  const auto fits = number.as_signed();
  return fits ? Size(Dim(*fits)) : Size();
}
constexpr std::array<DTypeFunction, 3> dtype_functions = {{
    {"bits", [](DType dtype) { return Size(Dim(info(dtype).bits)); }},
    {"least", [](DType dtype) { return info(dtype).floating ? Size() : whole(integer_range(dtype).low); }},
    {"greatest", [](DType dtype) { return info(dtype).floating ? Size() : whole(integer_range(dtype).high); }},
}};
constexpr auto function_names = [] {
  std::array<std::string_view, functions.size() + dtype_functions.size() + 1> names = {item};
  auto next = names.begin() + 1;
  for (const Function& each : functions) *next++ = each.name;
  for (const DTypeFunction& each : dtype_functions) *next++ = each.name;
  return names;
}();

// Puts the terms of one expression together; where they have no meaning `problem` says why.
struct Evaluation {
  Setting in;
  std::string problem = {};

  std::optional<Term> operator()(const Expression& expression) {
    static const DimRanges none;
    const DimRanges& ranges = in.at ? in.at->ranges : none;
    return run<Term>(expression, [&](const Expression::Step& step, std::span<const Term> terms) {
      return apply(expression, step, terms, ranges);
    });
  }

 private:
  static bool asks_for(const Expression& expression, std::string_view name) {
    return std::find(expression.variables.begin(), expression.variables.end(), name) != expression.variables.end();
  }

  std::nullopt_t fail(std::string why) {
    problem = std::move(why);
    return std::nullopt;
  }

  std::optional<Term> apply(const Expression& expression, const Expression::Step& step, std::span<const Term> terms,
                            const DimRanges& ranges) {
    std::optional<Term> term;
    switch (step.operation) {
      case Operation::number:
        return number(step.number);
      case Operation::variable:
        term = named(expression.variables[step.index]);
        if (!term && asks_for(expression, "target")) {
          problem += "; targets are cpu, cuda and hip, and gpu is any of the latter";
        } else if (!term && asks_for(expression, "architecture")) {
          const auto& known = names_of<Architecture>;
          problem += fmt::format("; architectures are {}", fmt::join(known.begin() + 1, known.end(), ", "));
        } else if (!term && asks_for(expression, "numerics")) {
          problem += fmt::format("; numerics are {}", fmt::join(names_of<Numerics>, ", "));
        }
        return term;
      case Operation::name:
        return std::string_view(expression.names[step.index]);
      case Operation::call:
        return call(expression.names[step.index], terms);
      default:
        if (step.operation == Operation::choose) return chosen(terms);
        if (step.operation == Operation::min || step.operation == Operation::max) {
          return extreme(step.operation, terms, ranges);
        }
        if (step.operation > Operation::choose) return fail("sizes and conditions have no functions of numbers");
        term =
            terms.size() == 1 ? negated(step.operation, terms[0]) : joined(step.operation, terms[0], terms[1], ranges);
    }
    const bool of_target = std::any_of(terms.begin(), terms.end(), [](const Term& each) { return each.index() == 2; });
    if (!term && of_target) {
      return fail(
          asks_for(expression, "architecture") ? "the architecture is asked for by `architecture == sm_90a`, or !="
          : asks_for(expression, "numerics")   ? "the graph's numerics are asked for by `numerics == tf32`, or !="
                                             : "the target is asked for by `target == cpu` (or gpu, cuda, hip), or !=");
    }
    if (!term) return fail("sizes are added, multiplied and compared, types are == or !=, and conditions are joined");
    return term;
  }

  // condition ? size : size. Not known where the condition holds for some values of the symbolic dims alone.
  std::optional<Term> chosen(std::span<const Term> terms) {
    const auto* condition = std::get_if<Proof>(&terms[0]);
    const auto *first = std::get_if<Size>(&terms[1]), *second = std::get_if<Size>(&terms[2]);
    if (!condition || !first || !second) return fail("?: chooses by a condition between two sizes");
    if (*condition == Proof::sometimes) return Size();
    return *condition == Proof::always ? *first : *second;
  }

  // The less or the greater of two sizes.
  std::optional<Term> extreme(Operation operation, std::span<const Term> terms, const DimRanges& ranges) {
    const auto *first = std::get_if<Size>(&terms[0]), *second = std::get_if<Size>(&terms[1]);
    if (!first || !second) return fail("min and max are of two sizes");
    if (!*first || !*second) return Size();
    const Size &a = *first, &b = *second;
    if (provably_at_most(*a, *b, ranges)) return operation == Operation::min ? a : b;
    if (provably_at_most(*b, *a, ranges)) return operation == Operation::min ? b : a;
    return operation == Operation::min ? Dim::minimum(*a, *b) : Dim::maximum(*a, *b);
  }

  std::optional<Term> number(const Number& number) {
    constexpr double greatest = 9007199254740992.0;  // 2^53
    const auto whole = number.as_signed();
    if (whole && std::abs(number.real()) <= greatest) return Dim(*whole);
    return fail(fmt::format("{} is not a whole number", number));
  }

  std::optional<Term> named(std::string_view name) {
    auto term = term_named(in, name);
    return term ? term : fail(fmt::format("'{}' is no size, type or switch of '{}'", name, in.op.name));
  }

  // An axis or an index: a size, or the bare name of one.
  std::optional<Size> index(const Term& term) {
    if (const auto* name = std::get_if<std::string_view>(&term)) {
      const auto found = named(*name);
      return found ? index(*found) : std::nullopt;
    }
    if (const auto* size = std::get_if<Size>(&term)) return *size;
    return fail("an axis or an index is a size");
  }

  std::optional<Term> call(std::string_view name, std::span<const Term> arguments) {
    const auto* first = arguments.empty() ? nullptr : std::get_if<std::string_view>(&arguments[0]);
    if (name == item) {
      if (first && arguments.size() == 2) return list_item(*first, arguments[1]);
      return fail("an item is list[index], of an attribute of type dims");
    }
    const auto of_dtype = std::find_if(dtype_functions.begin(), dtype_functions.end(),
                                       [&](const DTypeFunction& each) { return each.name == name; });
    if (of_dtype != dtype_functions.end()) {
      if (!first || arguments.size() != 1)
        return fail(fmt::format("{} takes an operand, a type, or an attribute of type dtype", name));
      return about_dtype(*of_dtype, *first);
    }
    const auto function =
        std::find_if(functions.begin(), functions.end(), [&](const auto& it) { return it.name == name; });
    if (!first || arguments.size() != (function->takes_axis ? 2 : 1)) {
      return fail(fmt::format("{} takes an operand{}", name, function->takes_axis ? " and an axis" : ""));
    }
    const auto place = [&](const auto& specs) {
      const auto named = [&](const auto& each) { return each.name == *first; };
      return static_cast<std::size_t>(std::find_if(specs.begin(), specs.end(), named) - specs.begin());
    };
    const std::size_t operand = place(in.op.operands), result = place(in.op.results);
    const bool of_result = operand == in.op.operands.size() && function->at == elements_of;
    if (of_result ? result == in.op.results.size() : operand == in.op.operands.size()) {
      return fail(fmt::format("'{}' is no operand of '{}'", *first, in.op.name));
    }
    std::optional<Size> axis = Size();
    if (function->takes_axis) axis = index(arguments[1]);
    if (!axis) return std::nullopt;
    const NodeScope* at = function->at == rank_of ? in.ranks : in.at;
    if (!at) return function->is_size ? Term(Size()) : Term(Proof::sometimes);
    const std::vector<ValueId>& values = of_result ? at->node.outputs : at->node.inputs;
    const std::size_t position = of_result ? result : operand;
    return function->at(*at, position < values.size() ? values[position] : no_id, *axis);
  }

  std::optional<Term> about_dtype(const DTypeFunction& function, std::string_view name) {
    const AttributeSpec* attribute = in.op.attribute(name);
    const bool is_attribute = attribute && attribute->type == AttributeType::dtype;
    const bool is_operand = std::any_of(in.op.operands.begin(), in.op.operands.end(),
                                        [&](const OperandSpec& each) { return each.name == name; });
    if (!is_attribute && !is_operand && !in.op.types.contains(std::string(name))) {
      return fail(fmt::format("'{}' is no operand or type of '{}', and no attribute of type dtype", name, in.op.name));
    }
    const auto dtype = in.at ? dtype_named(*in.at, name) : std::nullopt;
    return dtype ? function.of(*dtype) : Size();
  }

  std::optional<Term> list_item(std::string_view list, const Term& place) {
    const AttributeSpec* spec = in.op.attribute(list);
    if (!spec || spec->type != AttributeType::dims) {
      return fail(fmt::format("'{}' is no attribute of type dims of '{}'", list, in.op.name));
    }
    const auto at = index(place);
    if (!at) return std::nullopt;
    const AttributeValue* value = in.at ? find_attribute(in.at->attributes, list) : nullptr;
    if (!value || !*at || !(*at)->is_constant()) return Size();
    const auto& sizes = std::get<std::vector<Dim>>(*value);
    const std::int64_t which = (*at)->constant();
    return which >= 0 && which < static_cast<std::int64_t>(sizes.size()) ? sizes[static_cast<std::size_t>(which)]
                                                                         : Size();
  }
};

template <class Kind>
std::optional<std::string> problem_as(const Expression& expression, const Setting& in, std::string_view kind) {
  Evaluation evaluation{in};
  const auto term = evaluation(expression);
  if (!term) return evaluation.problem;
  return std::holds_alternative<Kind>(*term) ? std::nullopt : std::optional(fmt::format("it is no {}", kind));
}

bool holds_never(const Setting& setting, const Expression& condition) {
  const auto term = Evaluation{setting}(condition);
  const auto* proof = term ? std::get_if<Proof>(&*term) : nullptr;
  return proof && *proof == Proof::never;
}

}  // namespace

std::span<const std::string_view> node_functions() { return function_names; }

std::optional<DType> dtype_named(const NodeScope& scope, std::string_view name) {
  const AttributeValue* value = find_attribute(scope.attributes, name);
  if (value && std::holds_alternative<DType>(*value)) return std::get<DType>(*value);
  const OpSpec& op = *scope.node.op;
  if (op.types.contains(std::string(name))) {
    const DTypes dtypes = dtypes_of_variable(scope, name);
    return dtypes.size() == 1 ? std::optional(*dtypes.begin()) : std::nullopt;
  }
  for (std::size_t i = 0; i < std::min(op.operands.size(), scope.node.inputs.size()); ++i) {
    const ValueId input = scope.node.inputs[i];
    if (op.operands[i].name == name && input != no_id) return scope.graph.type(input).dtype;
  }
  return std::nullopt;
}

std::optional<Dim> size_named(const NodeScope& scope, std::string_view name) {
  const auto term = term_named(Setting(scope), name);
  const auto* size = term ? std::get_if<Size>(&*term) : nullptr;
  return size ? *size : std::nullopt;
}

std::optional<Dim> size_at(const NodeScope& scope, const Expression& size) {
  const auto term = Evaluation{Setting(scope)}(size);
  const auto* value = term ? std::get_if<Size>(&*term) : nullptr;
  return value ? *value : std::nullopt;
}

Proof prove(const NodeScope& scope, const Expression& condition) {
  const auto term = Evaluation{Setting(scope)}(condition);
  const auto* proof = term ? std::get_if<Proof>(&*term) : nullptr;
  ensure(proof, "load refuses a condition that is none");
  return *proof;
}

bool holds_never(const OpSpec& op, const Expression& condition, TargetKind target,
                 std::optional<Architecture> architecture) {
  Setting setting(op);
  setting.target = target;
  setting.architecture = architecture;
  return holds_never(setting, condition);
}

bool ranks_refuse(const NodeScope& scope, const Expression& condition) {
  Setting setting(*scope.node.op);
  setting.ranks = &scope;
  return holds_never(setting, condition);
}

std::string facts_of(const NodeScope& scope, const Expression& condition) {
  std::string facts;
  for (const std::string& name : condition.variables) {
    if (dtype_from_name(name)) continue;
    const auto term = term_named(Setting(scope), name);
    std::string fact;
    if (const auto* size = term ? std::get_if<Size>(&*term) : nullptr) {
      fact = *size ? (*size)->text() : "not known";
      if (*size && !(*size)->is_constant()) {
        const DimRange range = (*size)->range(scope.ranges);
        fact = fmt::format("{}{}..{}", fact == name ? "" : fact + ", ", range.low, range.high);
      }
    } else if (const auto* dtypes = term ? std::get_if<DTypes>(&*term) : nullptr) {
      for (const DType each : *dtypes) fact += fmt::format("{}{}", fact.empty() ? "" : " and ", info(each).name);
    } else if (const auto* targets = term ? std::get_if<Targets>(&*term) : nullptr) {
      if (!targets->is_asked) continue;
      fact = *targets->names.begin();
    } else if (const auto* flag = term ? std::get_if<Proof>(&*term) : nullptr) {
      fact = *flag == Proof::always ? "true" : "false";
    }
    facts += fmt::format("{}{} is {}", facts.empty() ? "" : "; ", name, fact);
  }
  return facts;
}

std::optional<std::string> size_problem(const Expression& size, const OpSpec& op, std::span<const std::string> sizes) {
  return problem_as<Size>(size, Setting(op, sizes), "size");
}

std::optional<std::string> condition_problem(const Expression& condition, const OpSpec& op) {
  return problem_as<Proof>(condition, Setting(op), "condition");
}

}  // namespace kgen
