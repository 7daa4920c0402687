// Files that cannot be read as YAML, each beside what is printed about it.
#include <doctest/doctest.h>

#include <string>

#include "generator/load/yaml.hpp"

namespace kgen {
namespace {

std::string yaml_messages(std::string_view text) {
  const SourceText source{"file.yaml", std::string(text)};
  Diagnostics diagnostics;
  parse_yaml(source, diagnostics);
  return diagnostics.text(false);
}

}  // namespace

TEST_CASE("load, bad: empty") {
  CHECK_EQ(yaml_messages(R"yaml()yaml"), R"text(file.yaml: error: the file is empty
)text");
}

TEST_CASE("load, bad: only a comment") {
  CHECK_EQ(yaml_messages(R"yaml(# nothing here
)yaml"),
           R"text(file.yaml: error: the file is empty
)text");
}

TEST_CASE("load, bad: not closed") {
  CHECK_EQ(yaml_messages(R"yaml(nodes:
  - {op: relu, in: [x, out: y}
)yaml"),
           R"text(file.yaml:2:30: error: not valid YAML: mismatched flow mapping end
    2 |   - {op: relu, in: [x, out: y}
      |                              ^
)text");
}

TEST_CASE("load, bad: never closed") {
  CHECK_EQ(yaml_messages(R"yaml(nodes: [a, b
more: c
)yaml"),
           R"text(file.yaml:3:1: error: not valid YAML: flow sequence without a closing bracket
    3 | 
      | ^
file.yaml:1:8: note: this '[' has no matching ']' so far
    1 | nodes: [a, b
      |        ^
)text");
}

TEST_CASE("load, bad: quote not closed") {
  CHECK_EQ(yaml_messages(R"yaml(a: "text
b: 1
)yaml"),
           R"text(file.yaml:1:4: error: not valid YAML: wrongly indented double-quoted scalar
    1 | a: "text
      |    ^
)text");
}

TEST_CASE("load, bad: tabs") {
  CHECK_EQ(yaml_messages(R"yaml(a:
	b: 1
)yaml"),
           R"text(file.yaml:2:1: error: not valid YAML: tab character may not be used as indentation
    2 |   b: 1
      | ^
help: indent with spaces: in YAML a tab does not
)text");
  CHECK_EQ(yaml_messages("a:\tb: 1\n"),
           R"text(file.yaml:1:5: error: not valid YAML: invalid nested block mapping on the same line
    1 | a:  b: 1
      |      ^
help: quote a text that holds ': '; put keys within a key on lines below it, or in braces: dims: {M: 1..8}
)text");
  CHECK_EQ(yaml_messages("a:\t1\nb\t: {c:\t2}\n"), "");
}

TEST_CASE("load, bad: bad escape") {
  CHECK_EQ(yaml_messages(R"yaml(a: "\q"
)yaml"),
           R"text(file.yaml:1:5: error: not valid YAML: invalid escape 'q' in double-quoted string
    1 | a: "\q"
      |     ^
)text");
}

TEST_CASE("load, bad: anchor") {
  CHECK_EQ(yaml_messages(R"yaml(a: &x [1]
)yaml"),
           R"text(file.yaml:1:5: error: YAML anchors are not supported
    1 | a: &x [1]
      |     ^
help: remove the '&' and the name after it
)text");
}

TEST_CASE("load, bad: alias") {
  CHECK_EQ(yaml_messages(R"yaml(a: [1]
b: *a
)yaml"),
           R"text(file.yaml:2:5: error: YAML aliases are not supported
    2 | b: *a
      |     ^
help: write the value out, or quote the text
)text");
}

TEST_CASE("load, bad: tag") {
  CHECK_EQ(yaml_messages(R"yaml(a: !!int 3
)yaml"),
           R"text(file.yaml:1:4: error: YAML tags are not supported
    1 | a: !!int 3
      |    ^
help: remove the '!' and the name after it
)text");
}

TEST_CASE("load, bad: documents") {
  CHECK_EQ(yaml_messages(R"yaml(a: 1
---
b: 2
)yaml"),
           R"text(file.yaml:2:1: error: the file holds more than one YAML document
    2 | ---
      | ^
help: put each into a file of its own
)text");
}

TEST_CASE("load, bad: directive") {
  CHECK_EQ(yaml_messages(R"yaml(%YAML 3.0
---
a: 1
)yaml"),
           R"text(file.yaml:1:1: error: YAML directives are not supported
    1 | %YAML 3.0
      | ^
help: remove the line
)text");
}

TEST_CASE("load, bad: key is a list") {
  CHECK_EQ(yaml_messages(R"yaml(? [a, b]
: 1
)yaml"),
           R"text(file.yaml:1:3: error: a key must be one word, not a list or a mapping
    1 | ? [a, b]
      |   ^
help: if this is text that holds '[' or '{', quote it
)text");
}

TEST_CASE("load, bad: bad indentation") {
  CHECK_EQ(yaml_messages(R"yaml(a: 1
 b: 2
)yaml"),
           R"text(file.yaml:1:4: error: not valid YAML: invalid multiline plain key
    1 | a: 1
      |    ^
)text");
}

TEST_CASE("load, bad: colon in plain") {
  CHECK_EQ(yaml_messages(R"yaml(doc: one: two
)yaml"),
           R"text(file.yaml:1:9: error: not valid YAML: invalid nested block mapping on the same line
    1 | doc: one: two
      |         ^
help: quote a text that holds ': '; put keys within a key on lines below it, or in braces: dims: {M: 1..8}
)text");
}

TEST_CASE("load, bad: duplicate keys in larger") {
  CHECK_EQ(
      yaml_messages(
          R"yaml({k0: 0, k1: 0, k2: 0, k3: 0, k4: 0, k5: 0, k6: 0, k7: 0, k8: 0, k9: 0, k10: 0, k11: 0, k12: 0, k13: 0, k14: 0, k15: 0,
 k16: 0, k17: 0, k3: 1, k17: 1}
)yaml"),
      R"text(file.yaml:2:18: error: duplicate key 'k3'
    2 |  k16: 0, k17: 0, k3: 1, k17: 1}
      |                  ^
file.yaml:1:23: note: it was first written here
    1 | {k0: 0, k1: 0, k2: 0, k3: 0, k4: 0, k5: 0, k6: 0, k7: 0, k8: 0, k9: 0, k10: 0, k11: 0, k12: 0, k13: ...
      |                       ^
help: remove one of the two
file.yaml:2:25: error: duplicate key 'k17'
    2 |  k16: 0, k17: 0, k3: 1, k17: 1}
      |                         ^
file.yaml:2:10: note: it was first written here
    2 |  k16: 0, k17: 0, k3: 1, k17: 1}
      |          ^
help: remove one of the two
)text");
}

TEST_CASE("load, bad: nested") {
  CHECK_EQ(
      yaml_messages(
          R"yaml([[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]
)yaml"),
      R"text(file.yaml:1:65: error: nested more than 64 levels deep
    1 | ...[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]...
      |                                                                ^
)text");
}

TEST_CASE("load, bad: nested and open") {
  CHECK_EQ(
      yaml_messages(
          R"yaml([[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
)yaml"),
      R"text(file.yaml:1:65: error: nested more than 64 levels deep
    1 | ...[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[...
      |                                                                ^
)text");
}

TEST_CASE("load, bad: flow type") {
  CHECK_EQ(yaml_messages(R"yaml({type: f32[B, S], other: x[1}
)yaml"),
           R"text(file.yaml:1:29: error: not valid YAML: mismatched flow mapping end
    1 | {type: f32[B, S], other: x[1}
      |                             ^
)text");
}

}  // namespace kgen
