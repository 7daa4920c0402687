#include "generator/spec/expression.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace kgen {
namespace {

Expression parsed(std::string_view text) {
  std::string error;
  auto expression = parse_expression(text, &error);
  REQUIRE_MESSAGE(expression, error);
  return *expression;
}

// Variables: x = 3, y = -2, big = 1000.
double value_of(std::string_view text) {
  return evaluate(parsed(text), [](std::string_view name) {
    return name == "x" ? 3.0 : name == "y" ? -2.0 : name == "big" ? 1000.0 : std::nan("");
  });
}

std::string error_of(std::string_view text) {
  std::string error;
  CHECK_FALSE(parse_expression(text, &error));
  return error;
}

TEST_CASE("expressions bind as C's do") {
  CHECK(value_of("1 + 2 * 3") == 7);
  CHECK(value_of("(1 + 2) * 3") == 9);
  CHECK(value_of("10 - 4 - 3") == 3);
  CHECK(value_of("64 / 4 / 2") == 8);
  CHECK(value_of("-x + 1") == -2);
  CHECK(value_of("- -x") == 3);
  CHECK(value_of("-(x + y)") == -1);
  CHECK(value_of("2 - -2") == 4);
  CHECK(value_of("1 + 1 == 2 && 3 < 4") == 1);
  CHECK(value_of("0 && 0 || 1") == 1);
  CHECK(value_of("!x") == 0);
  CHECK(value_of("!x == 0") == 1);
  CHECK(value_of("x < 0 ? 1 : y < 0 ? 2 : 3") == 2);
  CHECK(value_of("x <= 3") == 1);
  CHECK(value_of("x != 3") == 0);
  CHECK(value_of("1.5e3") == 1500);
  CHECK(value_of(".5") == 0.5);
}

TEST_CASE("built-in functions are those of mathematics") {
  CHECK(value_of("1 / sqrt(64)") == 0.125);
  CHECK(value_of("pow(x, 2)") == 9);
  CHECK(value_of("1 / (1 + exp(-x))") == doctest::Approx(0.9525741268224334));
  CHECK(value_of("tanh(x)") == doctest::Approx(0.9950547536867305));
  CHECK(value_of("erf(0.5)") == doctest::Approx(0.5204998778130465));
  CHECK(value_of("log(x)") == doctest::Approx(1.0986122886681098));
  CHECK(value_of("sin(x) * sin(x) + cos(x) * cos(x)") == doctest::Approx(1));
  CHECK(value_of("floor(y / 3)") == -1);
  CHECK(value_of("ceil(x / 2)") == 2);
  CHECK(value_of("abs(y)") == 2);
  CHECK(value_of("trunc(y / 3)") == 0);
  CHECK(value_of("exp2(x)") == 8);
  CHECK(value_of("expm1(1e-20)") == 1e-20);
  CHECK(value_of("log1p(1e-20)") == 1e-20);
  CHECK(value_of("log2(8)") == 3);
  CHECK(value_of("log10(big)") == 3);
  CHECK(value_of("tan(x) - sin(x) / cos(x)") == doctest::Approx(0));
  CHECK(value_of("asin(1) + acos(-1) + atan(1)") == doctest::Approx(1.75 * 3.141592653589793));
  CHECK(value_of("cosh(x) * cosh(x) - sinh(x) * sinh(x)") == doctest::Approx(1));
  CHECK(value_of("asinh(sinh(y))") == doctest::Approx(-2));
  CHECK(value_of("acosh(cosh(x))") == doctest::Approx(3));
  CHECK(value_of("atanh(tanh(0.5))") == doctest::Approx(0.5));
  CHECK(value_of("fmod(-7, 3)") == -1);
  CHECK(value_of("fmod(7, -3)") == 1);
  CHECK(value_of("atan2(-1, -1)") == doctest::Approx(-0.75 * 3.141592653589793));
}

TEST_CASE("round takes halves to the even neighbour") {
  CHECK(value_of("round(0.5)") == 0);
  CHECK(value_of("round(1.5)") == 2);
  CHECK(value_of("round(-2.5)") == -2);
}

TEST_CASE("min and max hand NaN on, whichever side it is on") {
  CHECK(value_of("min(x, y)") == -2);
  CHECK(value_of("max(x, y)") == 3);
  CHECK(std::isnan(value_of("max(nan, 0)")));
  CHECK(std::isnan(value_of("max(0, nan)")));
  CHECK(std::isnan(value_of("min(0, nan)")));
  CHECK(value_of("min(max(big, -inf), 6)") == 6);
  CHECK(value_of("max(-inf, y)") == -2);
  CHECK(value_of("nan == nan") == 0);
}

TEST_CASE("variables are listed once, in the order of their use, and can be given by position") {
  const Expression expression = parsed("b * a + b");
  CHECK(expression.variables == std::vector<std::string>{"b", "a"});
  CHECK(evaluate(expression, std::array{2.0, 5.0}) == 12);
}

TEST_CASE("functions that the caller supplies take bare names; list[index] is one of them") {
  const std::array<std::string_view, 2> functions = {"extent", "item"};
  std::string error;
  const auto expression = parse_expression("extent(x, axis) + extent(x, y + 1) * pads[y]", &error, functions);
  REQUIRE_MESSAGE(expression, error);
  CHECK(expression->variables == std::vector<std::string>{"y"});
  CHECK(expression->names == std::vector<std::string>{"x", "axis", "extent", "pads", "item"});
  CHECK_FALSE(parse_expression("pads[1", &error, functions));
  CHECK(error == "'pads[1', column 7: expected ']'");
  CHECK(error_of("pads[1]") == "'pads[1]', column 1: 'pads' is no list here");
}

TEST_CASE("errors say what is wrong and where") {
  CHECK(error_of("") == "'', column 1: expected a number, a name or '('");
  CHECK(error_of("a +") == "'a +', column 4: expected a number, a name or '('");
  CHECK(error_of("(a + b") == "'(a + b', column 7: expected ')'");
  CHECK(error_of("a b") == "'a b', column 3: unexpected 'b'");
  CHECK(error_of("a $ b") == "'a $ b', column 3: unexpected '$'");
  CHECK(error_of("a ? b") == "'a ? b', column 6: expected ':'");
  CHECK(error_of("max(a)") == "'max(a)', column 1: max() takes 2 arguments, not 1");
  CHECK(error_of("1 + sqtr(a)") == "'1 + sqtr(a)', column 5: unknown function 'sqtr' (near to it: 'sqrt')");
  CHECK(error_of("extent(x, 0)") == "'extent(x, 0)', column 1: unknown function 'extent'");
  CHECK(error_of("max(a, b") == "'max(a, b', column 9: expected ',' or ')'");
  CHECK(error_of(".") == "'.', column 1: not a number");
}

TEST_CASE("what must hold each, in the order in which it is written") {
  const auto texts = [](std::string_view text) {
    std::vector<std::string> parts;
    for (const Expression& each : conjuncts(parsed(text))) parts.push_back(each.text);
    return parts;
  };
  using Texts = std::vector<std::string>;
  CHECK(texts("x == 3 && (y < 0 || big > x) && max(x, y) <= 2*(x + 1)") ==
        Texts{"x == 3", "y < 0 || big > x", "max(x, y) <= 2*(x + 1)"});
  CHECK(texts("x && (y && big)") == Texts{"x", "y && big"});
  CHECK(texts("(x < 1) == (y < 1)") == Texts{"(x < 1) == (y < 1)"});
  CHECK(texts("x && (y) + (big)") == Texts{"x", "(y) + (big)"});
  for (const char* whole : {"x", "x || y && big", "(x && y)", "x && y ? 1 : 2", "!(x && y)"}) {
    CHECK(texts(whole) == Texts{whole});
  }
  const std::vector<Expression> parts = conjuncts(parsed("x > 0 && y*y + x == 7"));
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].variables == std::vector<std::string>{"y", "x"});
  const auto value = [](std::string_view name) { return name == "x" ? 3.0 : -2.0; };
  CHECK(evaluate(parts[0], value) == 1);
  CHECK(evaluate(parts[1], value) == 1);
}

TEST_CASE("nesting has a limit") {
  CHECK(error_of(std::string(100000, '(')).ends_with("the expression is nested too deeply"));
  CHECK(error_of(std::string(100000, '-')).ends_with("the expression is nested too deeply"));
  CHECK(value_of(std::string(50, '(') + "x" + std::string(50, ')')) == 3);
}

}  // namespace
}  // namespace kgen
