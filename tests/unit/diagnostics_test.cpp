#include "generator/base/diagnostics.hpp"

#include <doctest/doctest.h>

#include <string>

using kgen::Diagnostics;
using kgen::SourceLocation;
using kgen::SourceText;

namespace {

// What one error at line 1 of `line` prints under its first line.
std::string excerpt(const std::string& line, std::uint32_t column) {
  const SourceText text{"g.yaml", line};
  Diagnostics diagnostics;
  diagnostics.error({&text, 1, column}, "bad");
  const std::string printed = diagnostics.text(false);
  return printed.substr(printed.find('\n') + 1);
}

}  // namespace

TEST_CASE("diagnostics: where, what, what was available, what to do") {
  const SourceText text{"graphs/g.yaml", "graph: g\nnodes:\n  - {op: mtmul, in: [A, B], out: C}\n"};
  Diagnostics diagnostics;
  CHECK_FALSE(diagnostics.has_errors());
  diagnostics.error({&text, 3, 10}, "unknown operator 'mtmul'")
      .note("the nearest names are 'matmul' and 'mul'")
      .note({&text, 1, 8}, "in this graph")
      .advise("write one of them");
  CHECK(diagnostics.has_errors());
  CHECK(diagnostics.text(false) ==
        "graphs/g.yaml:3:10: error: unknown operator 'mtmul'\n"
        "    3 |   - {op: mtmul, in: [A, B], out: C}\n"
        "      |          ^\n"
        "note: the nearest names are 'matmul' and 'mul'\n"
        "graphs/g.yaml:1:8: note: in this graph\n"
        "    1 | graph: g\n"
        "      |        ^\n"
        "help: write one of them\n");
}

TEST_CASE("diagnostics: a location may be known in part, or not at all") {
  const SourceText text{"g.yaml", "one\r\ntwo\r\n"};
  Diagnostics diagnostics;
  diagnostics.error({}, "no folder");
  diagnostics.error({&text, 0, 0}, "an empty graph");
  diagnostics.warning({&text, 2, 0}, "odd");
  diagnostics.error({&text, 9, 4}, "past the end");
  CHECK(diagnostics.text(false) ==
        "error: no folder\n"
        "g.yaml: error: an empty graph\n"
        "g.yaml:2: warning: odd\n"
        "    2 | two\n"
        "g.yaml:9:4: error: past the end\n"
        "    9 | \n"
        "      | ^\n");
}

TEST_CASE("diagnostics: warnings are not errors") {
  Diagnostics diagnostics;
  diagnostics.warning({}, "unused input 'x'");
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(diagnostics.all().size() == 1);
  CHECK(diagnostics.text(false) == "warning: unused input 'x'\n");
}

TEST_CASE("diagnostics: the caret stands under its column") {
  CHECK(excerpt("abc", 1) == "    1 | abc\n      | ^\n");
  CHECK(excerpt("abc", 3) == "    1 | abc\n      |   ^\n");
  CHECK(excerpt("abc", 4) == "    1 | abc\n      |    ^\n");
  CHECK(excerpt("abc", 400) == "    1 | ...\n      |    ^\n");
  CHECK(excerpt("", 1) == "    1 | \n      | ^\n");
  CHECK(excerpt("\ta\tb", 4) == "    1 |   a  b\n      |      ^\n");
  CHECK(excerpt("größe: x", 8) == "    1 | größe: x\n      |        ^\n");  // columns count characters
}

TEST_CASE("diagnostics: a long line is cut on both sides of the caret") {
  const std::string line = std::string(500, 'a') + "X" + std::string(500, 'b');
  CHECK(excerpt(line, 501) == "    1 | ..." + std::string(60, 'a') + "X" + std::string(39, 'b') + "...\n      | " +
                                  std::string(63, ' ') + "^\n");
  CHECK(excerpt(line, 1) == "    1 | " + std::string(100, 'a') + "...\n      | ^\n");
}

TEST_CASE("diagnostics: what is not text never reaches the terminal") {
  using namespace std::string_literals;
  CHECK(excerpt("a\x1b[31m\0z"s, 7) == "    1 | a\uFFFD[31m\uFFFDz\n      |       ^\n");
  CHECK(excerpt("\xff\xc3(\xc2\x9b", 3) == "    1 | \uFFFD\uFFFD(\uFFFD\n      |   ^\n");
  CHECK(excerpt("\xe2\x82", 1) == "    1 | \uFFFD\uFFFD\n      | ^\n");
  Diagnostics diagnostics;
  diagnostics.error({}, "unknown key '\x1b[2J'\nand more");
  CHECK(diagnostics.text(false) == "error: unknown key '\uFFFD[2J'\nand more\n");
}

TEST_CASE("diagnostics: a message as long as a file is cut") {
  Diagnostics diagnostics;
  diagnostics.error({}, std::string(1000000, 'x'));
  CHECK(diagnostics.text(false).size() < 5000);
  CHECK(diagnostics.text(false).ends_with("xxx...\n"));
}

TEST_CASE("diagnostics: at most twenty of each severity are shown") {
  Diagnostics diagnostics;
  for (int i = 1; i <= 25; ++i) diagnostics.error({}, "error " + std::to_string(i));
  diagnostics.warning({}, "one warning");
  for (int i = 2; i <= 21; ++i) diagnostics.warning({}, "warning " + std::to_string(i));
  const std::string text = diagnostics.text(false);
  CHECK(text.find("error 20\n") != std::string::npos);
  CHECK(text.find("error 21\n") == std::string::npos);
  CHECK(text.find("one warning\n") != std::string::npos);
  CHECK(text.ends_with("1 more warning is not shown\n5 more errors are not shown\n"));
}

TEST_CASE("diagnostics: colour") {
  Diagnostics diagnostics;
  const SourceText text{"g.yaml", "abc"};
  diagnostics.error({&text, 1, 2}, "bad").note("a note");
  const std::string colored = diagnostics.text(true);
  CHECK(colored.find("\x1b[1;31merror:\x1b[0m") != std::string::npos);
  CHECK(colored.find("\x1b[1;32m^\x1b[0m") != std::string::npos);
  CHECK(diagnostics.text(false).find('\x1b') == std::string::npos);
}

TEST_CASE("diagnostics: the nearest names") {
  using Names = std::vector<std::string>;
  const Names ops = {"add", "matmul", "mul", "softmax", "relu", "sum"};
  CHECK(kgen::nearest_names("mtmul", ops) == Names{"matmul", "mul"});
  CHECK(kgen::nearest_names("MatMul", ops) == Names{"matmul"});
  CHECK(kgen::nearest_names("sofmtax", ops) == Names{"softmax"});
  CHECK(kgen::nearest_names("slu", ops).size() <= 3);
  CHECK(kgen::nearest_names("convolution", ops).empty());
  CHECK(kgen::nearest_names("x", {"y", "z"}).empty());
  CHECK(kgen::nearest_names("", ops).empty());
  CHECK(kgen::nearest_names(std::string(100000, 'a'), {std::string(100000, 'a')}).empty());
  CHECK(kgen::nearest_names("aa", {"ab", "ac", "ad", "ae"}, 2) == Names{"ab", "ac"});
}

TEST_CASE("diagnostics: lists of names") {
  CHECK(kgen::quoted_list({}) == "");
  CHECK(kgen::quoted_list({"a"}) == "'a'");
  CHECK(kgen::quoted_list({"a", "b"}) == "'a' and 'b'");
  CHECK(kgen::quoted_list({"a", "b", "c"}) == "'a', 'b' and 'c'");
}

TEST_CASE("source: short names of places") {
  const SourceText text{"specs/graphs/g.yaml", ""};
  CHECK(kgen::file_name(text) == "g.yaml");
  CHECK(kgen::file_name({"g.yaml", ""}) == "g.yaml");
  CHECK(kgen::short_text({&text, 12, 3}) == "g.yaml:12");
  CHECK(kgen::short_text({}) == "");
}
