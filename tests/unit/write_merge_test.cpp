// The parts that edits are kept with: merges, differences, records.
#include "generator/write/manifest.hpp"
#include "generator/write/record.hpp"
#include "generator/write/text_merge.hpp"
#include "tests/unit/write_fixture.hpp"

using namespace kgen;

TEST_CASE("merge: changes apart, changes that touch, and changes alike") {
  const auto apart = merge_texts("1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n");
  REQUIRE(apart);
  CHECK(apart->clean);
  CHECK(apart->text == "one\n2\nthree\n");
  const auto touching = merge_texts("1\n2\n", "one\n2\n", "1\ntwo\n");
  REQUIRE(touching);
  CHECK_FALSE(touching->clean);
  CHECK(touching->text == "<<<<<<< yours\none\n2\n=======\n1\ntwo\n>>>>>>> kgen\n");
  CHECK(merge_texts("1\n", "one\n", "one\n")->text == "one\n");
  CHECK(merge_texts("", "", "")->text == "");
  CHECK(merge_texts("", "mine\n", "theirs\n")->clean == false);
  CHECK(merge_texts("1\n", "", "1\n")->text == "");
  CHECK_FALSE(merge_texts("1\n2\n", std::string("1\0\n2\n", 5), "1\ntwo\n"));
}

TEST_CASE("merge: markers are found on lines of their own") {
  using Lines = std::vector<std::uint32_t>;
  CHECK(conflict_lines("").empty());
  CHECK(conflict_lines("a\n=======\n// <<<<<<< yours\n <<<<<<< yours\n<<<<<<< HEAD\n").empty());
  CHECK(conflict_lines("a\n<<<<<<< yours\nb\n=======\nc\n>>>>>>> kgen\n<<<<<<< yours\n") == Lines{2, 7});
  CHECK(conflict_lines("a\r\n<<<<<<< yours\r\n>>>>>>> kgen\r\n>>>>>>> kgen") == Lines{2, 4});
}

TEST_CASE("diff: unified, as git has it") {
  const std::string before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n", after = "1\n2\n3\n4\nfive\n6\n7\n8\n9";
  CHECK(unified_diff("stubs/a.cpp", before, after, false) ==
        "diff --git a/stubs/a.cpp b/stubs/a.cpp\n"
        "--- a/stubs/a.cpp\n"
        "+++ b/stubs/a.cpp\n"
        "@@ -2,8 +2,8 @@\n"
        " 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n-9\n+9\n"
        "\\ No newline at end of file\n");
  CHECK(unified_diff("a", before, before, false) == "");
  CHECK(unified_diff("a", "1\n", "2\n", true) ==
        "\x1b[1mdiff --git a/a b/a\x1b[m\n\x1b[1m--- a/a\x1b[m\n\x1b[1m+++ b/a\x1b[m\n"
        "\x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[31m-1\x1b[m\n\x1b[32m+2\x1b[m\n");
}

TEST_CASE("record: text and back") {
  const RecordLine line{"file", {"pinned", "x=y"}, 0xfedcba9876543210, "a path/of =.cpp"};
  CHECK(record_text(line) == "file pinned x=y hash=fedcba9876543210 path=a path/of =.cpp\n");
  const std::vector<RecordLine> read = parse_record("# comment\n\n" + record_text(line) + "kgen 1.0");
  REQUIRE(read.size() == 2);
  CHECK(read[0].kind == "file");
  CHECK(read[0].words == line.words);
  CHECK(read[0].hash == line.hash);
  CHECK(read[0].path == line.path);
  CHECK(read[1].words == Names{"1.0"});
  CHECK_FALSE(parse_record("file hash=fedcba987654321g path=a")[0].hash);
  CHECK_FALSE(parse_record("file hash=fedc path=a")[0].hash);
}

TEST_CASE("record: a path with a line end stays on its line") {
  const std::string path = "evil\nfile hash=0000000000000000 path=stub_y.cpp\\n\\";
  const std::string text = record_text({"input", {}, std::uint64_t{1}, path});
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  const std::vector<RecordLine> read = parse_record(text);
  REQUIRE(read.size() == 1);
  CHECK(read[0].path == path);
}

TEST_CASE("manifest: text and back") {
  const Manifest manifest = {"1.0",
                             {{"kgen:a.yaml", 1}, {"../my graph.yaml", 2}},
                             {"../my kernels"},
                             {{"b c.cpp", {3, Standing::pinned}}, {"a/x.hpp", {4, Standing::emitted}},
                              {"z.cpp", {0xfedcba9876543210, Standing::orphaned}}}};
  const std::string text = manifest_text(manifest);
  CHECK(text.ends_with("kgen 1.0\n"
                       "input hash=0000000000000001 path=kgen:a.yaml\n"
                       "input hash=0000000000000002 path=../my graph.yaml\n"
                       "include path=../my kernels\n"
                       "file hash=0000000000000004 path=a/x.hpp\n"
                       "file pinned hash=0000000000000003 path=b c.cpp\n"
                       "file orphaned hash=fedcba9876543210 path=z.cpp\n"));
  Diagnostics none;
  CHECK(parse_manifest(text, "manifest", none) == manifest);
  // What a later kgen may add is passed over.
  const std::string hash = "hash=0000000000000001";
  CHECK(parse_manifest("kgen 2.0\nfile " + hash + " unformatted=1 later path=a\nlater " + hash + " path=b\n", "", none)
            .files == decltype(Manifest::files){{"a", {1, Standing::emitted}}});
  CHECK(none.all().empty());
}

TEST_CASE("manifest: damage is named, and nothing is read from what is left") {
  const auto said = [](const std::string& text) {
    Diagnostics diagnostics;
    CHECK(parse_manifest(text, "src/.kgen/manifest", diagnostics) == Manifest{});
    return diagnostics.text(false);
  };
  const std::string advice =
      "note: by its manifest kgen tells what you edited from what it wrote; nothing was touched\n"
      "help: take it back from version control; or remove .kgen and run `kgen plan`, which then keeps each file that "
      "differs from what it writes as <file>.edited\n";
  const std::string hash = "hash=0000000000000001";
  for (const std::string line : {"<<<<<<< ours", "file path=a", "file hash=1 path=a", "include", "input path=a",
                                 "kgen 1.0 2.0"}) {
    CHECK(said("kgen 1.0\n\n" + line + "\n") ==
          "error: 'src/.kgen/manifest' is damaged in line 3: '" + line + "'\n" + advice);
  }
  for (const std::string path : {"../a", "/a", "a/../../b", "a//b", ".kgen/manifest", "a/"}) {
    const std::string line = "file " + hash + " path=" + path;
    CHECK(said("kgen 1.0\n" + line + "\n") ==
          "error: 'src/.kgen/manifest' is damaged in line 2: '" + line + "'\n" + advice);
  }
  const std::string mute = "error: 'src/.kgen/manifest' is damaged: it does not say which kgen wrote it\n" + advice;
  CHECK(said("") == mute);
  CHECK(said("file " + hash + " path=a\n") == mute);
  CHECK(said("kgen 1.0\nfile " + hash + " path=stubs/stub_") ==
        "error: 'src/.kgen/manifest' is damaged: its end is missing\n" + advice);
}
