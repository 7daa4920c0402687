#include "generator/base/languages.hpp"

#include <doctest/doctest.h>

#include <array>

#include "generator/emit/banner.hpp"
#include "generator/emit/cpp_text.hpp"
#include "generator/load/yaml.hpp"

namespace kgen {
namespace {

// Texts that would lead out of a comment, a string or an argument.
const std::vector<std::string> hostile = {
    "a\nexecute_process(COMMAND touch /tmp/x)\n",
    "\"); run(); //",
    "a\\",
    "a\\ b\\",
    "what?\?/",
    "what?\?/ next",
    "*/ int x; /*",
    "// \\\n int x;",
    "${X} $ENV{HOME} $<TARGET_FILE:x> @X@",
    "a;b) c]] ]=]",
    "it's \"so\" `so` $(so) !so",
    "carriage\rreturn\fform\vtab\ttab",
    "\xE2\x80\xAE turned \xE2\x81\xA9",
    "\xC2\x85 next line \xE2\x80\xA8 line \xE2\x80\xA9 paragraph",
    "\xFF\xFE not UTF-8 \xC3",
    std::string("nul\0nul", 7),
    "\xED\xA0\x80 surrogate",
    "",
    " ",
    "#",
    "- {a: b}",
    "caf\xC3\xA9",
};

bool is_one_line(const std::string& text) {
  return text.find_first_of(std::string_view("\n\r\v\f\0", 5)) == text.npos && text.find("\xC2\x85") == text.npos &&
         text.find("\xE2\x80\xA8") == text.npos;
}

// What a C++ compiler reads in a literal.
std::string read_cpp_string(const std::string& literal) {
  REQUIRE(literal.size() >= 2);
  REQUIRE(literal.front() == '"');
  std::string text;
  std::size_t i = 1;
  for (; literal[i] != '"'; ++i) {
    REQUIRE(i + 1 < literal.size());
    if (literal[i] != '\\') {
      text += literal[i];
    } else if (literal[i + 1] >= '0' && literal[i + 1] <= '7') {
      text += static_cast<char>(std::stoi(literal.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      text += literal[++i];
    }
  }
  CHECK(i + 1 == literal.size());
  return text;
}

TEST_CASE("languages: a string of C++ holds the same bytes, on one line, whatever they are") {
  for (const std::string& text : hostile) {
    const std::string literal = cpp_string(text);
    CHECK(is_one_line(literal));
    CHECK(literal.find("?\?") == literal.npos);
    CHECK(read_cpp_string(literal) == text);
  }
  CHECK(cpp_string("a \"b\" \\ caf\xC3\xA9 \n1") == "\"a \\\"b\\\" \\\\ caf\xC3\xA9 \\0121\"");
}

TEST_CASE("languages: a comment ends where its line does, however it is broken") {
  for (const std::string& text : hostile) {
    INFO(text);
    for (const std::string& before : {std::string(), std::string(110, 'x'), std::string(60, 'x') + " "}) {
      Writer writer;
      write_comment(writer, before + text);
      std::string_view lines = writer.text();
      while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        CHECK(line.starts_with("//"));
        CHECK(is_one_line(std::string(line)));
        CHECK_FALSE(line.ends_with('\\'));
        CHECK_FALSE(line.ends_with("?\?/"));
        lines.remove_prefix(line.size() + 1);
      }
    }
  }
  CHECK(comment_text("a\nb \x1b[0m \xE2\x80\xAE \\") == "a\\nb \\x1b[0m \\u202e \\x5c");
  CHECK(comment_text("C:\\x and caf\xC3\xA9") == "C:\\x and caf\xC3\xA9");
}

TEST_CASE("languages: the banner is two lines of comment, whatever the command") {
  for (const std::string& text : hostile) {
    const EmitOptions options{text, "kgen plan"};
    const std::string whole = with_banner(options, "content\n", "#");
    CHECK(whole.ends_with("\n\ncontent\n"));
    CHECK(std::count(whole.begin(), whole.end(), '\n') == 4);
    CHECK(whole.starts_with("# "));
    CHECK(whole[whole.find('\n') + 1] == '#');
  }
}

TEST_CASE("languages: arguments of CMake") {
  CHECK(cmake_argument("stubs/stub_y.cpp") == "stubs/stub_y.cpp");
  CHECK(cmake_argument("") == "\"\"");
  CHECK(cmake_argument("a b;c)d\"e$f\\g\nh@i") == "\"a b\\;c)d\\\"e\\$f\\\\g\\nh\\@i\"");
  CHECK(cmake_target("softmax") == "softmax");
  CHECK(cmake_target("clean") == "graph_clean");
  CHECK(cmake_path("../my_kernels") == "${CMAKE_CURRENT_LIST_DIR}/../my_kernels");
  CHECK(cmake_path("../my (kernels)") == "\"${CMAKE_CURRENT_LIST_DIR}/../my (kernels)\"");
  CHECK(cmake_path("/opt/${X}") == "\"/opt/\\${X}\"");
}

TEST_CASE("languages: a scalar of YAML is read as what was written") {
  Diagnostics diagnostics;
  for (const std::string& text : hostile) {
    for (const std::string& scalar : {yaml_string(text), yaml_name(text)}) {
      INFO(scalar);
      CHECK(is_one_line(scalar));
      const SourceText source{"x.yaml", "- {key: " + scalar + ", next: 1}\n"};
      const auto tree = parse_yaml(source, diagnostics);
      REQUIRE_MESSAGE(tree, diagnostics.text(false));
      const Yaml entry = *tree->root().items().begin();
      REQUIRE(entry.size() == 2);
      std::string expected = text;
      const bool is_utf8 = text.find_first_of("\xFF\xFE") == text.npos && !text.starts_with("\xED\xA0");
      if (is_utf8) CHECK(entry.find("key").text() == expected);
    }
  }
  CHECK(yaml_name("kgen::matmul") == "kgen::matmul");
  CHECK(yaml_name("no") == "\"no\"");
  CHECK(yaml_name("1e5") == "\"1e5\"");
  CHECK(yaml_string("\xFF") == "\"\xEF\xBF\xBD\"");
}

TEST_CASE("languages: paths of make, words of a shell") {
  CHECK(make_path("a b#c:d$e") == "a\\ b\\#c\\:d$$e");
  CHECK_FALSE(is_make_path("a\nb"));
  CHECK(shell_word("my_ops.yaml") == "my_ops.yaml");
  CHECK(shell_word("my ops's.yaml") == "'my ops'\\''s.yaml'");
  CHECK(shell_word("$(reboot)\n'\\") == "$'$(reboot)\\012\\'\\\\'");
  CHECK(shell_word("") == "''");
}

}  // namespace
}  // namespace kgen
