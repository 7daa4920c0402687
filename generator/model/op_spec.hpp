// What is known of an operator: read from specs/ops/*.yaml. Passes look at these facts and never at an operator's name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "generator/base/source.hpp"
#include "generator/model/contraction_rule.hpp"
#include "generator/model/dim.hpp"
#include "generator/model/dtype.hpp"
#include "generator/model/enum_names.hpp"
#include "generator/model/expression.hpp"
#include "generator/model/kernel_signature.hpp"
#include "generator/model/number.hpp"

namespace kgen {

enum class OpKind { elementwise, view, reduction, structured, opaque, composite };
template <>
inline constexpr auto names_of<OpKind> = std::to_array<std::string_view>({"elementwise", "view", "reduction",
                                                                          "structured", "opaque", "composite"});

// std::vector<Dim> holds axes and shapes alike; -1 in a reshape stands for the extent that makes the counts agree.
using AttributeValue =
    std::variant<bool, std::int64_t, Number, std::string, DType, Dim, std::vector<Dim>, std::vector<Number>>;
enum class AttributeType { boolean, integer, number, text, dtype, dim, dims, numbers };
template <>
inline constexpr auto names_of<AttributeType> = std::to_array<std::string_view>({"boolean", "integer", "number", "text",
                                                                                 "dtype", "dim", "dims", "numbers"});

struct AttributeSpec {
  std::string name;
  AttributeType type = AttributeType::number;
  std::optional<AttributeValue> default_value;
  Expression default_expression;  // instead of a value: "1 / sqrt(D)", over the dims of the shape patterns
  bool required() const { return !default_value && default_expression.empty(); }
  std::vector<std::string> allowed;   // for text: the values it may take; empty: any
  Expression count;  // for dims and numbers: how many it lists, a size ("2 * rank(x)"); empty: any number
  std::optional<std::int64_t> least;  // for integer, dim and dims: what each must at least be
  std::string doc;
  SourceLocation where;
};

// One axis of a shape pattern such as [..., M, K]: a name to bind, a constant, or the ellipsis.
struct PatternAxis {
  bool ellipsis = false;
  std::string name;           // empty for a constant
  std::int64_t constant = 0;
};

struct OperandSpec {
  std::string name;
  std::string type;                                  // a type variable of OpSpec::types, a dtype's or a struct's name
  const StructType* structure = nullptr;             // where `type` names a struct
  std::optional<std::vector<PatternAxis>> pattern;   // absent: any shape
  bool optional = false;                             // may be left out at the end of `in`
  bool variadic = false;                             // one or more tensors; only the last operand
  // Elementwise: the attribute that names an axis, along which the kernel reads this operand wherever it likes; it must
  // be in memory. Empty: it is read at the position that is computed.
  std::string line;
  // An axis of the pattern, counted from the last (-1), along which the kernel wants neighbours in memory.
  std::optional<int> together;
  std::string doc;
  SourceLocation where;
};

struct ResultSpec {
  std::string name;
  std::string type;  // a type variable, a dtype's or a struct's name, or "$name" for the dtype in that attribute
  const StructType* structure = nullptr;            // where `type` names a struct
  std::optional<std::vector<PatternAxis>> pattern;  // names of operands' patterns, named sizes, attributes of type dim
  Expression extents;  // instead of a pattern: the size of each axis i of the first operand ("extent(x, i) + pads[i]")
  // The operand that this is with some elements replaced. Kernels take one memory for both, and write nothing else of it.
  std::optional<std::size_t> updates;
  SourceLocation where;
};

// How a view finds its elements. Each member names the attribute that holds the parameter.
// concat and update are destinations: their operands are to be written straight into a slice of the result.
struct ViewRule {
  enum class Form { permute, reshape, broadcast, slice, select, unsqueeze, squeeze, flip, concat, update };
  Form form = Form::reshape;
  std::map<std::string, std::string> parameters;  // e.g. {"axis": "axis", "begin": "begin"}
};
template <>
inline constexpr auto names_of<ViewRule::Form> = std::to_array<std::string_view>(
    {"permute", "reshape", "broadcast", "slice", "select", "unsqueeze", "squeeze", "flip", "concat", "update"});

// An axis that one operand alone gives to the only result: of that operand joined along it from parts, the result is
// that of the parts, joined. Axes count from the last: -1.
struct JoinedAxis {
  std::size_t operand = 0;
  int operand_axis = -1;
  int result_axis = -1;
};

// An axis of an operand along which a factor on it may be taken out: f(a * s, b) is f(a, b) * s, or f(a, b * s), where
// s has one number for each place along the axis. Axes count from the last: -1.
struct ScaledAxis {
  std::size_t operand = 0;
  int axis = -1;
  bool leading = false;              // and all axes in front of it: those of `...`
  std::optional<std::size_t> other;  // the operand that takes the factor; nothing: the result does
  int other_axis = -1;               // of that operand or of the result
};

// Facts that simplification may use. Operands are named by position.
struct Algebra {
  bool commutative = false;
  bool idempotent = false;                        // f(f(x)) = f(x)
  bool involution = false;                        // f(f(x)) = x
  bool one_element = false;                       // reductions: over a single element f is that element
  bool moves = false;                             // each element of the result is one of the operand's, or 0
  std::map<std::size_t, Number> identity;         // operand -> the constant that leaves the other operand unchanged
  std::vector<JoinedAxis> joins;
  std::vector<ScaledAxis> scales;
  // Of x with its axes in another order the result is the same, in that order, where these attributes have it too: each
  // has an item for each axis, or several lists of such, one behind the other. Absent: that does not hold.
  std::optional<std::vector<std::string>> reorders;
};

// Sizes that the operands must have beyond what patterns say: left <= right or left = right, both expressions over the
// patterns' names and attributes ("H", "H / G * G"). What only the run can tell is checked then.
struct SizeCondition {
  Expression left, right;
  bool equal = false;
  std::string meaning;
};

// A size that follows from the operands' sizes and from attributes, for the shapes of results:
// "(H - KH) / strides[0] + 1".
struct NamedSize {
  std::string name;
  Expression size;
};

// What an expansion gives to an attribute: "$axis", "true", "D / 2", "[0, -1]". A word is its text, which as an
// expression may have no steps; anything else is its items: of a list each, else the one.
struct ExpansionValue {
  std::string text;
  std::vector<Expression> items;
};

// One node of a composite's expansion. Names are operands, results and locals of the composite; "$name" is an
// attribute, which expressions name without the mark.
struct ExpansionNode {
  std::string op;
  std::vector<Expression> inputs;  // a name, "$attribute" or a number
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, ExpansionValue>> attributes;
  SourceLocation where;
};

struct Expansion {
  Expression when;  // holds for every value of the symbolic dims, or another is taken; empty: always
  std::vector<ExpansionNode> nodes;
  // Of spellings: attributes and operands of the operator that are numbers which follow from those in the nodes:
  // {"scale", "1 / divisor"}.
  std::vector<std::pair<std::string, Expression>> numbers;
  std::vector<std::string> shared;  // of spellings: values that something else may read, too
};

// copy: an elementwise identity; cast: an elementwise conversion to the dtype in its attribute `to`. Passes that must
// insert such a node find the operator by its role.
enum class OpRole { none, copy, cast };
template <>
inline constexpr auto names_of<OpRole> = std::to_array<std::string_view>({"none", "copy", "cast"});

struct OpSpec {
  std::string name;
  std::string doc;
  std::string source;  // paper, standard or library page that defines it
  std::vector<std::string> other_names;  // what other libraries call it, or what it does the work of; in lower case
  OpKind kind = OpKind::elementwise;
  OpRole role = OpRole::none;
  std::vector<OperandSpec> operands;
  std::vector<ResultSpec> results;
  std::vector<AttributeSpec> attributes;
  std::vector<SizeCondition> conditions;
  std::vector<NamedSize> sizes;
  std::map<std::string, std::vector<DType>> types;  // type variable -> what it may be
  // The qualified name of its own kernel: what computes it where no other kernel takes it. Empty for views, and for
  // composites that are expanded.
  std::string kernel;
  Expression definition;  // elementwise: over doubles, used to fold constants
  Algebra algebra;
  std::optional<ViewRule> view;
  std::optional<ContractionRule> contraction;  // of a composite: instead of expansions
  std::vector<Expansion> expansions;
  std::vector<Expansion> prepared;   // of one with a kernel: what is better where a part of it is computed at load
  std::vector<Expansion> spellings;  // in which graphs may write it too; nothing is expanded to them
  SourceLocation where;

  const AttributeSpec* attribute(std::string_view attribute_name) const;
};

// Compile-time parameters for the calls of a kernel where `when` holds for every value of the symbolic dims.
struct TuningRule {
  struct Choice {
    std::string parameter;
    std::int64_t value = 0;
    SourceLocation where;
  };
  std::string kernel;
  Expression when;  // empty: always
  std::vector<Choice> choices;
  SourceLocation where;
};

// Every operator, kernel and struct that a plan may use. Their addresses are stable once all are loaded; those of
// structs always.
struct OpSet {
  std::map<std::string, StructType, std::less<>> structs;  // by name
  std::vector<OpSpec> ops;
  std::vector<KernelSignature> kernels;
  std::vector<TuningRule> tuning;  // of those that hold at a node and give a parameter, the last counts
  std::unordered_map<std::string, std::size_t> op_index;
  std::unordered_map<std::string, std::size_t> kernel_index;

  const OpSpec* find(std::string_view name) const;
  const KernelSignature* kernel_of(const OpSpec& op) const;  // its own; null where the operator names none
  // All that implement it, in the order in which they are asked: those loaded beside its own, then its own.
  std::vector<const KernelSignature*> kernels_for(const OpSpec& op) const;
  const OpSpec* with_role(OpRole role) const;
  std::vector<std::string> names() const;
  // The operators that do what other libraries have under that name, in upper or lower case: none is called so here.
  std::vector<std::string> called_elsewhere(std::string_view name) const;
};

}  // namespace kgen
