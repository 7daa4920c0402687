// The tree of a YAML file, and what files must be like.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "generator/base/source_map.hpp"
#include "generator/load/yaml.hpp"

namespace kgen {
namespace {

struct Parsed {
  explicit Parsed(std::string text) : source{"file.yaml", std::move(text)}, tree(parse_yaml(source, diagnostics)) {
    REQUIRE_EQ(diagnostics.text(false), "");
    REQUIRE(tree);
  }
  Yaml root() const { return tree->root(); }

  SourceText source;
  Diagnostics diagnostics;
  std::optional<YamlTree> tree;
};

std::string place(SourceLocation where) { return std::to_string(where.line) + ":" + std::to_string(where.column); }

std::vector<std::string> keys_of(Yaml mapping) {
  std::vector<std::string> keys;
  for (const Yaml::Entry entry : mapping.entries()) keys.emplace_back(entry.name());
  return keys;
}

std::string messages(std::string text) {
  const SourceText source{"file.yaml", std::move(text)};
  Diagnostics diagnostics;
  CHECK_FALSE(parse_yaml(source, diagnostics));
  return diagnostics.text(false);
}

}  // namespace

TEST_CASE("yaml: mappings, sequences and scalars, each at its place") {
  const Parsed file("a: 1\nlist:\n  - x\n  - {k: v, e: , f}\n  - []\nlast: ~\n");
  CHECK_EQ(keys_of(file.root()), std::vector<std::string>{"a", "list", "last"});
  CHECK_EQ(file.root().size(), 3);
  CHECK_EQ(file.root().find("a").text(), "1");
  CHECK(file.root().find("last").is_empty());
  CHECK_EQ(place(file.root().find("last").where()), "6:7");
  CHECK_FALSE(file.root().find("b"));

  const Yaml list = file.root().find("list");
  REQUIRE_EQ(list.size(), 3);
  std::vector<Yaml> items;
  for (const Yaml item : list.items()) items.push_back(item);
  CHECK_EQ(items[0].text(), "x");
  CHECK_EQ(place(items[0].where()), "3:5");
  CHECK_EQ(keys_of(items[1]), std::vector<std::string>{"k", "e", "f"});
  CHECK(items[1].find("e").is_empty());
  CHECK_EQ(place(items[1].find("e").where()), "4:12");  // that of its key
  CHECK(items[2].is_sequence());
  CHECK_EQ(items[2].size(), 0);
  CHECK_FALSE(items[2].items().begin() != items[2].items().end());
}

TEST_CASE("yaml: texts are the file's own where they stand in one piece") {
  const Parsed file(
      "p: plain text  # comment\ns: 'single'\nd: \"double\"\ne: \"a\\tb\"\nq: 'it''s'\nl: |\n  one\n  two\n"
      "f: folded\n  over lines\n");
  const auto is_own = [&](Yaml value) {
    const char* begin = file.source.content.data();
    return value.text().data() >= begin && value.text().data() < begin + file.source.content.size();
  };
  const Yaml root = file.root();
  CHECK_EQ(root.find("p").text(), "plain text");
  CHECK(is_own(root.find("p")));
  CHECK(root.find("p").is_plain());
  CHECK_EQ(root.find("s").text(), "single");
  CHECK(is_own(root.find("s")));
  CHECK_FALSE(root.find("s").is_plain());
  CHECK_EQ(root.find("d").text(), "double");
  CHECK_EQ(place(root.find("d").at(2)), "3:7");
  CHECK_EQ(root.find("e").text(), "a\tb");
  CHECK_FALSE(is_own(root.find("e")));
  CHECK_EQ(place(root.find("e").at(2)), "4:5");
  CHECK_EQ(root.find("q").text(), "it's");
  CHECK_EQ(root.find("l").text(), "one\ntwo\n");
  CHECK_EQ(root.find("f").text(), "folded over lines");
}

TEST_CASE("yaml: columns count characters") {
  const Parsed file("ü: [größe, x]\n");
  const Yaml list = file.root().find("ü");
  std::vector<Yaml> items;
  for (const Yaml item : list.items()) items.push_back(item);
  CHECK_EQ(place(items[0].where()), "1:5");
  CHECK_EQ(place(items[0].at(6)), "1:9");  // the e, after two characters of two bytes each
  CHECK_EQ(place(items[1].where()), "1:12");
}

TEST_CASE("yaml: types need no quotes, inside braces either") {
  const Parsed file(
      "a: {type: f32[B, 2*(S+1)], list: [i64[], x]}\nb: f32[B, 4]\ndoc: >-\n  about f32[B, 4]\n  or so\n");
  CHECK_EQ(file.root().find("a").find("type").text(), "f32[B, 2*(S+1)]");
  CHECK_EQ(file.root().find("a").find("list").size(), 2);
  CHECK_EQ((*file.root().find("a").find("list").items().begin()).text(), "i64[]");
  CHECK_EQ(file.root().find("b").text(), "f32[B, 4]");
  CHECK_EQ(file.root().find("doc").text(), "about f32[B, 4] or so");
}

TEST_CASE("yaml: line ends and byte order marks of other systems") {
  const Parsed file(
      "\xEF\xBB\xBF"
      "a: b\r\nc: [d, e]\r\n");
  CHECK_EQ(file.root().find("a").text(), "b");
  CHECK_EQ(file.root().find("c").size(), 2);
}

TEST_CASE("yaml: a duplicate key is dropped with its value") {
  const SourceText source{"file.yaml", "a: {b: 1, b: [2, 3], c: 4}\nd: 5\n"};
  Diagnostics diagnostics;
  const auto tree = parse_yaml(source, diagnostics);
  REQUIRE(tree);
  CHECK(diagnostics.has_errors());
  CHECK_EQ(keys_of(tree->root().find("a")), std::vector<std::string>{"b", "c"});
  CHECK_EQ(tree->root().find("a").find("b").text(), "1");
  CHECK_EQ(tree->root().find("d").text(), "5");
}

TEST_CASE("yaml: what is not text") {
  CHECK_EQ(messages(std::string("a: b\nc\0d", 8)),
           "file.yaml:2:2: error: not a text file: byte 0x00 at offset 6 is a control character\n"
           "    2 | c\xEF\xBF\xBD"
           "d\n      |  ^\n");
  CHECK_EQ(messages("a: \xC3\xA4\xE4"),
           "file.yaml:1:5: error: not a text file: byte 0xe4 at offset 5 is not UTF-8\n"
           "    1 | a: \xC3\xA4\xEF\xBF\xBD\n      |     ^\n");
  for (const std::string bad : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
                                "\x80", "\xE2\x82", "\x7F", "\x1B"}) {
    CHECK_MESSAGE(messages("a: " + bad).find("not a text file") != std::string::npos, bad);
  }
}

TEST_CASE("yaml: what is too much") {
  CHECK_EQ(messages(std::string(largest_file + 1, 'a')),
           "file.yaml: error: the file is too large: 256 MB; at most 256 MB can be read\n");
  CHECK_EQ(messages(std::string(100'000, '[')), "file.yaml: error: nested more than 64 levels deep\n");
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += std::string(i, ' ') + "a:\n";
  CHECK(messages(deep).starts_with("file.yaml:65:65: error: nested more than 64 levels deep\n"));
  std::string nested = std::string(64, '[') + std::string(64, ']');
  CHECK_EQ(Parsed(nested).root().size(), 1);
}

}  // namespace kgen
