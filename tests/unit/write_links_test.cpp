// A folder that somebody else made may hold links, pipes and records that lie. Nothing outside of it is ever touched.
#include <fmt/format.h>
#include <sys/stat.h>

#include "generator/base/hash.hpp"
#include "generator/write/disk.hpp"
#include "generator/write/status.hpp"
#include "tests/unit/write_fixture.hpp"

namespace fs = std::filesystem;
using namespace kgen;

namespace {

const std::vector<SourceFile> emitted = {{"a.cpp", "a\n"}, {"stubs/b.cpp", "b\n"}};
const std::vector<SourceFile> emitted_anew = {{"a.cpp", "a new\n"}, {"stubs/b.cpp", "b new\n"}, {"stubs/c.cpp", "c\n"}};

// An emitted folder beside one that is none of its business.
struct Attacked : TemporaryFolder {
  Attacked() {
    write(emitted);
    fs::create_directories(outside());
    std::ofstream(outside() / "b.cpp") << "b\n";
    std::ofstream(outside() / "secret") << "secret\n";
  }
  fs::path outside() const { return path() / "outside"; }
  // Replaces what is in the folder by a link to something beside it.
  void link(const std::string& name, const std::string& target = "outside") const {
    fs::remove_all(out() / name);
    fs::create_directories((out() / name).parent_path());
    fs::create_symlink(path() / target, out() / name);
  }
  void add(const std::string& name, const std::string& content) const {
    fs::create_directories((out() / name).parent_path());
    edit(name, content);
  }
  // An update that seems to have been left by a run that was killed: it writes stubs/b.cpp and removes a.cpp.
  void leave_update(const std::string& more_steps = "") const {
    const auto hash = [](const std::string& content) { return hash_text(content_hash(content)); };
    add(".kgen/pending/files/stubs/b.cpp", "attack\n");
    add(".kgen/pending/base/stubs/b.cpp", "attack\n");
    add(".kgen/pending/steps",
        fmt::format("write hash={} path=stubs/b.cpp\nremove hash={} path=a.cpp\n", hash("b\n"), hash("a\n")) +
            more_steps);
    add(".kgen/pending/manifest", fmt::format("kgen 1.0\nfile hash={} path=stubs/b.cpp\n", hash("attack\n")));
  }
  std::string plan() const { return messages(emitted_anew, options()); }
  std::string status() const {
    Diagnostics diagnostics;
    const FolderStatus status = folder_status(out(), diagnostics);
    return diagnostics.has_errors() ? shown(diagnostics) : status_text(status, {});
  }
  void check_outside() const {
    std::map<std::string, std::string> left;
    for (const auto& entry : fs::directory_iterator(outside())) {
      std::error_code error;
      left[entry.path().filename().string()] = read_file(entry.path(), error).value_or("unreadable");
    }
    CHECK(left == std::map<std::string, std::string>{{"b.cpp", "b\n"}, {"secret", "secret\n"}});
    CHECK(std::distance(fs::directory_iterator(path()), {}) == 2);
  }
};

std::string link_error(const std::string& name) {
  return "error: 'out/" + name +
         "' is a link: kgen writes to no place outside of its folder\n"
         "help: put a folder there, or give --emit the place where the link leads\n";
}

}  // namespace

TEST_CASE("links: an update that lies in a folder is carried out within it") {
  const Attacked folder;
  folder.leave_update();
  CHECK(folder.status() == "nothing edited, nothing to do\n");
  CHECK(folder.files() == std::map<std::string, std::string>{{"stubs/b.cpp", "attack\n"}});
  folder.check_outside();
}

TEST_CASE("links: an update does not leave the folder by one, and says so") {
  for (const std::string name : {"stubs", ".kgen/base/stubs"}) {
    const Attacked folder;
    folder.leave_update();
    folder.link(name);
    const auto before = folder.all_files();
    CHECK(folder.status() == link_error(name));
    CHECK(folder.plan() == link_error(name));
    CHECK(folder.all_files() == before);
    folder.check_outside();
  }
  for (const std::string name : {".kgen", ".kgen/base"}) {
    const Attacked folder;
    folder.leave_update();
    folder.link(name);
    const std::string message = "error: 'out/" + name +
                                "' is a link: kgen keeps its record of what it wrote in a folder of that name\n"
                                "help: move it away, and run `kgen plan` again\n";
    CHECK(folder.status() == message);
    CHECK(folder.plan() == message);
    folder.check_outside();
  }
}

TEST_CASE("links: an update is not read through one") {
  for (const std::string name : {"files", "files/stubs", "files/stubs/b.cpp", "base", "base/stubs"}) {
    const Attacked folder;
    folder.leave_update();
    folder.link(".kgen/pending/" + name);
    const std::string message =
        "error: 'out/.kgen/pending/" + name +
        "' is a link\n"
        "note: it is part of what a `kgen plan` that was stopped left to be finished; nothing was "
        "touched\nhelp: remove 'out/.kgen/pending', and run `kgen plan` again\n";
    CHECK(folder.status() == message);
    CHECK(folder.plan() == message);
    CHECK(folder.read("stubs/b.cpp") == "b\n");
    folder.check_outside();
  }
  for (const std::string name : {"", "/steps", "/manifest"}) {
    const Attacked folder;
    folder.leave_update();
    folder.link(".kgen/pending" + name);
    CHECK(folder.status().starts_with("error: cannot read 'out/.kgen/pending/"));
    folder.check_outside();
  }
}

TEST_CASE("links: what an update names must lie in the folder") {
  const std::string advice =
      "note: it is part of what a `kgen plan` that was stopped left to be finished; nothing was touched\n"
      "help: remove 'out/.kgen/pending', and run `kgen plan` again\n";
  for (const std::string path : {"../outside/b.cpp", "/etc/passwd", "stubs/../../outside/b.cpp", "stubs//b.cpp",
                                 "./a.cpp", ".kgen/manifest", "stubs/", "", "..", "stubs/b.cpp\\0"}) {
    const Attacked folder;
    std::string line = "remove path=" + path;
    if (const auto zero = line.find("\\0"); zero != line.npos) line.replace(zero, 2, std::string("\0/..", 4));
    folder.leave_update(line + "\n");
    const auto before = folder.all_files();
    const std::string said = folder.status();
    CHECK(said.starts_with("error: 'out/.kgen/pending/steps' is damaged in line 3: 'remove path="));
    CHECK(said.ends_with(advice));
    CHECK(folder.plan() == said);
    CHECK(folder.all_files() == before);
    folder.check_outside();
  }
}

TEST_CASE("links: a plan does not leave the folder by one") {
  const Attacked folder;
  folder.link("stubs");
  const auto before = folder.all_files();
  CHECK(folder.plan() == link_error("stubs"));
  CHECK(folder.all_files() == before);
  CHECK(fs::is_symlink(folder.out() / "stubs"));
  CHECK(folder.status() ==
        "unreadable   stubs/b.cpp: 'stubs' is a link\n\n"
        "Unreadable: let there be a file that you may read, or move away what is there and run `kgen plan`.\n");
  folder.check_outside();
  // Nor does it remove files there.
  CHECK(folder.messages({emitted[0]}, folder.options()) == link_error("stubs"));
  folder.check_outside();
}

TEST_CASE("links: a stub that is one stays one") {
  const Attacked folder;
  folder.link("stubs/b.cpp", "outside/b.cpp");
  CHECK(folder.plan() ==
        "error: cannot write 'out/stubs/b.cpp': what is there is not a file\n"
        "note: it is a link: kgen neither follows nor replaces one\n"
        "help: move it, or choose another output folder\n");
  CHECK(folder.read("a.cpp") == "a\n");
  CHECK(folder.status().starts_with("unreadable   stubs/b.cpp: a link is there\n"));
  // Pinned, it is as good as any file that the user put there.
  WriteReport report;
  CHECK(folder.messages(emitted_anew, folder.options({"stubs/b.cpp"}), &report) == "");
  CHECK(report.pinned == 1);
  CHECK(folder.status() == "pinned       stubs/b.cpp: a link is there\n");
  CHECK(fs::is_symlink(folder.out() / "stubs/b.cpp"));
  folder.check_outside();
}

TEST_CASE("links: what a killed run prepared is removed, and not what it links to") {
  const Attacked folder;
  folder.link(".kgen/staging");
  CHECK(folder.plan() == "");
  CHECK_FALSE(fs::exists(folder.out() / ".kgen/staging"));
  fs::create_directories(folder.out() / ".kgen/staging/files");
  folder.link(".kgen/staging/files/outside");
  CHECK(folder.status() == "nothing edited, nothing to do\n");
  CHECK_FALSE(fs::exists(folder.out() / ".kgen/staging"));
  folder.check_outside();
}

TEST_CASE("links: the folder itself may be reached through one") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "real");
  fs::create_directory_symlink("real", folder.out());
  folder.write(emitted);
  CHECK(fs::is_symlink(folder.out()));
  CHECK(fs::exists(folder.path() / "real/stubs/b.cpp"));
  CHECK(folder.write(emitted).unchanged == 2);
}

TEST_CASE("links: a folder that is one to nothing stays") {
  const TemporaryFolder folder;
  fs::create_symlink("none", folder.out());
  CHECK(folder.messages(emitted, folder.options()) ==
        "error: cannot create the folder 'out': No such file or directory\n"
        "note: it is a link to 'none'\n"
        "help: create the folder that it leads to, or remove the link\n");
  CHECK(fs::is_symlink(folder.out()));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("links: no name leads out of an emitted folder") {
  const Attacked attacked;
  attacked.link("way");
  const EmittedFolder folder(attacked.out());
  const std::vector<std::string> names = {"../outside/b.cpp",
                                          (attacked.outside() / "b.cpp").string(),
                                          "",
                                          ".",
                                          "..",
                                          "stubs//b.cpp",
                                          "stubs/../../outside/b.cpp",
                                          "way/b.cpp",
                                          "way/new/b.cpp",
                                          std::string("stubs\0/b.cpp", 12)};
  for (const std::string& name : names) {
    CAPTURE(name);
    std::error_code error;
    CHECK(folder.kind(name) == EntryKind::none);
    CHECK_FALSE(folder.read(name, error));
    CHECK(error);
    CHECK(folder.write(name, "attack\n"));
    CHECK(folder.move("a.cpp", name));
    CHECK(folder.move(name, "moved"));
    CHECK(folder.copy_permissions("a.cpp", name));
    CHECK(folder.copy_permissions(name, "a.cpp"));
    CHECK(folder.remove(name));
    CHECK(folder.remove_folder(name));
  }
  CHECK(folder.kind("way") == EntryKind::link);
  std::error_code error;
  CHECK_FALSE(folder.read("way", error));
  CHECK(folder.validate_writable("way"));
  CHECK(folder.obstacle("way/b.cpp") == "way");
  CHECK(attacked.read("a.cpp") == "a\n");
  attacked.check_outside();
}

TEST_CASE("links: a file that is written anew keeps its permissions") {
  const TemporaryFolder folder;
  folder.write(emitted);
  const auto mode = [&](const std::string& name) { return fs::status(folder.out() / name).permissions(); };
  const fs::perms read_only = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  fs::permissions(folder.out() / "a.cpp", read_only);
  fs::permissions(folder.out() / "stubs/b.cpp", fs::perms::owner_all);
  CHECK(folder.write(emitted_anew).written == 3);
  CHECK(folder.read("a.cpp") == "a new\n");
  CHECK(mode("a.cpp") == read_only);
  CHECK(mode("stubs/b.cpp") == fs::perms::owner_all);

  Diagnostics diagnostics;
  CHECK(replace_file(folder.out() / "a.cpp", "more\n", diagnostics));
  CHECK(folder.read("a.cpp") == "more\n");
  CHECK(mode("a.cpp") == read_only);
}

TEST_CASE("links: pipes are not waited for") {
  const Attacked folder;
  const auto pipe = [&](const std::string& name) {
    fs::remove_all(folder.out() / name);
    REQUIRE(::mkfifo((folder.out() / name).c_str(), 0600) == 0);
  };
  pipe("a.cpp");
  CHECK(folder.status().starts_with("unreadable   a.cpp: a pipe, socket or device is there\n"));
  CHECK(folder.plan().starts_with("error: cannot write 'out/a.cpp': what is there is not a file\n"));
  std::error_code error;
  CHECK_FALSE(read_file(folder.out() / "a.cpp", error));
  Diagnostics diagnostics;
  CHECK_FALSE(replace_file(folder.out() / "a.cpp", "text", diagnostics));
  CHECK(folder.shown(diagnostics) ==
        "error: cannot write 'out/a.cpp': a pipe, socket or device is there\nhelp: name a file\n");
  pipe(".kgen/manifest");
  CHECK(folder.status() == "error: cannot read 'out/.kgen/manifest': it is a pipe, socket or device\n");
}
