#include "generator/base/writer.hpp"

#include <doctest/doctest.h>

TEST_CASE("writer: scopes indent, and close themselves") {
  kgen::Writer writer;
  writer.line("namespace {} {{", "graph");
  {
    const auto outer = writer.block("void run() {");
    writer.line("call({});", 1);
    writer.line();
    {
      const auto inner = writer.block("struct view {", "};");
      writer.raw_line("{braces} mean nothing {}");
    }
    writer.line("{}", "");
  }
  writer.line("}}");
  CHECK(writer.text() ==
        "namespace graph {\n"
        "void run() {\n"
        "  call(1);\n"
        "\n"
        "  struct view {\n"
        "    {braces} mean nothing {}\n"
        "  };\n"
        "\n"
        "}\n"
        "}\n");
}

TEST_CASE("writer: the width of an indent is the user's") {
  kgen::Writer writer(4);
  {
    const auto block = writer.block("nodes:", "");
    writer.line("- {}", "a");
  }
  CHECK(writer.take() == "nodes:\n    - a\n\n");
}
