// What a change of a graph changes in the emitted files: what computes something else, and nothing more.
#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tests/unit/example_graphs.hpp"
#include "tests/unit/write_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

using Files = std::map<std::string, std::string>;
using Paths = std::set<std::string>;

class Emission {
 public:
  explicit Emission(const Example& example, bool check = false) : example_(example), check_(check) {
    text_ = repository::read(example.graph.lexically_relative(repository::root()));
    before_ = emit(text_);
  }

  const std::string& text() const { return text_; }
  const Files& before() const { return before_; }
  // The files of the graph as `text` has it.
  Files emit(const std::string& text) const {
    fs::create_directories(folder_.out());
    const fs::path graph = folder_.out() / example_.graph.filename();
    std::ofstream(graph, std::ios::binary) << text;
    Files files;
    for (const SourceFile& file : emit_example(example_, graph, check_)) files[file.path] = file.content;
    return files;
  }

 private:
  const Example& example_;
  bool check_;
  TemporaryFolder folder_;
  std::string text_;
  Files before_;
};

// The paths of what both have, and have differently.
Paths changed(const Files& before, const Files& after) {
  Paths paths;
  for (const auto& [path, content] : before) {
    if (const auto now = after.find(path); now != after.end() && now->second != content) paths.insert(path);
  }
  return paths;
}

Paths missing(const Files& before, const Files& after) {
  Paths paths;
  for (const auto& [path, content] : before) {
    if (!after.contains(path)) paths.insert(path);
  }
  return paths;
}

// All, but of those with kernels of their own, which Clang reads each time that one is planned, the first.
std::vector<Example> changed_examples() {
  std::vector<Example> all = examples();
  const auto own = std::stable_partition(all.begin(), all.end(), [](const Example& each) { return !is_custom(each); });
  REQUIRE(own != all.end());
  all.erase(own + 1, all.end());
  return all;
}

bool is_stub(const std::string& path) { return path.starts_with("stubs/") || path.starts_with("check/"); }

// The graph with one more input, node and output, which have nothing to do with the others.
std::string with_unrelated_node(const std::string& text, bool first) {
  const std::string node = "  - {op: sigmoid, in: unrelated_input, out: unrelated}\n";
  std::string longer = std::regex_replace(text, std::regex("\ninputs:\n"), "\ninputs:\n  unrelated_input: f32[3]\n");
  longer = first ? std::regex_replace(longer, std::regex("\nnodes:\n"), "\nnodes:\n" + node)
                 : std::regex_replace(longer, std::regex("\noutputs: "), "\n" + node + "outputs: ");
  return std::regex_replace(longer, std::regex("\noutputs: \\["), "\noutputs: [unrelated, ");
}

}  // namespace

TEST_CASE("changes: a line that is added above changes the map of lines alone") {
  for (const Example& example : changed_examples()) {
    for (const bool check : {false, true}) {
      INFO(example.folder.string());
      const Emission emission(example, check);
      const Files after = emission.emit("# A line more.\n" + emission.text());
      CHECK(missing(emission.before(), after) == Paths{});
      // What check mode says of a wrong operator names its line; nobody reads or edits that source.
      CHECK(changed(emission.before(), after) == (check ? Paths{"check.cpp", "lines.yaml"} : Paths{"lines.yaml"}));
    }
  }
}

TEST_CASE("changes: an unrelated node adds its stub, and changes none") {
  for (const Example& example : changed_examples()) {
    for (const bool first : {false, true}) {
      INFO(example.folder.string());
      const Emission emission(example);
      const Files after = emission.emit(with_unrelated_node(emission.text(), first));
      CHECK(missing(emission.before(), after) == Paths{});
      for (const std::string& path : changed(emission.before(), after)) CHECK_MESSAGE(!is_stub(path), path);
      Paths added;
      for (const std::string& path : missing(after, emission.before())) added.insert(fs::path(path).stem().string());
      CHECK(added == Paths{"stub_unrelated"});
    }
  }
}

TEST_CASE("changes: one more user of a shared stub renames nothing, and is told of above it") {
  const Example example{repository::root() / "specs/graphs/llama_block.yaml", &cpu_target, {}};
  const Emission emission(example);
  std::string text = emission.text();
  for (const auto& [from, to] :
       {std::pair{"\nconstants:\n", "\nconstants:\n  w_more: {type: \"f32[D, 64]\", file: w.safetensors, key: w}\n"},
        std::pair{"\noutputs: \\[", "\n  - {op: matmul, in: [y, w_more], out: more}\noutputs: [more, "}}) {
    text = std::regex_replace(text, std::regex(from), to);
  }
  const Files after = emission.emit(text);
  CHECK(missing(emission.before(), after) == Paths{});
  CHECK(missing(after, emission.before()) == Paths{"stubs/stub_more.cpp"});
  const std::string path = "stubs/stub_wo_panels.cpp", more = "// w_more_panels: matmul\n";
  std::string shared = after.at(path);
  REQUIRE(shared.find(more) != std::string::npos);
  CHECK(shared.erase(shared.find(more), more.size()) == emission.before().at(path));
  for (const std::string& other : changed(emission.before(), after)) CHECK((!is_stub(other) || other == path));
}

TEST_CASE("changes: a value by another name changes the stubs that name it alone") {
  int renamed = 0;
  for (const Example& example : changed_examples()) {
    const Emission emission(example);
    const std::regex result("out: (\\w+)");
    std::vector<std::string> names;
    for (std::sregex_iterator at(emission.text().begin(), emission.text().end(), result), end; at != end; ++at) {
      names.push_back((*at)[1]);
    }
    for (const std::size_t i : {std::size_t{0}, names.size() / 2, names.size() - 1}) {
      const std::string& name = names[i];
      INFO(example.folder.string(), ": ", name);
      const Files after =
          emission.emit(std::regex_replace(emission.text(), std::regex("\\b" + name + "\\b"), name + "_too"));
      for (const auto& [path, content] : emission.before()) {
        if (!is_stub(path) || content.find(name) != std::string::npos) continue;
        CHECK_MESSAGE(after.contains(path), path);
        if (after.contains(path)) CHECK_MESSAGE(after.at(path) == content, path);
      }
      ++renamed;
    }
  }
  CHECK(renamed > 30);
}

TEST_CASE("changes: what is planned for, or with, changes no stub") {
  const Example example{repository::root() / "specs/graphs/llama_block.yaml", &cpu_target, {}};
  const Emission plain(example), checked(example, true);
  for (const std::string& path : changed(plain.before(), checked.before())) CHECK_MESSAGE(!is_stub(path), path);
  for (const auto& [path, content] : plain.before()) {
    if (!is_stub(path)) continue;
    CHECK_MESSAGE(content.find(KGEN_VERSION) == std::string::npos, path, " names a version");
  }
}

TEST_CASE("lines.yaml: each value beside its line, of each graph") {
  const Example example{repository::root() / "specs/graphs/llama_tiny.yaml", &cpu_target, {}};
  const Emission emission(example);
  const std::string& lines = emission.before().at("lines.yaml");
  CHECK(
      lines.starts_with("# The line of llama_tiny.yaml that each value was written in. `kgen plan` writes this file "
                        "anew each time.\nmain:\n"));
  // Each name stands on the line that the map says, unless it was made of one that does.
  std::istringstream text(emission.text()), map(lines);
  std::vector<std::string> written{""};
  for (std::string line; std::getline(text, line);) written.push_back(line);
  int found = 0;
  for (std::string line; std::getline(map, line);) {
    std::smatch entry;
    if (!std::regex_match(line, entry, std::regex(" +\"?(\\w+)\"?: (\\d+)"))) continue;
    const std::size_t number = std::stoul(entry[2]);
    REQUIRE(number < written.size());
    CHECK_MESSAGE(written[number].find(entry[1].str().substr(0, 1)) != std::string::npos, line);
    found += written[number].find(entry[1].str()) != std::string::npos;
  }
  CHECK(found > 40);
  CHECK(lines.find("\nfunctions:\n  decoder_layer:\n") != std::string::npos);
}
