#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "generator/base/hash.hpp"
#include "generator/write/depfile.hpp"
#include "generator/write/disk.hpp"
#include "tests/unit/write_fixture.hpp"

namespace fs = std::filesystem;
using namespace kgen;

namespace {

const std::vector<SourceFile> two_files = {{"stub_y.cpp", "first\n"}, {"parts/stub_z.cpp", "second\n"}};

fs::file_time_type long_ago() { return fs::file_time_type::clock::now() - std::chrono::hours(24); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("write: folders are created, and the record holds what was written") {
  const TemporaryFolder folder;
  const WriteReport report = folder.write(two_files);
  CHECK(report.written == 2);
  CHECK(report.unchanged == 0);
  CHECK(folder.all_files() == std::map<std::string, std::string>{
                                  {".kgen/base/parts/stub_z.cpp", "second\n"},
                                  {".kgen/base/stub_y.cpp", "first\n"},
                                  {".kgen/manifest", folder.read(".kgen/manifest")},
                                  {"parts/stub_z.cpp", "second\n"},
                                  {"stub_y.cpp", "first\n"},
                              });
  const std::string manifest = folder.read(".kgen/manifest");
  CHECK(contains(manifest, "\nkgen 1.0\n"));
  CHECK(manifest.ends_with(fmt::format("\nfile hash={} path=parts/stub_z.cpp\nfile hash={} path=stub_y.cpp\n",
                                       hash_text(content_hash("second\n")), hash_text(content_hash("first\n")))));
}

TEST_CASE("write: a file that stays the same keeps its time") {
  const TemporaryFolder folder;
  folder.write(two_files);
  const auto then = long_ago();
  for (const auto& [name, content] : folder.all_files()) fs::last_write_time(folder.out() / name, then);
  const WriteReport same = folder.write(two_files);
  CHECK(same.written == 0);
  CHECK(same.unchanged == 2);
  for (const auto& [name, content] : folder.all_files()) CHECK(fs::last_write_time(folder.out() / name) == then);

  const WriteReport report = folder.write({{"stub_y.cpp", "changed\n"}, two_files[1]});
  CHECK(report.written == 1);
  CHECK(report.unchanged == 1);
  CHECK(folder.read("stub_y.cpp") == "changed\n");
  CHECK(folder.base("stub_y.cpp") == "changed\n");
  CHECK(fs::last_write_time(folder.out() / "stub_y.cpp") > then);
  CHECK(fs::last_write_time(folder.out() / "parts/stub_z.cpp") == then);
}

TEST_CASE("write: what is no longer emitted goes, with its folder and its base") {
  const TemporaryFolder folder;
  folder.write(two_files);
  folder.edit("notes.txt", "not kgen's\n");
  CHECK(folder.write({two_files[0]}).removed == 1);
  CHECK(folder.names() == Names{"notes.txt", "stub_y.cpp"});
  CHECK_FALSE(fs::exists(folder.out() / "parts"));
  CHECK_FALSE(fs::exists(folder.out() / ".kgen/base/parts"));
  CHECK_FALSE(contains(folder.read(".kgen/manifest"), "stub_z"));
}

TEST_CASE("write: a deleted file is written again") {
  const TemporaryFolder folder;
  folder.write(two_files);
  fs::remove_all(folder.out() / "parts");
  CHECK(folder.write(two_files).written == 1);
  CHECK(folder.read("parts/stub_z.cpp") == "second\n");

  // One that is gone when it is no longer emitted is forgotten.
  fs::remove_all(folder.out() / "parts");
  CHECK(folder.write({two_files[0]}).removed == 0);
  CHECK_FALSE(contains(folder.read(".kgen/manifest"), "stub_z"));
}

TEST_CASE("write: a folder by any name is the same") {
  const TemporaryFolder folder;
  folder.write(two_files);
  WriteOptions options = folder.options();
  options.folder = folder.out() / "";
  CHECK(folder.messages({two_files[0]}, options) == "");
  CHECK(folder.names() == Names{"stub_y.cpp"});
}

TEST_CASE("write: a path that leads out of the folder, or stands twice, touches nothing") {
  const auto message = [](const std::vector<SourceFile>& files) {
    const TemporaryFolder folder;
    const std::string text = folder.messages(files, folder.options());
    CHECK_FALSE(fs::exists(folder.out()));
    return text;
  };
  const std::string outside = "' is not the path of a file below the output folder\n";
  for (const std::string path : {"../a.cpp", "/a.cpp", "a/../../b.cpp", "", ".", "a/", "a\nb", ".kgen/manifest"}) {
    CHECK(message({{"ok.cpp", ""}, {path, ""}}) == "error: '" + path + outside);
  }
  CHECK(message({{"a.cpp", "1"}, {"a.cpp", "2"}}) ==
        "error: two files would be called 'a.cpp'\n"
        "note: files are called after the graph and its values: one of them has the name of another file that kgen writes\n"
        "help: give the graph, or the value, another name\n");
}

TEST_CASE("write: something in the way touches no file") {
  const TemporaryFolder folder;
  folder.write(two_files);
  fs::create_directories(folder.out() / "third.cpp/inside");
  folder.edit("fourth", "");
  const auto before = folder.all_files();
  const auto message = [&](const SourceFile& file) {
    const std::string text = folder.messages({{"stub_y.cpp", "changed\n"}, file}, folder.options());
    CHECK(folder.all_files() == before);
    CHECK_FALSE(fs::exists(folder.out() / ".kgen/staging"));
    return text;
  };
  CHECK(message({"third.cpp", ""}) == "error: cannot write 'out/third.cpp': what is there is not a file\n"
                                      "help: move it, or choose another output folder\n");
  CHECK(message({"fourth/stub.cpp", ""}) == "error: 'out/fourth' is in the way: a folder is needed there\n"
                                            "help: move it, or choose another output folder\n");
  CHECK(contains(message({std::string(300, 'x') + ".cpp", ""}), "File name too long"));
}

TEST_CASE("write: a folder that cannot be made leaves nothing behind") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "content";
  const auto message = [&](const fs::path& target) {
    WriteOptions options = folder.options();
    options.folder = target;
    WriteReport report;
    const std::string text = folder.messages(two_files, options, &report);
    CHECK(report.written == 0);
    return text;
  };
  CHECK(contains(message(folder.path() / "file"), "Not a directory"));
  CHECK(contains(message(folder.path() / "file/below"), "Not a directory"));
  CHECK(contains(message(folder.path() / "new" / std::string(300, 'x')), "File name too long"));
  CHECK(contains(message(""), "cannot create the folder"));
  CHECK(contains(message("/proc/kgen/out"), "cannot create the folder '/proc/kgen/out'"));
  CHECK_FALSE(fs::exists(folder.path() / "new"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("write: a folder made for a run that fails goes with it") {
  const TemporaryFolder folder;
  CHECK(folder.messages({two_files[0], {std::string(300, 'x'), ""}}, folder.options()).starts_with("error: "));
  CHECK_FALSE(fs::exists(folder.out()));
}

TEST_CASE("write: an unwritable folder is named once, and no file is touched") {
  if (::geteuid() == 0) return;  // root may write anywhere
  const TemporaryFolder folder;
  folder.write(two_files);
  const auto before = folder.all_files();
  fs::permissions(folder.out(), fs::perms::owner_read | fs::perms::owner_exec);
  const std::string text = folder.messages({{"stub_y.cpp", "new"}, {"other.cpp", "new"}}, folder.options());
  CHECK(folder.all_files() == before);
  fs::permissions(folder.out(), fs::perms::owner_all);
  CHECK(text == "error: cannot write to 'out': Permission denied\n");
}

TEST_CASE("write: two runs at once take turns") {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& content) {
    std::vector<SourceFile> files;
    for (int i = 0; i < 50; ++i) files.push_back({"stub_" + std::to_string(i) + ".cpp", content});
    for (int i = 0; i < 5; ++i) {
      if (folder.messages(files, folder.options()) != "") return false;
    }
    return true;
  };
  fs::create_directories(folder.out());
  bool left = false, right = false;
  std::thread first([&] { left = run("left"); });
  std::thread second([&] { right = run("right"); });
  first.join();
  second.join();
  CHECK(left);
  CHECK(right);
  const std::string last = folder.read("stub_0.cpp");
  for (int i = 0; i < 50; ++i) CHECK(folder.read("stub_" + std::to_string(i) + ".cpp") == last);
}

TEST_CASE("hash: FNV-1a") {  // the values that its authors publish
  CHECK(content_hash("") == 0xcbf29ce484222325);
  CHECK(content_hash("a") == 0xaf63dc4c8601ec8c);
  CHECK(content_hash("foobar") == 0x85944171f73967e8);
  CHECK(hash_text(content_hash("foobar")) == "85944171f73967e8");
  CHECK(hash_text(1) == "0000000000000001");
}

TEST_CASE("depfile: a path with a line end is refused, and nothing is written") {
  const TemporaryFolder folder;
  Diagnostics diagnostics;
  const fs::path depfile = folder.path() / "plan.d";
  CHECK_FALSE(write_depfile(depfile, {"stamp"}, {"a\nall: evil"}, diagnostics));
  CHECK_FALSE(fs::exists(depfile));
  CHECK(diagnostics.text(false) == fmt::format(R"text(error: 'a
all: evil' cannot stand in {}
note: make and ninja know no paths with line ends
help: rename it
)text",
                                               depfile.string()));
}

TEST_CASE("depfile: one rule, escaped as make reads it") {
  CHECK(depfile_text({"src/stamp"}, {"g.yaml", "specs/ops/math.yaml"}) ==
        "src/stamp: \\\n  g.yaml \\\n  specs/ops/math.yaml\n");
  CHECK(depfile_text({"a", "b"}, {}) == "a b:\n");
  CHECK(depfile_text({"my out"}, {"a#b", "c$d", "e\\f", "g\\ h", "i:j"}) ==
        "my\\ out: \\\n  a\\#b \\\n  c$$d \\\n  e\\f \\\n  g\\\\\\ h \\\n  i\\:j\n");
  const TemporaryFolder folder;
  Diagnostics diagnostics;
  CHECK(write_depfile(folder.path() / "g.d", {"t"}, {"d"}, diagnostics));
  std::error_code error;
  CHECK(read_file(folder.path() / "g.d", error) == "t: \\\n  d\n");
  CHECK_FALSE(write_depfile(folder.path() / "none/g.d", {"t"}, {"d"}, diagnostics));
  CHECK(contains(diagnostics.text(false), "none/g.d': No such file or directory"));
}
