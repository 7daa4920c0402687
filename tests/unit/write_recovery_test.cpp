// kgen is killed at every change that it makes to the disk. Whatever it was about to do, no edit is lost, and the next
// run brings the folder to where it would have been.
#include "tests/unit/write_fixture.hpp"

namespace fs = std::filesystem;
using namespace kgen;

namespace {

using Files = std::map<std::string, std::string>;

// Far enough apart that changes of neighbouring parts do not touch.
std::string text(const std::string& first, const std::string& second, const std::string& third) {
  return first + "\n\n//\n\n" + second + "\n\n//\n\n" + third + "\n";
}

// What kgen emits in the round of that name.
std::vector<SourceFile> emission(const std::string& round) {
  std::vector<SourceFile> files = {
      {"unedited.cpp", text(round, "", "")},  {"edited.cpp", text(round, "", "")},
      {"conflict.cpp", text("", round, "")},  {"pinned.cpp", text(round, "", "")},
      {"missing.cpp", text(round, "", "")},   {"same.cpp", "same\n"},
      {"taken_over.cpp", text(round, "", "")}};
  if (round == "first") {
    files.push_back({"parts/orphan.cpp", "orphan\n"});
    files.push_back({"parts/edited_orphan.cpp", "orphan\n"});
  } else {
    files.push_back({"parts/new/new.cpp", text(round, "", "")});
    files.push_back({"foreign.cpp", text(round, "", "")});
  }
  return files;
}

const std::set<std::string> pinned = {"pinned.cpp"};

// A folder with one of everything that an update of emission("second") meets.
void prepare(const TemporaryFolder& folder) {
  folder.write(emission("first"));
  folder.edit("edited.cpp", text("first", "mine", ""));
  folder.edit("conflict.cpp", text("", "mine", ""));
  folder.edit("pinned.cpp", text("mine", "", ""));
  folder.edit("taken_over.cpp", text("second", "", ""));
  folder.edit("parts/edited_orphan.cpp", "mine\n");
  folder.edit("foreign.cpp", "mine\n");
  fs::remove(folder.out() / "missing.cpp");
}

struct Killed {};

// Writes emission(round) up to its change number `last`, where it ends: nothing in kgen catches what is thrown there,
// so that no more is done than by a process that is killed. True where it came to that.
bool write_until(const TemporaryFolder& folder, const std::string& round, int last) {
  int changes = 0;
  WriteOptions options = folder.options(pinned);
  options.before_change = [&] {
    if (++changes == last) throw Killed();
  };
  try {
    folder.messages(emission(round), options);
    return false;
  } catch (const Killed&) {
    return true;
  }
}

void write_whole(const TemporaryFolder& folder, const std::string& round) {
  folder.messages(emission(round), folder.options(pinned));
}

// What a folder comes to by whole runs.
Files after(const std::vector<std::string>& rounds) {
  const TemporaryFolder folder;
  prepare(folder);
  for (const std::string& round : rounds) write_whole(folder, round);
  return folder.all_files();
}

// Runs `check` on a folder after each change that an update to emission("second") can be killed at.
template <class Check>
void kill_at_every_change(Check&& check) {
  int last = 1;
  for (bool was_killed = true; was_killed; ++last) {
    const TemporaryFolder folder;
    prepare(folder);
    was_killed = write_until(folder, "second", last);
    CAPTURE(last);
    check(folder);
  }
  CHECK(last > 60);
}

}  // namespace

TEST_CASE("recovery: what an update comes to") {
  const Files files = after({"second"});
  CHECK(files.at("unedited.cpp") == text("second", "", ""));
  CHECK(files.at("edited.cpp") == text("second", "mine", ""));
  CHECK(files.at("conflict.cpp") == text("", "<<<<<<< yours\nmine\n=======\nsecond\n>>>>>>> kgen", ""));
  CHECK(files.at("pinned.cpp") == text("mine", "", ""));
  CHECK(files.at("missing.cpp") == text("second", "", ""));
  CHECK(files.at("foreign.cpp.edited") == "mine\n");
  CHECK(files.at("parts/edited_orphan.cpp") == "mine\n");
  CHECK(files.at("parts/new/new.cpp") == text("second", "", ""));
  CHECK_FALSE(files.contains("parts/orphan.cpp"));
  CHECK(files == after({"second", "second"}));
}

TEST_CASE("recovery: at every moment, each file is whole, and no edit is lost") {
  const Files before = after({}), done = after({"second"});
  kill_at_every_change([&](const TemporaryFolder& folder) {
    const Files files = folder.files();
    for (const auto& [name, content] : files) {
      const bool is_old = before.contains(name) && before.at(name) == content;
      const bool is_new = done.contains(name) && done.at(name) == content;
      CHECK_MESSAGE((is_old || is_new), name);
    }
    for (const std::string name : {"edited.cpp", "conflict.cpp", "pinned.cpp", "parts/edited_orphan.cpp"}) {
      REQUIRE(files.contains(name));
      CHECK(files.at(name).find("mine\n") != std::string::npos);
    }
    const bool foreign_is_there = files.contains("foreign.cpp") && files.at("foreign.cpp") == "mine\n";
    CHECK(foreign_is_there != files.contains("foreign.cpp.edited"));
  });
}

TEST_CASE("recovery: the next run of the same comes to the same") {
  const Files done = after({"second"});
  kill_at_every_change([&](const TemporaryFolder& folder) {
    write_whole(folder, "second");
    CHECK(folder.all_files() == done);
  });
}

TEST_CASE("recovery: the next run of another graph comes to what it would have, with the killed run or without") {
  const Files with = after({"second", "third"}), without = after({"third"});
  CHECK(with != without);
  bool seen_with = false, seen_without = false;
  kill_at_every_change([&](const TemporaryFolder& folder) {
    write_whole(folder, "third");
    const Files files = folder.all_files();
    seen_with = seen_with || files == with;
    seen_without = seen_without || files == without;
    const bool is_one_of_them = files == with || files == without;
    CHECK(is_one_of_them);
  });
  CHECK(seen_with);
  CHECK(seen_without);
}

TEST_CASE("recovery: an edit made after the kill is an edit, and kgen's own text is none") {
  kill_at_every_change([](const TemporaryFolder& folder) {
    for (const std::string name : {"unedited.cpp", "edited.cpp"}) folder.edit(name, folder.read(name) + "later\n");
    write_whole(folder, "second");
    CHECK(folder.read("unedited.cpp") == text("second", "", "") + "later\n");
    CHECK(folder.read("edited.cpp") == text("second", "mine", "") + "later\n");
    CHECK(folder.base("unedited.cpp") == text("second", "", ""));
    CHECK(folder.base("edited.cpp") == text("second", "", ""));
    write_whole(folder, "third");
    CHECK(folder.read("unedited.cpp") == text("third", "", "") + "later\n");
    CHECK(folder.read("edited.cpp") == text("third", "mine", "") + "later\n");
  });
}

TEST_CASE("recovery: a run that recovers may be killed too") {
  const Files done = after({"second"});
  for (const int again : {1, 4, 9, 30}) {
    CAPTURE(again);
    kill_at_every_change([&](const TemporaryFolder& folder) {
      write_until(folder, "second", again);
      write_until(folder, "second", again + 1);
      write_whole(folder, "second");
      CHECK(folder.all_files() == done);
    });
  }
}

TEST_CASE("recovery: a damaged list of steps cannot reach out of the folder") {
  const TemporaryFolder folder;
  folder.write({{"a.cpp", "a\n"}});
  std::ofstream(folder.path() / "outside") << "content";
  fs::create_directories(folder.out() / ".kgen/pending/files");
  folder.edit(".kgen/pending/manifest", folder.read(".kgen/manifest"));
  for (const std::string step : {"remove path=../outside", "write path=/outside", "nonsense"}) {
    folder.edit(".kgen/pending/steps", step + "\n");
    CHECK(folder.messages({{"a.cpp", "b\n"}}, folder.options())
              .starts_with("error: 'out/.kgen/pending/steps' is damaged in line 1: '" + step + "'\n"));
    CHECK(folder.read("a.cpp") == "a\n");
  }
  fs::remove_all(folder.out() / ".kgen/pending");
  folder.write({{"a.cpp", "b\n"}});
  CHECK(fs::exists(folder.path() / "outside"));
  CHECK(folder.read("a.cpp") == "b\n");
  CHECK_FALSE(fs::exists(folder.out() / ".kgen/pending"));
}
