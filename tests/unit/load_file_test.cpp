// Reading files.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "generator/base/source_map.hpp"
#include "tests/unit/own_folder.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

using test::OwnFolder;

}  // namespace

TEST_CASE("files: texts keep their addresses") {
  const OwnFolder folder;
  std::ofstream(folder.path + "/graph.yaml", std::ios::binary) << "graph: g\r\n";
  SourceMap texts;
  Diagnostics diagnostics;
  const SourceText* first = texts.read(folder.path + "/graph.yaml", diagnostics);
  REQUIRE(first);
  for (int i = 0; i < 1000; ++i) texts.add("more.yaml", "x");
  CHECK_EQ(first->content, "graph: g\r\n");
  CHECK_EQ(first->path, folder.path + "/graph.yaml");
  CHECK_EQ(diagnostics.text(false), "");
}

TEST_CASE("files: what cannot be read") {
  const OwnFolder folder;
  std::ofstream(folder.path + "/llama_block.yaml") << "graph: g\n";
  const auto messages = [](const std::string& path) {
    SourceMap texts;
    Diagnostics diagnostics;
    CHECK_EQ(texts.read(path, diagnostics), nullptr);
    return diagnostics.text(false);
  };
  CHECK_EQ(messages(folder.path + "/lama_block.yaml"), "error: cannot read '" + folder.path +
                                                           "/lama_block.yaml': there is no such file\n" +
                                                           "note: near it there: 'llama_block.yaml'\n");
  CHECK_EQ(messages(folder.path + "/none/x.yaml"),
           "error: cannot read '" + folder.path + "/none/x.yaml': there is no such file\n");
  CHECK_EQ(messages(folder.path), "error: cannot read '" + folder.path + "': it is a folder\n");
  CHECK_EQ(messages(""), "error: cannot read '': there is no such file\n");
  CHECK_EQ(messages(folder.path + "/llama_block.yaml/x"),
           "error: cannot read '" + folder.path + "/llama_block.yaml/x': there is no such file\n");
  if (fs::exists("/dev/zero")) {
    CHECK_EQ(messages("/dev/zero"),
             "error: cannot read '/dev/zero': it is a pipe, socket or device\n"
             "help: write its content to a file first, and name that\n");
  }
  const std::string large = folder.path + "/large.yaml";
  std::ofstream(large) << "graph: g\n";
  fs::resize_file(large, largest_file + 1);
  CHECK_EQ(messages(large), "error: cannot read '" + large + "': it is larger than 256 MB\n");
  const std::string secret = folder.path + "/secret.yaml";
  std::ofstream(secret) << "graph: g\n";
  fs::permissions(secret, fs::perms::none);
  if (!std::ifstream(secret)) {  // to the superuser every file is open
    CHECK_EQ(messages(secret), "error: cannot read '" + secret + "': Permission denied\n");
  }
}

}  // namespace kgen
