// The reference of the files that people write (specs/GRAPHS.md, specs/OPERATORS.md, specs/IMPORT.md) and their JSON Schemas: every key that
// kgen reads is in both, and the examples are good.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "generator/explain/schema.hpp"
#include "tests/unit/plan_fixture.hpp"
#include "tests/unit/repository.hpp"

using namespace kgen;

namespace {

constexpr std::array pages = {"specs/GRAPHS.md", "specs/OPERATORS.md", "specs/IMPORT.md"};

// The examples of a page, in order.
std::vector<std::string> examples_in(const std::string& page) {
  static const std::regex block("```yaml\n([^`]*)```");
  std::vector<std::string> found;
  for (std::sregex_iterator it(page.begin(), page.end(), block), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

std::string without_quotes(const std::string& text) { return std::regex_replace(text, std::regex("'"), ""); }

// The keys of each mapping that is read, by what messages call it: "a dim" -> {"range", "from", "doc"}. Signatures, which
// kgen writes itself, are left out.
std::map<std::string, std::set<std::string>> keys_that_are_read() {
  static const std::regex call(R"re(validate_keys\([^{;]*\{([^}]*)\},\s*"([^"]*)")re");
  std::map<std::string, std::set<std::string>> result;
  for (const std::string& path : repository::files_below("generator/load", {".cpp"})) {
    if (path.ends_with("/load_signatures.cpp")) continue;
    const std::string source = repository::read(path);
    for (std::sregex_iterator it(source.begin(), source.end(), call), end; it != end; ++it) {
      for (const std::string& key : repository::string_literals((*it)[1].str())) {
        result[without_quotes((*it)[2])].insert(key);
      }
    }
  }
  return result;
}

// The first columns of the tables below each heading: "A dim" is "a dim".
std::map<std::string, std::set<std::string>> keys_on_pages() {
  std::map<std::string, std::set<std::string>> result;
  static const std::regex heading("#+ (.*)"), row(R"(\| `([a-z_]+)` \|.*)");
  for (const char* page : pages) {
    std::istringstream lines(repository::read(page));
    std::string line, section;
    std::smatch match;
    while (std::getline(lines, line)) {
      if (std::regex_match(line, match, heading)) {
        section = std::regex_replace(match[1].str(), std::regex("`"), "");
        if (section.starts_with("A ") || section.starts_with("An ")) section[0] = 'a';
      } else if (std::regex_match(line, match, row)) {
        result[section].insert(match[1]);
      }
    }
  }
  return result;
}

// Of every definition that has a title, its properties.
void collect_schema_keys(const nlohmann::json& schema, std::map<std::string, std::set<std::string>>& keys) {
  if (schema.is_object() && schema.contains("title") && schema.contains("properties")) {
    for (const auto& [key, property] : schema["properties"].items()) {
      keys[without_quotes(schema["title"])].insert(key);
    }
  }
  for (const auto& child : schema) {
    if (child.is_structured()) collect_schema_keys(child, keys);
  }
}

std::map<std::string, std::set<std::string>> keys_in_schemas() {
  std::map<std::string, std::set<std::string>> result;
  for (const char* file : {"specs/schemas/graph.schema.json", "specs/schemas/operators.schema.json",
                           "specs/schemas/import.schema.json"}) {
    collect_schema_keys(nlohmann::json::parse(repository::read(file)), result);
  }
  return result;
}

}  // namespace

TEST_CASE("reference: every key that is read is on the pages and in the schemas, and no other") {
  const auto read = keys_that_are_read(), documented = keys_on_pages(), schemas = keys_in_schemas();
  CHECK(read.size() == 22);
  CHECK(read.at("a dim") == std::set<std::string>{"range", "from", "doc"});
  for (const auto& [what, keys] : read) {
    CAPTURE(what);
    REQUIRE(documented.contains(what));
    CHECK(documented.at(what) == keys);
    REQUIRE(schemas.contains(what));
    CHECK(schemas.at(what) == keys);
  }
}

TEST_CASE("reference: every key stands in an example") {
  std::string all;
  for (const char* page : pages) {
    for (const std::string& example : examples_in(repository::read(page))) all += example;
  }
  for (const auto& [what, keys] : keys_that_are_read()) {
    for (const std::string& key : keys) {
      CAPTURE(what);
      CAPTURE(key);
      CHECK(std::regex_search(all, std::regex("(^|[ {\n])" + key + ":")));
    }
  }
}

TEST_CASE("reference: the graphs of the page about graphs are planned, without a remark") {
  const std::vector<std::string> examples = examples_in(repository::read("specs/GRAPHS.md"));
  CHECK(examples.size() >= 8);
  for (const std::string& example : examples) {
    CAPTURE(example);
    test::Fixture fixture;
    const Module module = fixture.prepare(example);
    for (const Graph& function : module.functions) report_unmet(fuse(function, {}), fixture.diagnostics);
    report_unmet(fuse(module.main, {}), fixture.diagnostics);
    CHECK(fixture.diagnostics.text(false) == "");
  }
}

TEST_CASE("reference: the operators of the page about operators are loaded, and a graph uses them") {
  std::string ops = "ops:\n", structs, tuning;
  std::vector<std::string> graphs;
  for (const std::string& example : examples_in(repository::read("specs/OPERATORS.md"))) {
    const std::string first = "ops:\n";
    if (example.starts_with("graph:")) graphs.push_back(example);
    if (example.starts_with(first)) ops += example.substr(first.size());
    if (example.starts_with("structs:")) structs = example.substr(0, example.find("ops:"));
    if (example.starts_with("tuning:")) tuning = example.substr(0, example.find("ops:"));
  }
  CHECK(structs.find("tracker::Box") != std::string::npos);
  REQUIRE(graphs.size() == 1);
  CHECK(tuning.find("TileM") != std::string::npos);
  test::Fixture fixture(structs + tuning + ops);
  fixture.fuse_main(graphs[0]);
  CHECK(fixture.diagnostics.text(false) == "");
}

TEST_CASE("schema: the operators with their operands and attributes") {
  const test::Fixture fixture;
  const auto schema = nlohmann::json::parse(graph_schema(repository::read("specs/schemas/graph.schema.json"), fixture.ops));
  const auto& node = schema["$defs"]["node"];
  CHECK(node["properties"]["op"]["enum"].size() == fixture.ops.ops.size());
  const auto rule = std::find_if(node["allOf"].begin(), node["allOf"].end(), [](const nlohmann::json& each) {
    return each["if"]["properties"]["op"]["const"] == "attention";
  });
  REQUIRE(rule != node["allOf"].end());
  const auto& then = (*rule)["then"];
  CHECK(then["properties"]["in"] == nlohmann::json{{"type", "array"}, {"minItems", 3}, {"maxItems", 5}});
  CHECK(then["properties"]["causal"]["type"] == "boolean");
  CHECK(then["additionalProperties"] == false);
  CHECK(then["required"] == nlohmann::json{"in"});
}
