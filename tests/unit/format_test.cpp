// What is laid out by Clang's formatter, and when kgen does without it.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "generator/base/hash.hpp"
#include "generator/format_emitted.hpp"
#include "tests/unit/write_fixture.hpp"

using namespace kgen;
namespace fs = std::filesystem;

namespace {

const ClangServices& shouting() {
  static const ClangServices services{
      .version = "", .introspect = nullptr, .format = [](std::string_view text, std::string_view) {
        return std::string(text) + "!";
      }};
  return services;
}

const ClangServices* real_clang() {
  Diagnostics none;
  return clang_services("format", none);
}

}  // namespace

TEST_CASE("format: C++ is laid out, other files and long ones stay") {
  const std::string lines(most_formatted_lines + 1, '\n');
  const auto files = format_emitted({{"a.cpp", "a"}, {"b.hpp", "b"}, {"c.cu", "c"}, {"plan.yaml", "d"}, {"long.cpp", lines}}, {},
                                    {}, [] { return &shouting(); });
  REQUIRE(files.size() == 5);
  CHECK(files[0].content == "a!");
  CHECK(files[1].content == "b!");
  CHECK(files[2].content == "c!");
  CHECK(files[3].content == "d");
  CHECK(files[4].content == lines);
  CHECK(files[0].unformatted.has_value());
  CHECK_FALSE(files[3].unformatted.has_value());
}

TEST_CASE("format: what was laid out in the last emission is taken from its record, without Clang") {
  const TemporaryFolder folder;
  int asked = 0;
  const auto clang = [&] {
    ++asked;
    return &shouting();
  };
  const auto first = format_emitted({{"a.cpp", "a"}, {"b.cpp", "b"}}, folder.path(), {}, clang);
  CHECK(asked == 1);
  Manifest manifest;
  for (const SourceFile& file : first) {
    fs::create_directories(folder.path() / bases_name);
    std::ofstream(folder.path() / bases_name / file.path, std::ios::binary) << file.content;
    manifest.files[file.path] = {content_hash(file.content), Standing::emitted, file.unformatted};
  }
  manifest.version = "1.0";
  Diagnostics none;
  manifest = parse_manifest(manifest_text(manifest), "manifest", none);
  CHECK(none.all().empty());
  CHECK(format_emitted({{"a.cpp", "a"}, {"b.cpp", "b"}}, folder.path(), manifest, clang)[1].content == "b!");
  CHECK(asked == 1);
  CHECK(format_emitted({{"a.cpp", "a"}, {"b.cpp", "new"}}, folder.path(), manifest, clang)[1].content == "new!");
  CHECK(asked == 2);
  // A record whose text was damaged is not believed.
  std::ofstream(folder.path() / bases_name / "a.cpp") << "damaged";
  CHECK(format_emitted({{"a.cpp", "a"}}, folder.path(), manifest, clang)[0].content == "a!");
  CHECK(asked == 3);
}

TEST_CASE("format: without Clang files stay as they are") {
  const auto files = format_emitted({{"a.cpp", "int  x;"}}, {}, {}, [] { return nullptr; });
  CHECK(files[0].content == "int  x;");
  CHECK_FALSE(files[0].unformatted.has_value());
}

TEST_CASE("format: Clang's own, with kgen's style") {
  const ClangServices* clang = real_clang();
  if (!clang) {
    MESSAGE("skipped: this kgen has no Clang");
    return;
  }
  const std::string text = clang->format(
      "void f( int  *a ) {\n  g(a); // :9\n  long_name_of_a_function(a);  // :10\n}\n#include \"b.hpp\"\n#include \"a.hpp\"\n",
      "a.cpp");
  CHECK(text ==
        "void f(int* a) {\n  g(a);                        // :9\n  long_name_of_a_function(a);  // :10\n}\n"
        "#include \"b.hpp\"\n#include \"a.hpp\"\n");
  CHECK(clang->format(text, "a.cpp") == text);
  CHECK(clang->format("int f( {", "a.cpp").size() > 0);  // what is no C++ comes back all the same
}
