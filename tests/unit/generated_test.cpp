// generated/ holds the emitted source of every example graph. It is exactly what kgen writes today:
//   scripts/update_generated
// writes it anew, for review in the diff.
#include <cstdlib>
#include <set>

#include "generator/format_emitted.hpp"
#include "tests/unit/example_graphs.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(folder).string());
  }
  return files;
}

}  // namespace

TEST_CASE("generated/ is current") {
  Diagnostics none;
  const ClangServices* clang = clang_services("lay out generated/", none);
  if (!clang) {
    MESSAGE("skipped: this kgen has no Clang, and generated/ is laid out by Clang's formatter");
    return;
  }
  const bool update = std::getenv("KGEN_UPDATE") != nullptr;
  const fs::path root = repository::root();
  const std::vector<Example> all = examples();
  for (const Example& example : all) {
    const fs::path& folder = example.folder;
    if (update) fs::remove_all(folder);
    std::set<std::string> left = files_in(folder);
    for (const SourceFile& file : format_emitted(emit_example(example, example.graph), {}, {}, [&] { return clang; })) {
      const fs::path path = folder / file.path;
      if (update) {
        fs::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << file.content;
      }
      INFO(path.lexically_relative(root).string(), ": scripts/update_generated writes it anew");
      CHECK(repository::read(path.lexically_relative(root)) == file.content);
      left.erase(file.path);
    }
    if (!update) CHECK_MESSAGE(left.empty(), "generated/ holds files that kgen no longer writes: ", left.empty() ? "" : *left.begin());
  }
  CHECK(all.size() >= 12);
}
