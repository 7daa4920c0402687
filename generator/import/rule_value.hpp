// The values of expressions in rules of import: sizes, numbers, words, dtypes, tensors, and lists of them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "generator/import/content.hpp"
#include "generator/model/import_rule.hpp"

namespace kgen {

struct RuleValue;
using RuleList = std::vector<RuleValue>;

// std::monostate: an input or an attribute that is not given.
struct RuleValue {
  std::variant<std::monostate, Dim, double, std::string, DType, ImportedValue, std::shared_ptr<const RuleList>> value;

  static RuleValue list(RuleList items) { return {std::make_shared<const RuleList>(std::move(items))}; }
  bool is_given() const { return !std::holds_alternative<std::monostate>(value); }
  const RuleList* as_list() const;
  const ImportedValue* as_operand() const { return std::get_if<ImportedValue>(&value); }
  std::optional<Dim> as_dim() const;
  std::optional<std::int64_t> as_integer() const;
  std::optional<ContentElement> as_element() const;  // a number
};

using RuleBindings = std::map<std::string, RuleValue, std::less<>>;

// The content as a list, or as a number where it is a scalar.
RuleValue value_of(const Content& content);

// The value of an expression. Nothing where it has none: a name or an item that is not there, arithmetic that sizes
// cannot say. A word that names nothing is itself, or a dtype.
std::optional<RuleValue> evaluate(const Expression& expression, const RuleBindings& bindings, const DimRanges& ranges);

// The same of an argument: a list's items that are lists are spliced into it.
std::optional<RuleValue> evaluate(const ImportArgument& argument, const RuleBindings& bindings,
                                  const DimRanges& ranges);

// Whether a condition holds; nothing where that is not known.
std::optional<bool> truth_of(const RuleValue& value, const DimRanges& ranges);

}  // namespace kgen
