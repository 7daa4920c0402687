#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "generator/base/hash.hpp"
#include "generator/write/depfile.hpp"
#include "generator/write/disk.hpp"
#include "generator/write/manifest.hpp"
#include "generator/write/write_files.hpp"

namespace fs = std::filesystem;
using kgen::Diagnostics;
using kgen::SourceFile;
using kgen::WriteReport;

namespace {

// A folder that goes away with its test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "kgen_write_test_XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path out() const { return path_ / "out"; }
  std::string read(const std::string& file) const {
    std::ifstream stream(out() / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void edit(const std::string& file, const std::string& content) const {
    std::ofstream(out() / file, std::ios::binary) << content;
  }
  // Every file below the output folder, with its content.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> result;
    if (!fs::exists(out())) return result;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out())) {
      const std::string name = entry.path().lexically_relative(out()).string();
      if (entry.is_regular_file()) result[name] = read(name);
    }
    return result;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, content] : files()) result.push_back(name);
    return result;
  }
  WriteReport write(const std::vector<SourceFile>& emitted, Diagnostics& diagnostics,
                    const std::set<std::string>& pinned = {}) const {
    return kgen::write_files(emitted, {out(), pinned}, diagnostics);
  }
  // Expects neither an error nor a warning.
  WriteReport write(const std::vector<SourceFile>& emitted, const std::set<std::string>& pinned = {}) const {
    Diagnostics diagnostics;
    const WriteReport report = write(emitted, diagnostics, pinned);
    CHECK(diagnostics.text(false) == "");
    return report;
  }

 private:
  fs::path path_;
};

using Names = std::vector<std::string>;
const std::vector<SourceFile> two_files = {{"stub_y.cpp", "first\n"}, {"parts/stub_z.cpp", "second\n"}};

fs::file_time_type long_ago() { return fs::file_time_type::clock::now() - std::chrono::hours(24); }

}  // namespace

TEST_CASE("write: folders are created, and the manifest lists what was written") {
  const TemporaryFolder folder;
  const WriteReport report = folder.write(two_files);
  CHECK(report.written == 2);
  CHECK(report.unchanged == 0);
  CHECK(folder.names() == Names{".kgen-manifest", "parts/stub_z.cpp", "stub_y.cpp"});
  CHECK(folder.read("stub_y.cpp") == "first\n");
  CHECK(folder.read("parts/stub_z.cpp") == "second\n");
  const std::string manifest = folder.read(".kgen-manifest");
  CHECK(manifest.ends_with("  parts/stub_z.cpp\n" + fmt::format("{:016x}", kgen::content_hash("first\n")) +
                           "  stub_y.cpp\n"));
}

TEST_CASE("write: a file that stays the same keeps its time") {
  const TemporaryFolder folder;
  folder.write(two_files);
  const auto then = long_ago();
  for (const std::string& name : folder.names()) fs::last_write_time(folder.out() / name, then);
  const WriteReport same = folder.write(two_files);
  CHECK(same.written == 0);
  CHECK(same.unchanged == 2);
  for (const std::string& name : folder.names()) CHECK(fs::last_write_time(folder.out() / name) == then);

  const WriteReport report = folder.write({{"stub_y.cpp", "changed\n"}, two_files[1]});
  CHECK(report.written == 1);
  CHECK(report.unchanged == 1);
  CHECK(folder.read("stub_y.cpp") == "changed\n");
  CHECK(fs::last_write_time(folder.out() / "stub_y.cpp") > then);
  CHECK(fs::last_write_time(folder.out() / "parts/stub_z.cpp") == then);
}

TEST_CASE("write: what is no longer emitted goes, with its folder, unless it was edited") {
  const TemporaryFolder folder;
  folder.write(two_files);
  CHECK(folder.write({two_files[0]}).removed == 1);
  CHECK(folder.names() == Names{".kgen-manifest", "stub_y.cpp"});
  CHECK_FALSE(fs::exists(folder.out() / "parts"));

  folder.edit("stub_y.cpp", "mine\n");
  folder.edit("notes.txt", "not kgen's\n");
  Diagnostics diagnostics;
  CHECK(folder.write({two_files[1]}, diagnostics).removed == 0);
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(diagnostics.text(false).find("stub_y.cpp' is no longer emitted, and stays because it was edited") !=
        std::string::npos);
  CHECK(folder.read("stub_y.cpp") == "mine\n");
  CHECK(folder.read("notes.txt") == "not kgen's\n");
}

TEST_CASE("write: an edited file is kept beside the new one") {
  const TemporaryFolder folder;
  folder.write(two_files);
  folder.edit("stub_y.cpp", "mine\n");
  Diagnostics diagnostics;
  const WriteReport report = folder.write({{"stub_y.cpp", "new\n"}, two_files[1]}, diagnostics);
  CHECK(report.set_aside == 1);
  CHECK(report.written == 1);
  CHECK_FALSE(diagnostics.has_errors());
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].message.find("stub_y.cpp' was edited since kgen wrote it, and is kept as '") !=
        std::string::npos);
  CHECK(folder.read("stub_y.cpp") == "new\n");
  CHECK(folder.read("stub_y.cpp.edited") == "mine\n");

  folder.edit("stub_y.cpp", "mine again\n");
  folder.write({{"stub_y.cpp", "newer\n"}, two_files[1]}, diagnostics);
  CHECK(folder.read("stub_y.cpp.edited") == "mine\n");
  CHECK(folder.read("stub_y.cpp.edited.2") == "mine again\n");
  CHECK(folder.read("stub_y.cpp") == "newer\n");
}

TEST_CASE("write: an edit is kept even where the same text is emitted as before") {
  const TemporaryFolder folder;
  folder.write(two_files);
  folder.edit("stub_y.cpp", "mine\n");
  Diagnostics diagnostics;
  CHECK(folder.write(two_files, diagnostics).set_aside == 1);
  CHECK(folder.read("stub_y.cpp.edited") == "mine\n");
}

TEST_CASE("write: a file that kgen did not write is kept too") {
  const TemporaryFolder folder;
  fs::create_directories(folder.out());
  folder.edit("stub_y.cpp", "somebody's\n");
  Diagnostics diagnostics;
  CHECK(folder.write(two_files, diagnostics).set_aside == 1);
  CHECK(diagnostics.text(false).find("was not written by kgen") != std::string::npos);
  CHECK(folder.read("stub_y.cpp.edited") == "somebody's\n");
  CHECK(folder.read("stub_y.cpp") == "first\n");
}

TEST_CASE("write: a pinned file is left alone where it exists") {
  const TemporaryFolder folder;
  CHECK(folder.write(two_files, {"stub_y.cpp"}).written == 2);
  folder.edit("stub_y.cpp", "mine\n");
  const WriteReport report = folder.write({{"stub_y.cpp", "new\n"}, two_files[1]}, {"stub_y.cpp"});
  CHECK(report.pinned == 1);
  CHECK(report.written == 0);
  CHECK(folder.read("stub_y.cpp") == "mine\n");
  CHECK(folder.write({two_files[1]}, {"stub_y.cpp"}).removed == 0);
  CHECK(folder.read("stub_y.cpp") == "mine\n");

  // No longer pinned: still known as an edit.
  Diagnostics diagnostics;
  CHECK(folder.write(two_files, diagnostics).set_aside == 1);
  CHECK(folder.read("stub_y.cpp.edited") == "mine\n");
}

TEST_CASE("write: a damaged manifest makes files count as edited") {
  const TemporaryFolder folder;
  folder.write(two_files);
  folder.edit(".kgen-manifest", "<<<<<<< ours\nzzzz\n");
  Diagnostics diagnostics;
  CHECK(folder.write({{"stub_y.cpp", "new\n"}, two_files[1]}, diagnostics).set_aside == 1);
  CHECK(folder.read("stub_y.cpp.edited") == "first\n");
}

TEST_CASE("write: a manifest cannot reach out of its folder") {
  const TemporaryFolder folder;
  folder.write(two_files);
  std::ofstream(folder.path() / "outside.txt") << "first\n";
  folder.edit(".kgen-manifest", fmt::format("{:016x}  ../outside.txt\n", kgen::content_hash("first\n")));
  Diagnostics diagnostics;
  folder.write(two_files, diagnostics);
  CHECK(fs::exists(folder.path() / "outside.txt"));
}

TEST_CASE("write: a path that leads out of the folder, or stands twice, touches nothing") {
  const auto message = [](const std::vector<SourceFile>& files) {
    const TemporaryFolder folder;
    Diagnostics diagnostics;
    folder.write(files, diagnostics);
    CHECK(diagnostics.has_errors());
    CHECK_FALSE(fs::exists(folder.out()));
    return diagnostics.text(false);
  };
  const std::string outside = "' is not the path of a file below the output folder\n";
  for (const std::string path : {"../a.cpp", "/a.cpp", "a/../../b.cpp", "", ".", "a/", "a\nb", ".kgen-manifest"}) {
    CHECK(message({{"ok.cpp", ""}, {path, ""}}) == "error: '" + path + outside);
  }
  CHECK(message({{"a.cpp", "1"}, {"a.cpp", "2"}}) == "error: 'a.cpp' would be written twice\n");
}

TEST_CASE("write: something in the way touches no file") {
  const TemporaryFolder folder;
  folder.write(two_files);
  fs::create_directories(folder.out() / "third.cpp/inside");
  folder.edit("fourth", "");
  const auto before = folder.files();
  const auto message = [&](const SourceFile& file) {
    Diagnostics diagnostics;
    folder.write({{"stub_y.cpp", "changed\n"}, file}, diagnostics);
    CHECK(diagnostics.has_errors());
    CHECK(folder.files() == before);
    CHECK_FALSE(fs::exists(folder.out() / ".kgen-staging"));
    return diagnostics.text(false);
  };
  CHECK(message({"third.cpp", ""}).find("third.cpp': what is there is not a file") != std::string::npos);
  CHECK(message({"fourth/stub.cpp", ""}).find("fourth' is in the way: a folder is needed there") != std::string::npos);
  CHECK(message({std::string(300, 'x') + ".cpp", ""}).find("File name too long") != std::string::npos);
}

TEST_CASE("write: an edited file that cannot be kept is not touched") {
  const TemporaryFolder folder;
  const std::string name(250, 'x');  // no room for ".edited"
  folder.write({{name, "first\n"}, two_files[0]});
  folder.edit(name, "mine\n");
  const auto before = folder.files();
  Diagnostics diagnostics;
  folder.write({{name, "new\n"}, {"stub_y.cpp", "new\n"}}, diagnostics);
  CHECK(diagnostics.text(false).find("File name too long") != std::string::npos);
  CHECK(folder.files() == before);
}

TEST_CASE("write: a folder that cannot be made leaves nothing behind") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "content";
  const auto message = [&](const fs::path& target) {
    Diagnostics diagnostics;
    const WriteReport report = kgen::write_files(two_files, {target, {}}, diagnostics);
    CHECK(report.written == 0);
    CHECK(diagnostics.has_errors());
    return diagnostics.text(false);
  };
  CHECK(message(folder.path() / "file").find("Not a directory") != std::string::npos);
  CHECK(message(folder.path() / "file/below").find("Not a directory") != std::string::npos);
  CHECK(message(folder.path() / "new" / std::string(300, 'x')).find("File name too long") != std::string::npos);
  CHECK(message("").find("cannot create the folder") != std::string::npos);
  CHECK(message("/proc/kgen/out").find("cannot create the folder '/proc/kgen/out'") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.path() / "new"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("write: a folder made for a run that fails goes with it") {
  const TemporaryFolder folder;
  Diagnostics diagnostics;
  folder.write({two_files[0], {std::string(300, 'x'), ""}}, diagnostics);
  CHECK(diagnostics.has_errors());
  CHECK_FALSE(fs::exists(folder.out()));
}

TEST_CASE("write: an unwritable folder is named once, and no file is touched") {
  if (::geteuid() == 0) return;  // root may write anywhere
  const TemporaryFolder folder;
  folder.write(two_files);
  const auto before = folder.files();
  fs::permissions(folder.out(), fs::perms::owner_read | fs::perms::owner_exec);
  Diagnostics diagnostics;
  folder.write({{"stub_y.cpp", "new"}, {"other.cpp", "new"}}, diagnostics);
  CHECK(folder.files() == before);
  fs::permissions(folder.out(), fs::perms::owner_all);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.text(false).find("out': Permission denied") != std::string::npos);
}

TEST_CASE("write: a run that is killed leaves whole files, and no edit is imagined") {
  constexpr int count = 400;
  const std::string old_text(5000, 'a'), new_text(5000, 'b');
  std::vector<SourceFile> old_files, new_files;
  for (int i = 0; i < count; ++i) {
    old_files.push_back({"stub_" + std::to_string(i) + ".cpp", old_text});
    new_files.push_back({"stub_" + std::to_string(i) + ".cpp", new_text});
  }
  for (const int killed_after : {-1, 0, 1, 50, 200}) {  // files in place; -1: while they are written aside
    const TemporaryFolder folder;
    folder.write(old_files);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      Diagnostics diagnostics;
      kgen::write_files(new_files, {folder.out(), {}}, diagnostics);
      ::_exit(0);
    }
    if (killed_after < 0) {
      const fs::path staged = folder.out() / ".kgen-staging/stub_200.cpp";
      while (!fs::exists(staged) && folder.read("stub_0.cpp") == old_text) std::this_thread::yield();
    } else {
      while (folder.read(old_files[killed_after].path) == old_text) std::this_thread::yield();
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    int replaced = 0;
    for (const SourceFile& file : old_files) {
      const std::string content = folder.read(file.path);
      replaced += content == new_text;
      const bool whole = content == old_text || content == new_text;
      CHECK(whole);
    }
    CHECK(replaced > killed_after);
    folder.write({{"stub_0.cpp", "third"}});  // checks that nothing is reported as edited
    CHECK(folder.names() == Names{".kgen-manifest", "stub_0.cpp"});
  }
}

TEST_CASE("write: two runs at once take turns") {
  const TemporaryFolder folder;
  const auto run = [&](const std::string& content) {
    std::vector<SourceFile> files;
    for (int i = 0; i < 50; ++i) files.push_back({"stub_" + std::to_string(i) + ".cpp", content});
    for (int i = 0; i < 5; ++i) {
      Diagnostics diagnostics;
      kgen::write_files(files, {folder.out(), {}}, diagnostics);
      if (!diagnostics.all().empty()) return false;
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

TEST_CASE("manifest: text and back") {
  const kgen::Manifest manifest = {{"b c.cpp", {1, 0xfedcba9876543210}}, {"a/x.hpp", {2}}};
  const std::string text = kgen::manifest_text(manifest);
  CHECK(text.ends_with("\n0000000000000002  a/x.hpp\n0000000000000001  b c.cpp\nfedcba9876543210  b c.cpp\n"));
  CHECK(kgen::parse_manifest(text) == manifest);
  CHECK(kgen::parse_manifest("").empty());
  CHECK(kgen::parse_manifest("000000000000000g  a\n0000000000000001 a\n0000000000000001  ").empty());
  CHECK(kgen::wrote({{"a", {kgen::content_hash("x")}}}, "a", "x"));
  CHECK_FALSE(kgen::wrote({{"a", {kgen::content_hash("x")}}}, "a", "y"));
  CHECK_FALSE(kgen::wrote({}, "a", "x"));
}

TEST_CASE("manifest: the hash is FNV-1a") {  // the values that its authors publish
  CHECK(kgen::content_hash("") == 0xcbf29ce484222325);
  CHECK(kgen::content_hash("a") == 0xaf63dc4c8601ec8c);
  CHECK(kgen::content_hash("foobar") == 0x85944171f73967e8);
}

TEST_CASE("depfile: one rule, escaped as make reads it") {
  CHECK(kgen::depfile_text({"src/stamp"}, {"g.yaml", "specs/ops/math.yaml"}) ==
        "src/stamp: \\\n  g.yaml \\\n  specs/ops/math.yaml\n");
  CHECK(kgen::depfile_text({"a", "b"}, {}) == "a b:\n");
  CHECK(kgen::depfile_text({"my out"}, {"a#b", "c$d", "e\\f", "g\\ h", "i:j"}) ==
        "my\\ out: \\\n  a\\#b \\\n  c$$d \\\n  e\\f \\\n  g\\\\\\ h \\\n  i\\:j\n");
  const TemporaryFolder folder;
  Diagnostics diagnostics;
  CHECK(kgen::write_depfile(folder.path() / "g.d", {"t"}, {"d"}, diagnostics));
  std::error_code error;
  CHECK(kgen::read_file(folder.path() / "g.d", error) == "t: \\\n  d\n");
  CHECK_FALSE(kgen::write_depfile(folder.path() / "none/g.d", {"t"}, {"d"}, diagnostics));
  CHECK(diagnostics.text(false).find("none/g.d': No such file or directory") != std::string::npos);
}
