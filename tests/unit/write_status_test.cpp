// What `kgen status` and `kgen diff` say of a folder.
#include "generator/write/emission_inputs.hpp"
#include "generator/write/status.hpp"
#include "tests/unit/write_fixture.hpp"

namespace fs = std::filesystem;
using namespace kgen;

namespace {

const std::vector<SourceFile> emitted = {
    {"a.cpp", "1\n2\n3\n"}, {"b.cpp", "1\n2\n3\n"}, {"stubs/c.cpp", "1\n2\n3\n"}, {"stubs/d.cpp", "1\n2\n3\n"}};

std::string status_of(const TemporaryFolder& folder, const std::vector<std::string>& stale = {}) {
  Diagnostics diagnostics;
  const std::string text = status_text(folder_status(folder.out(), diagnostics), stale);
  CHECK(diagnostics.text(false) == "");
  return text;
}

bool settled(const TemporaryFolder& folder, const std::vector<std::string>& stale = {}) {
  Diagnostics diagnostics;
  return is_settled(folder_status(folder.out(), diagnostics), stale);
}

// The diff, and below it what is reported.
std::string diff_of(const TemporaryFolder& folder, const std::string& only = "") {
  Diagnostics diagnostics;
  const FolderStatus status = folder_status(folder.out(), diagnostics);
  std::string text = edits_text(folder.out(), status, only, false, diagnostics);
  text += diagnostics.text(false);
  const std::string prefix = folder.path().string() + "/";
  for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix)) text.erase(at, prefix.size());
  return text;
}

std::string diff_text(const std::string& path, const std::string& lines) {
  return "diff --git a/" + path + " b/" + path + "\n--- a/" + path + "\n+++ b/" + path + "\n" + lines;
}

}  // namespace

TEST_CASE("status: nothing to say, and one of everything") {
  const TemporaryFolder folder;
  folder.write(emitted);
  CHECK(status_of(folder) == "nothing edited, nothing to do\n");
  CHECK(settled(folder));

  folder.edit("a.cpp", "mine\n2\n3\n");
  CHECK(status_of(folder) == "edited       a.cpp\n");
  CHECK(settled(folder));
  folder.write(emitted, {"stubs/c.cpp"});
  CHECK(status_of(folder) == "pinned       stubs/c.cpp\nedited       a.cpp\n");
  CHECK(settled(folder));

  folder.edit("b.cpp", "1\n2\nmine\n");
  folder.edit("stubs/d.cpp", "mine\n");
  const std::vector<SourceFile> fewer = {
      {"a.cpp", emitted[0].content}, {"b.cpp", "1\n2\ntheirs\n"}, emitted[2], {"e.cpp", ""}};
  folder.messages(fewer, folder.options({"stubs/c.cpp"}));
  fs::remove(folder.out() / "e.cpp");
  CHECK(status_of(folder, {"../graph.yaml changed"}) ==
        "stale        ../graph.yaml changed\n"
        "conflicting  b.cpp:3\n"
        "missing      e.cpp\n"
        "orphaned     stubs/d.cpp\n"
        "pinned       stubs/c.cpp\n"
        "edited       a.cpp\n"
        "\n"
        "Stale: `kgen plan` brings the files up to date, and keeps your edits.\n"
        "Conflicting: leave the lines that you want, remove the markers, and run `kgen plan` again.\n"
        "Missing: `kgen plan` writes the file again.\n"
        "Orphaned: no longer emitted, and kept because you edited it; remove it when you need it no more.\n");
  CHECK_FALSE(settled(folder));
}

TEST_CASE("status: each thing that waits to be done is one") {
  const TemporaryFolder folder;
  folder.write(emitted);
  CHECK_FALSE(settled(folder, {"../graph.yaml changed"}));
  fs::remove(folder.out() / "a.cpp");
  CHECK_FALSE(settled(folder));
  folder.write(emitted);
  folder.edit("a.cpp", "mine\n");
  folder.messages({emitted[1]}, folder.options());
  CHECK_FALSE(settled(folder));
  fs::remove(folder.out() / "a.cpp");
  folder.write({emitted[1]});
  CHECK(settled(folder));
  folder.edit("b.cpp", "<<<<<<< yours\n");
  CHECK_FALSE(settled(folder));
}

TEST_CASE("status: a folder that kgen did not write to") {
  const TemporaryFolder folder;
  CHECK(diff_of(folder) ==
        "error: 'out' holds nothing that kgen wrote\n"
        "note: there is no 'out/.kgen/manifest'\n"
        "help: name the folder that `kgen plan --emit` was given\n");
}

TEST_CASE("status: what cannot be read is not missing") {
  const TemporaryFolder folder;
  folder.write(emitted);
  fs::remove(folder.out() / "a.cpp");
  fs::create_directories(folder.out() / "a.cpp/inside");
  fs::remove_all(folder.out() / "stubs");
  folder.edit("stubs", "");
  const bool is_root = ::geteuid() == 0;  // who may read everything
  if (!is_root) fs::permissions(folder.out() / "b.cpp", fs::perms::none);
  CHECK(status_of(folder) ==
        "unreadable   a.cpp: a folder is there\n" +
            std::string(is_root ? "" : "unreadable   b.cpp: Permission denied\n") +
            "unreadable   stubs/c.cpp: 'stubs' is a file\n"
            "unreadable   stubs/d.cpp: 'stubs' is a file\n"
            "\n"
            "Unreadable: let there be a file that you may read, or move away what is there and run `kgen plan`.\n");
  CHECK_FALSE(settled(folder));
}

TEST_CASE("status: a damaged record is an error, and nothing is moved aside for it") {
  const TemporaryFolder folder;
  folder.write(emitted);
  folder.edit("a.cpp", "mine\n");
  const std::string manifest = folder.read(".kgen/manifest");
  const Names damages = {"", "<<<<<<< ours\n" + manifest, manifest.substr(0, manifest.size() - 4)};
  for (const std::string& damaged : damages) {
    folder.edit(".kgen/manifest", damaged);
    const auto before = folder.all_files();
    const std::string said = diff_of(folder);
    CHECK(said.starts_with("error: 'out/.kgen/manifest' is damaged"));
    CHECK(folder.messages({{"a.cpp", "new\n"}}, folder.options()) == said);
    CHECK(folder.all_files() == before);
  }
  fs::remove_all(folder.out() / ".kgen");
  folder.edit(".kgen", "");
  const std::string said = diff_of(folder);
  CHECK(said == "error: 'out/.kgen' is a file: kgen keeps its record of what it wrote in a folder of that name\n"
                "help: move it away, and run `kgen plan` again\n");
  CHECK(folder.messages(emitted, folder.options()) == said);
  CHECK(folder.read("a.cpp") == "mine\n");
}

TEST_CASE("status: what a killed run left is finished first") {
  const TemporaryFolder folder;
  folder.write(emitted);
  struct Killed {};
  WriteOptions options = folder.options();
  const std::string new_text = "new\n";
  options.before_change = [&] {
    if (folder.read("a.cpp") == new_text) throw Killed();  // its base is not yet
  };
  CHECK_THROWS_AS(folder.messages({{"a.cpp", new_text}}, options), Killed);
  CHECK(folder.base("a.cpp") == emitted[0].content);
  CHECK(status_of(folder) == "nothing edited, nothing to do\n");
  CHECK(folder.names() == Names{"a.cpp"});
}

TEST_CASE("diff: the edits of all files, or of one by any of its names") {
  const TemporaryFolder folder;
  folder.write(emitted);
  CHECK(diff_of(folder) == "");
  folder.edit("a.cpp", "mine\n2\n3\n");
  folder.edit("stubs/c.cpp", "1\n2\n3\nmore\n");
  const std::string a = diff_text("a.cpp", "@@ -1,3 +1,3 @@\n-1\n+mine\n 2\n 3\n");
  const std::string c = diff_text("stubs/c.cpp", "@@ -1,3 +1,4 @@\n 1\n 2\n 3\n+more\n");
  CHECK(diff_of(folder) == a + c);
  CHECK(diff_of(folder, "stubs/c.cpp") == c);
  CHECK(diff_of(folder, (folder.out() / "stubs/../stubs/c.cpp").string()) == c);
  CHECK(diff_of(folder, "b.cpp") == "");

  // Of what stays though kgen no longer writes it, too.
  folder.messages({emitted[0], emitted[2]}, folder.options({"a.cpp"}));
  CHECK(diff_of(folder) == a + c);
  folder.messages({emitted[0]}, folder.options({"a.cpp"}));
  CHECK(diff_of(folder) == a + c);
}

TEST_CASE("diff: lines that an editor ended otherwise are no edits") {
  const TemporaryFolder folder;
  folder.write(emitted);
  folder.edit("a.cpp", "1\r\nmine\r\n3\r\n");
  folder.edit("b.cpp", "1\r\n2\r\n3\r\n");
  CHECK(diff_of(folder) == diff_text("a.cpp", "@@ -1,3 +1,3 @@\n 1\n-2\n+mine\n 3\n"));
}

TEST_CASE("diff: a name that is none, and a base that is lost") {
  const TemporaryFolder folder;
  folder.write(emitted);
  CHECK(diff_of(folder, "stubs/e.cpp") ==
        "error: 'stubs/e.cpp' is no file that kgen wrote to 'out'\n"
        "note: the nearest are 'stubs/c.cpp' and 'stubs/d.cpp'\n"
        "help: name it as it stands in the folder: stubs/stub_y.cpp\n");
  folder.edit("a.cpp", "mine\n");
  folder.edit(".kgen/base/a.cpp", "damaged\n");
  CHECK(diff_of(folder) ==
        "error: cannot compare 'out/a.cpp': what kgen wrote there is lost\n"
        "note: it should be 'out/.kgen/base/a.cpp'\n"
        "help: `kgen plan` keeps your file aside and writes a new one\n");
}

TEST_CASE("inputs: a path is relative to a folder, whether that is there yet or not") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "graphs/my_kernels");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const bool exists : {false, true}) {
    if (exists) fs::create_directories("new/src");
    for (const std::string kernels : {"graphs/my_kernels", "./graphs//my_kernels/"}) {
      CHECK(relative_path(kernels, "new/src") == "../../graphs/my_kernels");
      CHECK(relative_path(kernels, folder.path() / "new/src/") == "../../graphs/my_kernels");
      CHECK(relative_path(folder.path() / kernels, "new/src") == "../../graphs/my_kernels");
    }
    CHECK(relative_path("graphs", "") == "graphs");
    CHECK(relative_path("new/src", "new/src") == ".");
  }
  fs::current_path(before);
}

TEST_CASE("inputs: named alike on every machine, and followed") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "share/kgen/specs");
  fs::create_directories(folder.path() / "include/kgen");
  fs::create_directories(folder.path() / "project");
  const auto write = [&](const std::string& name, const std::string& content) {
    std::ofstream(folder.path() / name) << content;
    return (folder.path() / name).string();
  };
  const std::string spec = write("share/kgen/specs/a.yaml", "a"), graph = write("project/my graph.yaml", "g");
  const std::string header = write("include/kgen/matmul.hpp", "m");
  const InputRoots roots = {folder.path() / "project/src/", folder.path() / "share/../share/kgen", folder.path() / "include"};
  const auto inputs = emission_inputs({spec, graph, "/none", header}, roots);  // the emitted folder is not there yet
  REQUIRE(inputs.size() == 3);
  CHECK(inputs[0].name == "kgen:specs/a.yaml");
  CHECK(inputs[1].name == "../my graph.yaml");
  CHECK(inputs[2].name == "kgen:templates/kgen/matmul.hpp");

  fs::create_directories(roots.folder);
  const Manifest manifest = {"1.0", inputs, {}, {}};
  CHECK(stale_reasons(manifest, roots, "1.0").empty());
  CHECK(stale_reasons(manifest, roots, "1.1") == Names{"written by kgen 1.0, and this is kgen 1.1"});
  write("project/my graph.yaml", "changed");
  fs::remove(spec);
  CHECK(stale_reasons(manifest, roots, "1.0") ==
        Names{"kgen:specs/a.yaml cannot be read: No such file or directory", "../my graph.yaml changed"});
  CHECK(stale_reasons({}, roots, "1.0") == Names{"written by an earlier kgen, and this is kgen 1.0"});
}
