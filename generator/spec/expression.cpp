#include "generator/spec/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "generator/base/characters.hpp"
#include "generator/base/diagnostics.hpp"
#include "generator/base/ensure.hpp"

namespace kgen {
namespace {

using Operation = Expression::Operation;
using Step = Expression::Step;

struct Binary {
  std::string_view text;
  Operation operation;
  int precedence;
};
// Those of two characters stand first, so that "<=" is not read as "<".
constexpr std::array<Binary, 12> binaries = {{
    {"||", Operation::logical_or, 1},
    {"&&", Operation::logical_and, 2},
    {"==", Operation::equal, 3},
    {"!=", Operation::not_equal, 3},
    {"<=", Operation::less_equal, 4},
    {">=", Operation::greater_equal, 4},
    {"<", Operation::less, 4},
    {">", Operation::greater, 4},
    {"+", Operation::add, 5},
    {"-", Operation::subtract, 5},
    {"*", Operation::multiply, 6},
    {"/", Operation::divide, 6},
}};

// Functions of one number and of two, each list in the order of Operation.
struct UnaryFunction {
  std::string_view name;
  Operation operation;
  double (*apply)(double x);
};
constexpr std::array<UnaryFunction, 26> unary_functions = {{
    {"abs", Operation::abs, [](double x) { return std::abs(x); }},
    {"sqrt", Operation::sqrt, [](double x) { return std::sqrt(x); }},
    {"exp", Operation::exp, [](double x) { return std::exp(x); }},
    {"exp2", Operation::exp2, [](double x) { return std::exp2(x); }},
    {"expm1", Operation::expm1, [](double x) { return std::expm1(x); }},
    {"log", Operation::log, [](double x) { return std::log(x); }},
    {"log2", Operation::log2, [](double x) { return std::log2(x); }},
    {"log10", Operation::log10, [](double x) { return std::log10(x); }},
    {"log1p", Operation::log1p, [](double x) { return std::log1p(x); }},
    {"sin", Operation::sin, [](double x) { return std::sin(x); }},
    {"cos", Operation::cos, [](double x) { return std::cos(x); }},
    {"tan", Operation::tan, [](double x) { return std::tan(x); }},
    {"asin", Operation::asin, [](double x) { return std::asin(x); }},
    {"acos", Operation::acos, [](double x) { return std::acos(x); }},
    {"atan", Operation::atan, [](double x) { return std::atan(x); }},
    {"sinh", Operation::sinh, [](double x) { return std::sinh(x); }},
    {"cosh", Operation::cosh, [](double x) { return std::cosh(x); }},
    {"tanh", Operation::tanh, [](double x) { return std::tanh(x); }},
    {"asinh", Operation::asinh, [](double x) { return std::asinh(x); }},
    {"acosh", Operation::acosh, [](double x) { return std::acosh(x); }},
    {"atanh", Operation::atanh, [](double x) { return std::atanh(x); }},
    {"erf", Operation::erf, [](double x) { return std::erf(x); }},
    {"floor", Operation::floor, [](double x) { return std::floor(x); }},
    {"ceil", Operation::ceil, [](double x) { return std::ceil(x); }},
    {"round", Operation::round, [](double x) { return std::nearbyint(x); }},
    {"trunc", Operation::trunc, [](double x) { return std::trunc(x); }},
}};

double nan_or(double a, double b, double otherwise) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : otherwise;
}
struct BinaryFunction {
  std::string_view name;
  Operation operation;
  double (*apply)(double a, double b);
};
constexpr std::array<BinaryFunction, 5> binary_functions = {{
    {"min", Operation::min, [](double a, double b) { return nan_or(a, b, std::min(a, b)); }},
    {"max", Operation::max, [](double a, double b) { return nan_or(a, b, std::max(a, b)); }},
    {"pow", Operation::pow, [](double a, double b) { return std::pow(a, b); }},
    {"fmod", Operation::fmod, [](double a, double b) { return std::fmod(a, b); }},
    {"atan2", Operation::atan2, [](double a, double b) { return std::atan2(a, b); }},
}};

// The function of an operation that is one of the list; null where it is none.
template <class Functions>
constexpr auto function_of(const Functions& functions, Operation operation) {
  const auto place = static_cast<std::size_t>(operation) - static_cast<std::size_t>(functions.front().operation);
  return operation >= functions.front().operation && place < functions.size() ? &functions[place] : nullptr;
}
template <class Functions>
constexpr bool in_order(const Functions& functions) {
  return std::all_of(functions.begin(), functions.end(),
                     [&](const auto& each) { return function_of(functions, each.operation) == &each; });
}
static_assert(in_order(unary_functions) && in_order(binary_functions));

struct BuiltIn {
  std::string_view name;
  Operation operation;
};
constexpr auto built_ins = [] {
  std::array<BuiltIn, unary_functions.size() + binary_functions.size()> all{};
  auto next = all.begin();
  for (const auto& each : unary_functions) *next++ = {each.name, each.operation};
  for (const auto& each : binary_functions) *next++ = {each.name, each.operation};
  return all;
}();

constexpr int greatest_nesting = 200;  // of parentheses and unary operators: the parser recurses

double unary(Operation operation, double x) {
  if (const UnaryFunction* function = function_of(unary_functions, operation)) return function->apply(x);
  switch (operation) {
    case Operation::negate: return -x;
    case Operation::logical_not:
      return x == 0;
    default: internal_error("not an operation on one operand");
  }
}

double binary(Operation operation, double a, double b) {
  if (const BinaryFunction* function = function_of(binary_functions, operation)) return function->apply(a, b);
  switch (operation) {
    case Operation::add: return a + b;
    case Operation::subtract: return a - b;
    case Operation::multiply: return a * b;
    case Operation::divide: return a / b;
    case Operation::equal: return a == b;
    case Operation::not_equal: return a != b;
    case Operation::less: return a < b;
    case Operation::less_equal: return a <= b;
    case Operation::greater: return a > b;
    case Operation::greater_equal: return a >= b;
    case Operation::logical_and: return a != 0 && b != 0;
    case Operation::logical_or:
      return a != 0 || b != 0;
    default: internal_error("not an operation on two operands");
  }
}

// ---- parsing --------------------------------------------------------------------------------------------------------

std::uint32_t index_in(std::vector<std::string>& list, std::string_view name) {
  const auto index = static_cast<std::uint32_t>(std::find(list.begin(), list.end(), name) - list.begin());
  if (index == list.size()) list.emplace_back(name);
  return index;
}

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Recursive descent that emits steps in postfix order. Each parse_ function is false once an error was noted.
class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string_view> functions) : text_(text), functions_(functions) {}

  std::optional<Expression> parse(std::string* error) {
    bool parsed = parse_choice();
    skip_space();
    if (parsed && at_ < text_.size()) parsed = fail(fmt::format("unexpected '{}'", text_.substr(at_, 1)));
    expression_.text = text_;
    if (parsed) return std::move(expression_);
    if (error) *error = std::move(error_);
    return std::nullopt;
  }

 private:
  // c ? a : b, from the right.
  bool parse_choice() {
    const Nesting nesting(*this);
    if (nesting_ > greatest_nesting) return fail("the expression is nested too deeply");
    if (!parse_binary(1)) return false;
    if (!take("?")) return true;
    if (!parse_choice()) return false;
    if (!take(":")) return fail("expected ':'");
    if (!parse_choice()) return false;
    emit({.operation = Operation::choose});
    return true;
  }

  // Operators of at least this precedence, from the left.
  bool parse_binary(int precedence) {
    if (!parse_unary()) return false;
    while (const Binary* next = peek_binary()) {
      if (next->precedence < precedence) break;
      at_ += next->text.size();
      if (!parse_binary(next->precedence + 1)) return false;
      emit({.operation = next->operation});
    }
    return true;
  }

  bool parse_unary() {
    const Nesting nesting(*this);
    if (nesting_ > greatest_nesting) return fail("the expression is nested too deeply");
    skip_space();
    const Operation operation = take("-") ? Operation::negate : take("!") ? Operation::logical_not : Operation::number;
    if (operation == Operation::number) return parse_primary();
    if (!parse_unary()) return false;
    emit({.operation = operation});
    return true;
  }

  bool parse_primary() {
    if (take("(")) {
      if (!parse_choice()) return false;
      return take(")") || fail("expected ')'");
    }
    if (at_ == text_.size()) return fail("expected a number, a name or '('");
    if (is_digit(text_[at_]) || text_[at_] == '.') return parse_number();
    if (!starts_name(text_[at_])) return fail(fmt::format("unexpected '{}'", text_.substr(at_, 1)));

    const std::size_t start = at_;
    const std::string_view name = take_name();
    if (take("(")) return parse_call(name, start);
    if (take("[")) return parse_item(name, start);
    if (name == "inf" || name == "nan") {
      const bool infinite = name == "inf";
      emit({.number = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN()});
    } else {
      emit({.operation = Operation::variable, .index = index_in(expression_.variables, name)});
    }
    return true;
  }

  bool parse_number() {
    const char* const begin = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    double number = 0;
    const auto [end, status] = std::from_chars(begin, last, number);
    if (status != std::errc{}) return fail("not a number");
    std::uint64_t whole = 0;
    const auto [end_of_whole, whole_status] = std::from_chars(begin, last, whole);
    const bool is_whole = whole_status == std::errc{} && end_of_whole == end;
    at_ = static_cast<std::size_t>(end - text_.data());
    emit({.number = is_whole ? Number(whole) : Number(number)});
    return true;
  }

  // After the opening parenthesis; `start` is where the name stands.
  bool parse_call(std::string_view name, std::size_t start) {
    const auto is_named = [&](const BuiltIn& each) { return each.name == name; };
    const auto built_in = std::find_if(built_ins.begin(), built_ins.end(), is_named);
    const bool supplied = std::find(functions_.begin(), functions_.end(), name) != functions_.end();
    if (built_in == built_ins.end() && !supplied) return fail_unknown_function(name, start);

    std::uint32_t count = 0;
    if (!take(")")) {
      do {
        if (supplied && take_bare_argument()) {
          ++count;
          continue;
        }
        if (!parse_choice()) return false;
        ++count;
      } while (take(","));
      if (!take(")")) return fail("expected ',' or ')'");
    }
    if (supplied) {
      emit({.operation = Operation::call, .index = index_in(expression_.names, name), .count = count});
      return true;
    }
    const std::size_t takes = operand_count({.operation = built_in->operation});
    if (count != takes) {
      return fail(start, fmt::format("{}() takes {} argument{}, not {}", name, takes, takes == 1 ? "" : "s", count));
    }
    emit({.operation = built_in->operation});
    return true;
  }

  // After the opening bracket: name[index].
  bool parse_item(std::string_view name, std::size_t start) {
    constexpr std::string_view item = "item";
    if (std::find(functions_.begin(), functions_.end(), item) == functions_.end()) {
      return fail(start, fmt::format("'{}' is no list here", name));
    }
    emit({.operation = Operation::name, .index = index_in(expression_.names, name)});
    if (!parse_choice()) return false;
    emit({.operation = Operation::call, .index = index_in(expression_.names, item), .count = 2});
    return take("]") || fail("expected ']'");
  }

  // A name that is a whole argument.
  bool take_bare_argument() {
    skip_space();
    const std::size_t start = at_;
    const std::string_view name = take_name();
    skip_space();
    if (!name.empty() && at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ')')) {
      emit({.operation = Operation::name, .index = index_in(expression_.names, name)});
      return true;
    }
    at_ = start;
    return false;
  }

  // Appends a step. A minus before a number becomes part of it.
  void emit(Step step) {
    std::vector<Step>& steps = expression_.steps;
    if (step.operation == Operation::negate && steps.back().operation == Operation::number) {
      steps.back().number = -steps.back().number;
      return;
    }
    stack_ = stack_ + 1 - operand_count(step);
    expression_.depth = std::max(expression_.depth, stack_);
    steps.push_back(step);
  }

  const Binary* peek_binary() {
    skip_space();
    const auto found = std::find_if(binaries.begin(), binaries.end(),
                                    [&](const Binary& each) { return text_.substr(at_).starts_with(each.text); });
    return found == binaries.end() ? nullptr : &*found;
  }

  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  std::string_view take_name() {
    const std::size_t start = at_;
    if (at_ < text_.size() && starts_name(text_[at_])) {
      while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  bool fail(std::string message) { return fail(at_, std::move(message)); }
  bool fail(std::size_t at, const std::string& message) {
    error_ = fmt::format("'{}', column {}: {}", text_, at + 1, message);
    return false;
  }

  bool fail_unknown_function(std::string_view name, std::size_t start) {
    std::vector<std::string> known(functions_.begin(), functions_.end());
    for (const BuiltIn& each : built_ins) known.emplace_back(each.name);
    const std::vector<std::string> near = nearest_names(name, known);
    const std::string hint = near.empty() ? "" : fmt::format(" (near to it: {})", quoted_list(near));
    return fail(start, fmt::format("unknown function '{}'{}", name, hint));
  }

  struct Nesting {
    explicit Nesting(Parser& parser) : parser_(parser) { ++parser_.nesting_; }
    ~Nesting() { --parser_.nesting_; }
    Parser& parser_;
  };

  std::string_view text_;
  std::span<const std::string_view> functions_;
  std::size_t at_ = 0;
  std::size_t stack_ = 0;
  int nesting_ = 0;
  Expression expression_;
  std::string error_;
};

}  // namespace

std::optional<Expression> parse_expression(std::string_view text, std::string* error,
                                           std::span<const std::string_view> functions) {
  return Parser(text, functions).parse(error);
}

std::size_t operand_count(const Step& step) {
  switch (step.operation) {
    case Operation::number:
    case Operation::variable:
    case Operation::name:
      return 0;
    case Operation::call:
      return step.count;
    case Operation::choose:
      return 3;
    case Operation::negate:
    case Operation::logical_not:
      return 1;
    default:
      return function_of(unary_functions, step.operation) ? 1 : 2;
  }
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

namespace {

// The parts of a text between "&&" that stand in no brackets, without the parentheses around one.
std::vector<std::string_view> texts_of_conjuncts(std::string_view text) {
  std::vector<std::string_view> parts;
  const auto add = [&](std::string_view part) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    part = part.substr(0, part.find_last_not_of(' ') + 1);
    const auto closing = part.find(')');
    if (part.starts_with('(') && closing + 1 == part.size() && part.rfind('(') == 0) part = part.substr(1, closing - 1);
    parts.push_back(part);
  };
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
    if (depth > 0 || !text.substr(i).starts_with("&&")) continue;
    add(text.substr(begin, i - begin));
    begin = i + 2;
  }
  add(text.substr(begin));
  return parts;
}

}  // namespace

std::vector<Expression> conjuncts(const Expression& expression) {
  std::vector<Expression> parts;
  std::span<const Step> rest = expression.steps;
  const auto add = [&](std::span<const Step> steps) {
    Expression part = expression;
    part.steps.assign(steps.begin(), steps.end());
    part.variables.clear();  // those that it reads
    for (Step& step : part.steps) {
      if (step.operation != Operation::variable) continue;
      const std::string& name = expression.variables[step.index];
      const auto known = std::find(part.variables.begin(), part.variables.end(), name);
      step.index = static_cast<std::uint32_t>(known - part.variables.begin());
      if (known == part.variables.end()) part.variables.push_back(name);
    }
    parts.push_back(std::move(part));
  };
  while (!rest.empty() && rest.back().operation == Operation::logical_and) {
    rest = rest.first(rest.size() - 1);
    std::size_t begin = rest.size();  // of what stands behind the last "&&"
    for (std::size_t missing = 1; missing > 0; --missing) missing += operand_count(rest[--begin]);
    add(rest.subspan(begin));
    rest = rest.first(begin);
  }
  add(rest);
  std::reverse(parts.begin(), parts.end());
  const std::vector<std::string_view> texts = texts_of_conjuncts(expression.text);
  if (texts.size() != parts.size()) return {expression};
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].text = texts[i];
  return parts;
}

double evaluate(const Expression& expression, std::span<const double> values) {
  ensure(values.size() == expression.variables.size(), "every variable of an expression has a value");
  const auto apply = [&](const Step& step, std::span<const double> operands) -> std::optional<double> {
    switch (step.operation) {
      case Operation::number:
        return step.number.real();
      case Operation::variable:
        return values[step.index];
      case Operation::choose:
        return operands[0] != 0 ? operands[1] : operands[2];
      default:
        return operands.size() == 1 ? unary(step.operation, operands[0])
                                    : binary(step.operation, operands[0], operands[1]);
    }
  };
  return *run<double>(expression, apply);
}

double evaluate(const Expression& expression, const std::function<double(std::string_view)>& variable) {
  std::vector<double> values;
  for (const std::string& name : expression.variables) values.push_back(variable(name));
  return evaluate(expression, values);
}

}  // namespace kgen
