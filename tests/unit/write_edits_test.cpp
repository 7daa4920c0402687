// What becomes of edits when kgen writes again.
#include <fmt/format.h>

#include <chrono>

#include "generator/base/hash.hpp"
#include "tests/unit/write_fixture.hpp"

namespace fs = std::filesystem;
using namespace kgen;

namespace {

// A stub with room for edits that do not touch each other; `add` stands in a line of its own.
std::string stub(const std::string& add) {
  return fmt::format(
      "#include \"kgen/view.hpp\"\n"
      "\n"
      "// y: add, mul\n"
      "struct stub_y {{\n"
      "  const auto sum = {};\n"
      "  const auto scaled = mul(sum, 2);\n"
      "\n"
      "  y.store(scaled);\n"
      "}};\n",
      add);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

const std::string store = "y.store(scaled);", my_store = "y.store(mine(scaled));";
const SourceFile other = {"other.cpp", "other\n"};

std::vector<SourceFile> emitted(const std::string& text) { return {{"stubs/stub_y.cpp", text}, other}; }

// A folder with an edited stub.
struct Edited : TemporaryFolder {
  explicit Edited(const std::string& from = store, const std::string& to = my_store) {
    write(emitted(stub("add(a, b)")));
    edit("stubs/stub_y.cpp", replaced(stub("add(a, b)"), from, to));
  }
  std::string stub_text() const { return read("stubs/stub_y.cpp"); }
};

}  // namespace

TEST_CASE("edits: without anything new they stay, and nothing is touched") {
  const Edited folder;
  const auto before = folder.all_files();
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(24);
  for (const auto& [name, content] : before) fs::last_write_time(folder.out() / name, then);
  for (int i = 0; i < 2; ++i) {
    const WriteReport report = folder.write(emitted(stub("add(a, b)")));
    CHECK(report.edited == 1);
    CHECK(report.unchanged == 1);
    CHECK(report.written == 0);
  }
  CHECK(folder.all_files() == before);
  for (const auto& [name, content] : before) CHECK(fs::last_write_time(folder.out() / name) == then);
}

TEST_CASE("edits: what is new elsewhere is merged in, again and again") {
  const Edited folder;
  for (const std::string add : {"add(a, c)", "add(a, d)", "add(a, b)"}) {
    const WriteReport report = folder.write(emitted(stub(add)));
    CHECK(report.merged == Names{"stubs/stub_y.cpp"});
    CHECK(report.written == 1);
    CHECK(folder.stub_text() == replaced(stub(add), store, my_store));
    CHECK(folder.base("stubs/stub_y.cpp") == stub(add));
  }
  // A second edit, then one that takes all of them back: the file is kgen's again.
  folder.edit("stubs/stub_y.cpp", "// mine\n" + folder.stub_text());
  CHECK(folder.write(emitted(stub("add(a, e)"))).merged.size() == 1);
  CHECK(folder.stub_text() == "// mine\n" + replaced(stub("add(a, e)"), store, my_store));
  folder.edit("stubs/stub_y.cpp", stub("add(a, e)"));
  const WriteReport report = folder.write(emitted(stub("add(a, f)")));
  CHECK(report.merged.empty());
  CHECK(report.written == 1);
  CHECK(folder.stub_text() == stub("add(a, f)"));
}

TEST_CASE("edits: a file that is written anew each time is never merged, and an edit of it is kept aside") {
  const TemporaryFolder folder;
  const auto lines = [](const std::string& text) {
    return std::vector<SourceFile>{{.path = "lines.yaml", .content = text, .merges = false}};
  };
  folder.write(lines("y: 4\n"));
  CHECK(folder.write(lines("y: 5\n")).written == 1);
  CHECK(folder.read("lines.yaml") == "y: 5\n");
  folder.edit("lines.yaml", "mine: 1\ny: 5\n");
  CHECK(folder.messages(lines("y: 6\n"), folder.options()) ==
        "warning: 'out/lines.yaml' was edited, and kgen writes it anew each time: it is kept as "
        "'out/lines.yaml.edited'\nhelp: carry over what you need from it, then remove it\n");
  CHECK(folder.read("lines.yaml") == "y: 6\n");
  CHECK(folder.read("lines.yaml.edited") == "mine: 1\ny: 5\n");
}

TEST_CASE("edits: a conflict is marked as git marks it, and all other files are written") {
  const Edited folder("add(a, b)", "add(a, mine)");
  WriteReport report;
  const std::string text =
      folder.messages({{"stubs/stub_y.cpp", stub("add(a, c)")}, {"other.cpp", "new\n"}}, folder.options(), &report);
  CHECK(text ==
        "out/stubs/stub_y.cpp:5:1: error: your edit and what kgen now writes change the same lines\n"
        "    5 | <<<<<<< yours\n"
        "      | ^\n"
        "note: your lines stand above =======, kgen's below\n"
        "help: leave the lines that you want, remove the markers, and run `kgen plan` again\n");
  CHECK(report.conflicts == 1);
  CHECK(report.written == 2);
  CHECK(folder.read("other.cpp") == "new\n");
  CHECK(folder.stub_text() == replaced(stub("add(a, b)"), "  const auto sum = add(a, b);\n",
                                       "<<<<<<< yours\n"
                                       "  const auto sum = add(a, mine);\n"
                                       "=======\n"
                                       "  const auto sum = add(a, c);\n"
                                       ">>>>>>> kgen\n"));
}

TEST_CASE("edits: a conflict that is not resolved is reported, and nothing is merged on top") {
  const Edited folder("add(a, b)", "add(a, mine)");
  folder.messages(emitted(stub("add(a, c)")), folder.options());
  const std::string conflicting = folder.stub_text();
  for (const std::string add : {"add(a, c)", "add(a, d)"}) {
    WriteReport report;
    const std::vector<SourceFile> files = {{"stubs/stub_y.cpp", stub(add)}, {"other.cpp", add}};
    const std::string text = folder.messages(files, folder.options(), &report);
    CHECK(text.starts_with("out/stubs/stub_y.cpp:5:1: error: a conflict of an earlier `kgen plan` is not resolved\n"));
    CHECK(report.conflicts == 1);
    CHECK(folder.stub_text() == conflicting);
    CHECK(folder.base("stubs/stub_y.cpp") == stub("add(a, c)"));
    CHECK(folder.read("other.cpp") == add);
  }
  // Half of it is not enough.
  folder.edit("stubs/stub_y.cpp", replaced(conflicting, "<<<<<<< yours\n", ""));
  CHECK(folder.messages(emitted(stub("add(a, d)")), folder.options()).starts_with("out/stubs/stub_y.cpp:8:1: error"));

  // Resolved: what came in the meantime is merged now.
  folder.edit("stubs/stub_y.cpp", replaced(stub("add(a, c)"), store, my_store));
  CHECK(folder.write(emitted(stub("add(a, d)"))).merged.size() == 1);
  CHECK(folder.stub_text() == replaced(stub("add(a, d)"), store, my_store));
}

TEST_CASE("edits: while something new waits for a conflict, the record says of which inputs the files are") {
  const Edited folder("add(a, b)", "add(a, mine)");
  const auto input_after = [&](const std::string& add, std::uint64_t hash) {
    WriteOptions options = folder.options();
    options.inputs = {{"../graph.yaml", hash}};
    folder.messages(emitted(stub(add)), options);
    return folder.manifest().inputs.at(0).hash;
  };
  CHECK(input_after("add(a, c)", 1) == 1);  // a conflict, but all that is new stands in it
  CHECK(input_after("add(a, d)", 2) == 1);
  CHECK(input_after("add(a, c)", 3) == 3);
}

TEST_CASE("edits: several conflicts are counted") {
  const TemporaryFolder folder;
  const std::string between = "\n\n\n\n\n";
  folder.write({{"a", "1" + between + "2\n"}});
  folder.edit("a", "my 1" + between + "my 2\n");
  const std::string text = folder.messages({{"a", "one" + between + "two\n"}}, folder.options());
  CHECK(text.find("\nnote: the file has 2 such places\n") != std::string::npos);
}

TEST_CASE("edits: a file that is no text is left, and all other files are written") {
  const TemporaryFolder folder;
  folder.write({{"a", "1\n"}, {"b", "1\n"}});
  const std::string mine("1\n\0", 3);
  folder.edit("a", mine);
  CHECK(folder.messages({{"a", "2\n"}, {"b", "2\n"}}, folder.options()) ==
        "error: cannot merge what is new into 'out/a': your file is no text\n"
        "help: remove what is no text from it, or the file itself, and run `kgen plan` again\n");
  CHECK(folder.read("a") == mine);
  CHECK(folder.base("a") == "1\n");
  CHECK(folder.read("b") == "2\n");
}

TEST_CASE("edits: the same change on both sides is no conflict") {
  const Edited folder("add(a, b)", "add(a, c)");
  const WriteReport report = folder.write(emitted(stub("add(a, c)")));
  CHECK(report.unchanged == 2);
  CHECK(folder.base("stubs/stub_y.cpp") == stub("add(a, c)"));

  // With another edit beside it there is nothing to write but the base.
  folder.edit("stubs/stub_y.cpp", replaced(stub("add(a, d)"), store, my_store));
  const WriteReport edited = folder.write(emitted(stub("add(a, d)")));
  CHECK(edited.edited == 1);
  CHECK(edited.written == 0);
  CHECK(folder.stub_text() == replaced(stub("add(a, d)"), store, my_store));
  CHECK(folder.base("stubs/stub_y.cpp") == stub("add(a, d)"));
}

TEST_CASE("edits: ends of lines, and no end at all") {
  const auto merged = [](const std::string& base, const std::string& mine, const std::string& theirs) {
    const TemporaryFolder folder;
    folder.write({{"a", base}});
    folder.edit("a", mine);
    folder.messages({{"a", theirs}}, folder.options());
    return folder.read("a");
  };
  CHECK(merged("1\n2\n3\n", "1\n2\n3", "one\n2\n3\n") == "one\n2\n3");
  CHECK(merged("1\r\n2\r\n3\r\n", "1\r\n2\r\nmine\r\n", "one\r\n2\r\n3\r\n") == "one\r\n2\r\nmine\r\n");
  CHECK(merged("1\n2\n3\n", "", "1\n2\n3\n") == "");
  CHECK(merged("1\n", "mine\n1\n", "1\n\n2\n") == "mine\n1\n\n2\n");
  // An editor that ends all lines in CRLF has edited no line.
  CHECK(merged("1\n2\n3\n", "1\r\n2\r\nmine\r\n", "one\n2\n3\n") == "one\r\n2\r\nmine\r\n");
  CHECK(merged("1\n2\n3\n", "1\r\n2\r\n3\r\n", "one\n2\n3\n") == "one\r\n2\r\n3\r\n");
  CHECK(merged("1\n2\n3\n", "1\r\n2\r\nmine", "one\n2\n3\n") == "one\r\n2\r\nmine");
  CHECK(merged("1\n2\n3\n", "mine\r\n2\r\n3\r\n", "one\n2\n3\n") ==
        "<<<<<<< yours\r\nmine\r\n=======\r\none\r\n>>>>>>> kgen\r\n2\r\n3\r\n");
  CHECK(merged("1\n2\n3\n4\n", "1\n2\n3\nmine\r\n", "one\n2\n3\n4\n") == "one\n2\n3\nmine\r\n");
}

TEST_CASE("edits: a file that is no longer emitted stays, and is told of until it is removed") {
  const Edited folder;
  const std::string warning =
      "warning: 'out/stubs/stub_y.cpp' is no longer emitted, and stays because it was edited\n"
      "help: remove it when you need it no more\n";
  const std::string mine = folder.stub_text();
  for (int i = 0; i < 2; ++i) {
    WriteReport report;
    CHECK(folder.messages({other}, folder.options(), &report) == warning);
    CHECK(report.removed == 0);
    CHECK(folder.stub_text() == mine);
  }
  CHECK(folder.manifest().files.at("stubs/stub_y.cpp").standing == Standing::orphaned);

  // Emitted again, it is merged as if it had never been away.
  CHECK(folder.write(emitted(stub("add(a, c)"))).merged.size() == 1);
  CHECK(folder.stub_text() == replaced(stub("add(a, c)"), store, my_store));

  CHECK(folder.messages({other}, folder.options()) == warning);
  fs::remove(folder.out() / "stubs/stub_y.cpp");
  CHECK(folder.write({other}).removed == 0);
  CHECK_FALSE(folder.manifest().files.contains("stubs/stub_y.cpp"));
  CHECK_FALSE(fs::exists(folder.out() / ".kgen/base/stubs"));
}

TEST_CASE("edits: a pinned file is left, and what it was edited from is kept") {
  const Edited folder;
  const std::string mine = folder.stub_text();
  const std::set<std::string> pinned = {"stubs/stub_y.cpp"};
  const WriteReport report = folder.write(emitted(stub("add(a, c)")), pinned);
  CHECK(report.pinned == 1);
  CHECK(report.written == 0);
  CHECK(folder.stub_text() == mine);
  CHECK(folder.base("stubs/stub_y.cpp") == stub("add(a, b)"));
  CHECK(folder.manifest().files.at("stubs/stub_y.cpp").standing == Standing::pinned);
  CHECK(folder.write({other}, pinned).removed == 0);  // even where it is no longer emitted
  CHECK(folder.stub_text() == mine);

  // No longer pinned: the edit is merged with all that it missed.
  CHECK(folder.write(emitted(stub("add(a, d)"))).merged.size() == 1);
  CHECK(folder.stub_text() == replaced(stub("add(a, d)"), store, my_store));

  // A pinned file that is not there is written.
  fs::remove(folder.out() / "stubs/stub_y.cpp");
  CHECK(folder.write(emitted(stub("add(a, d)")), pinned).written == 1);
}

TEST_CASE("edits: a file that kgen did not write is kept beside the new one") {
  const TemporaryFolder folder;
  fs::create_directories(folder.out() / "stubs");
  for (const std::string name : {"stubs/stub_y.cpp.edited", "stubs/stub_y.cpp.edited.2"}) {
    folder.edit("stubs/stub_y.cpp", "somebody's " + name);
    WriteReport report;
    CHECK(folder.messages(emitted(stub("add(a, b)")), folder.options(), &report) ==
          "warning: 'out/stubs/stub_y.cpp' was not written by kgen: it is kept as 'out/" + name +
              "'\nhelp: carry over what you need from it, then remove it\n");
    CHECK(report.kept_aside == 1);
    CHECK(folder.read(name) == "somebody's " + name);
    CHECK(folder.read("stubs/stub_y.cpp") == stub("add(a, b)"));
    fs::remove_all(folder.out() / ".kgen");
  }
  // What it would write anyway is taken over as it is.
  CHECK(folder.write(emitted(stub("add(a, b)"))).unchanged == 2);
  CHECK(folder.write(emitted(stub("add(a, c)"))).written == 1);
}

TEST_CASE("edits: where the base is lost or damaged, an edited file is kept aside, and any other is not") {
  for (const std::string damage : {"", "<<<<<<< ours\nnot what kgen wrote\n"}) {
    const Edited folder;
    const std::string mine = folder.stub_text();
    if (damage.empty()) {
      fs::remove_all(folder.out() / ".kgen/base");
    } else {
      folder.edit(".kgen/base/stubs/stub_y.cpp", damage);
    }
    CHECK(folder.messages(emitted(stub("add(a, c)")), folder.options()) ==
          "warning: 'out/stubs/stub_y.cpp' was edited, but what it was made from is lost: it is kept as "
          "'out/stubs/stub_y.cpp.edited'\nhelp: carry over what you need from it, then remove it\n");
    CHECK(folder.read("stubs/stub_y.cpp.edited") == mine);
    CHECK(folder.stub_text() == stub("add(a, c)"));
    CHECK(folder.base("other.cpp") == "other\n");
  }
}

TEST_CASE("edits: an edited file that cannot be kept aside is not touched") {
  const TemporaryFolder folder;
  const std::string name(250, 'x');  // no room for ".edited"
  fs::create_directories(folder.out());
  folder.edit(name, "mine\n");
  CHECK(folder.messages({{name, "new\n"}}, folder.options()).find("File name too long") != std::string::npos);
  CHECK(folder.read(name) == "mine\n");
}

TEST_CASE("edits: a manifest of the form before bases is understood") {
  const TemporaryFolder folder;
  fs::create_directories(folder.out() / "my stubs");
  const auto line = [](const std::string& content, const std::string& path) {
    return fmt::format("{}  {}\n", hash_text(content_hash(content)), path);
  };
  folder.edit("a.cpp", "a\n");
  folder.edit("my stubs/b.cpp", "b mine\n");
  folder.edit("gone.cpp", "gone\n");
  folder.edit(".kgen-manifest", "# Written by kgen\n" + line("a\n", "a.cpp") + line("a new\n", "a.cpp") +
                                    line("b\n", "my stubs/b.cpp") + line("gone\n", "gone.cpp") +
                                    line("x", "../outside"));
  WriteReport report;
  const std::string text = folder.messages({{"a.cpp", "a2\n"}, {"my stubs/b.cpp", "b2\n"}}, folder.options(), &report);
  CHECK(text.starts_with("warning: 'out/my stubs/b.cpp' was edited, but what it was made from is lost"));
  CHECK(report.written == 2);
  CHECK(report.removed == 1);
  CHECK(folder.names() == Names{"a.cpp", "my stubs/b.cpp", "my stubs/b.cpp.edited"});
  CHECK(folder.write({{"a.cpp", "a2\n"}, {"my stubs/b.cpp", "b2\n"}}).unchanged == 2);
}
