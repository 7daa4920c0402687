// Edited stubs against the signatures that their wrapper calls: what Clang reads, and what is said of it.
#include <cstdlib>

#include "generator/stub_signatures.hpp"
#include "tests/unit/write_fixture.hpp"

namespace fs = std::filesystem;
using namespace kgen;

namespace {

const std::string header =
    "#pragma once\n"
    "namespace g {\n"
    "template <class T, int Rank> struct View {};\n"
    "using Matrix = View<float, 2>;\n"
    "void stub_y(Matrix y, Matrix a, Matrix b, int stream);\n"
    "}\n";
const std::string stub = "namespace g {\nvoid stub_y(Matrix y, Matrix a, Matrix b, int stream) {}\n}\n";

// What is said of a stub that was edited to this text.
std::string said_of(const std::string& text, const std::string& path = "stubs/stub_y.cpp") {
  const TemporaryFolder folder;
  folder.write({{"stubs.hpp", header}, {path, stub}, {"other.cpp", ""}});
  folder.edit(path, text);
  folder.edit("other.cpp", "no C++");
  SourceMap sources;
  Diagnostics diagnostics;
  compare_stub_signatures(folder.out(), folder_status(folder.out(), diagnostics), {}, sources, diagnostics);
  std::string said = diagnostics.text(false);
  const std::string prefix = folder.path().string() + "/";
  for (auto at = said.find(prefix); at != said.npos; at = said.find(prefix)) said.erase(at, prefix.size());
  return said;
}

// The same for a stub of these parameters.
std::string said_of_parameters(const std::string& parameters, const std::string& result = "void") {
  return said_of("namespace g {\n" + result + " stub_y(" + parameters + ") {}\n}\n");
}

const std::string help = "help: give the stub the signature that is declared, or change the graph instead\n";

}  // namespace

TEST_CASE("signatures: what Clang reads of two files") {
  const TemporaryFolder folder;
  fs::create_directories(folder.out() / "include");
  folder.edit("include/types.hpp", "#include <cstdint>\ntemplate <class T> struct Box {};\nvoid included();\n");
  folder.edit("a.hpp",
              "#include <types.hpp>\n"
              "extern \"C\" int c(void);\n"
              "namespace n { void f(const Box<std::int64_t>& x); }\n");
  folder.edit("a.cpp",
              "void n::f(const Box<long>& other) { error; }\n"
              "template <class T> void t(T);\n"
              "struct S { void m(); };\n");
  SourceMap sources;
  Diagnostics diagnostics, none;
  const SignatureRequest request{{(folder.out() / "a.hpp").string(), (folder.out() / "a.cpp").string()},
                                 {(folder.out() / "include").string()}};
  const ClangServices* clang = clang_services("test", none);
  REQUIRE_MESSAGE(clang, none.text(false));
  const auto found = clang->signatures(request, sources, diagnostics);
  REQUIRE(found.size() == 3);
  CHECK(found[0].name == "c");
  CHECK(found[0].result == "int");
  CHECK(found[0].parameters.empty());
  CHECK(found[1].name == "n::f");
  REQUIRE(found[1].parameters.size() == 1);
  CHECK(found[1].parameters[0].name == "x");
  CHECK(found[1].parameters[0].type == "const Box<long> &");
  CHECK(found[1].parameters[0].where.line == 3);
  CHECK(found[1].parameters[0].where.column == 47);
  CHECK(found[2].name == "n::f");
  CHECK(found[2].parameters[0].name == "other");
  CHECK(fs::path(found[2].where.text->path).filename() == "a.cpp");
}

TEST_CASE("signatures: an edit that keeps it, by whatever names") {
  CHECK(said_of_parameters("Matrix y, Matrix a, Matrix b, int stream") == "");
  CHECK(said_of_parameters("View<float, 1 + 1> y, Matrix left, g::Matrix, const int) { no matter } void more(") == "");
  CHECK(said_of("no C++", "notes.cpp") == "");  // is no stub
}

TEST_CASE("signatures: a parameter of another type") {
  CHECK(said_of_parameters("Matrix y, View<double, 2> a, Matrix b, int stream") ==
        "out/stubs/stub_y.cpp:2:39: error: parameter 2 of 'g::stub_y' is 'a' of type 'g::View<double, 2>', and its "
        "wrapper passes 'a' of type 'g::View<float, 2>'\n"
        "    2 | void stub_y(Matrix y, View<double, 2> a, Matrix b, int stream) {}\n"
        "      |                                       ^\n"
        "out/stubs.hpp:5:30: note: it is declared here\n"
        "    5 | void stub_y(Matrix y, Matrix a, Matrix b, int stream);\n"
        "      |                              ^\n" + help);
}

TEST_CASE("signatures: a parameter too few, and one too many") {
  CHECK(said_of_parameters("Matrix y, Matrix a, int stream") ==
        "out/stubs/stub_y.cpp:2:6: error: 'g::stub_y' takes 3 parameters, and its wrapper passes 4: 'b' of type "
        "'g::View<float, 2>' is missing\n"
        "    2 | void stub_y(Matrix y, Matrix a, int stream) {}\n"
        "      |      ^\n"
        "out/stubs.hpp:5:40: note: it is declared here\n"
        "    5 | void stub_y(Matrix y, Matrix a, Matrix b, int stream);\n"
        "      |                                        ^\n" + help);
  CHECK(said_of_parameters("Matrix y, Matrix a, Matrix b, int stream, bool = true") ==
        "out/stubs/stub_y.cpp:2:60: error: 'g::stub_y' takes 5 parameters, and its wrapper passes 4: one of type "
        "'bool' is new\n"
        "    2 | void stub_y(Matrix y, Matrix a, Matrix b, int stream, bool = true) {}\n"
        "      |                                                            ^\n"
        "out/stubs.hpp:5:6: note: it is declared here\n"
        "    5 | void stub_y(Matrix y, Matrix a, Matrix b, int stream);\n"
        "      |      ^\n" + help);
}

TEST_CASE("signatures: parameters of one type that changed places") {
  CHECK(said_of_parameters("Matrix y, Matrix b, Matrix a, int stream") ==
        "out/stubs/stub_y.cpp:2:30: error: parameter 2 of 'g::stub_y' is called 'b', and its wrapper passes 'a' there\n"
        "    2 | void stub_y(Matrix y, Matrix b, Matrix a, int stream) {}\n"
        "      |                              ^\n"
        "out/stubs.hpp:5:40: note: 'b' is parameter 3\n"
        "    5 | void stub_y(Matrix y, Matrix a, Matrix b, int stream);\n"
        "      |                                        ^\n"
        "help: put the parameters in the order in which they are declared\n");
}

TEST_CASE("signatures: another result, and another name") {
  CHECK(said_of_parameters("Matrix y, Matrix a, Matrix b, int stream", "bool") ==
        "out/stubs/stub_y.cpp:2:6: error: 'g::stub_y' returns 'bool', and is declared to return 'void'\n"
        "    2 | bool stub_y(Matrix y, Matrix a, Matrix b, int stream) {}\n"
        "      |      ^\n"
        "out/stubs.hpp:5:6: note: it is declared here\n"
        "    5 | void stub_y(Matrix y, Matrix a, Matrix b, int stream);\n"
        "      |      ^\n" + help);
  CHECK(said_of("void stub_z() {}\n") ==
        "out/stubs.hpp:5:6: error: 'g::stub_y' is declared here and called, but the edited stub does not define it\n"
        "    5 | void stub_y(Matrix y, Matrix a, Matrix b, int stream);\n"
        "      |      ^\n" + help);
}

TEST_CASE("signatures: stubs of every target are checked") {
  for (const std::string extension : {".cpp", ".cu", ".hip"}) {
    const std::string path = "stubs/stub_y" + extension;
    CAPTURE(path);
    CHECK(said_of("namespace g {\nvoid stub_y(Matrix y, Matrix a, Matrix b, int stream) { other(); }\n}\n", path) == "");
    CHECK(said_of("namespace g {\nvoid stub_y(Matrix y, Matrix b, Matrix a, int stream) {}\n}\n", path)
              .starts_with("out/" + path + ":2:30: error: parameter 2 of 'g::stub_y' is called 'b', and its wrapper passes "
                           "'a' there\n"));
    CHECK(said_of("namespace g {\nvoid stub_y(Matrix y, Matrix a, int stream) {}\n}\n", path)
              .starts_with("out/" + path + ":2:6: error: 'g::stub_y' takes 3 parameters, and its wrapper passes 4: 'b'"));
  }
}

TEST_CASE("signatures: a stub may launch a kernel of its own") {
  const std::string kernel =
      "namespace g {\n"
      "__constant__ float table[4] = {};\n"
      "static __device__ __host__ float half(float x) { return x / 2; }\n"
      "__global__ void __launch_bounds__(128) fill(Matrix y) { __shared__ float rows[4]; rows[threadIdx.x] = 0; }\n"
      "void stub_y(Matrix y, Matrix a, Matrix b, int stream";
  const std::string launch = ") { fill<<<1, 128, 0, stream>>>(y); }\n}\n";
  CHECK(said_of(kernel + launch, "stubs/stub_y.cu") == "");
  CHECK(said_of(kernel + ", bool more" + launch, "stubs/stub_y.hip").find("takes 5 parameters") != std::string::npos);
}

TEST_CASE("signatures: a stub of which a part was deleted is an error") {
  const std::string advice = "help: mend it; or remove the file, and `kgen plan` writes it again without your edits\n";
  CHECK(said_of("namespace g {\nvoid stub_y(Matrix y, Matrix a, Matrix b, int stream) {\n") ==
        "error: 'out/stubs/stub_y.cpp' ends too early: expected '}'\n"
        "out/stubs/stub_y.cpp:1:13: note: to match this '{'\n"
        "    1 | namespace g {\n"
        "      |             ^\n" + advice);
  CHECK(said_of("namespace g {\nvoid stub_y(Matrix y, Matr", "stubs/stub_y.cu").starts_with("out/stubs/stub_y.cu:2:"));
  const std::string said = said_of("  y.store(a);\n}\n}\n");
  CHECK(said.starts_with("out/stubs/stub_y.cpp:1:3: error: the edited stub does not define 'g::stub_y', which its wrapper "
                         "calls: unknown type name 'y'\n"));
  CHECK(said.ends_with("out/stubs.hpp:5:6: note: it is declared here\n"
                       "    5 | void stub_y(Matrix y, Matrix a, Matrix b, int stream);\n"
                       "      |      ^\n" + advice));
}

TEST_CASE("signatures: what Clang cannot read is not checked, and said so") {
  CHECK(said_of("#include \"none.hpp\"\n") ==
        "warning: 'out/stubs/stub_y.cpp' was not compared with what its wrapper calls\n"
        "out/stubs/stub_y.cpp:1:10: note: 'none.hpp' file not found\n"
        "    1 | #include \"none.hpp\"\n"
        "      |          ^\n");
}

TEST_CASE("signatures: a kgen without Clang says that it did not check") {
  const char* before = std::getenv("KGEN_CLANG");
  const std::string kept = before ? before : "";
  ::setenv("KGEN_CLANG", "/none/kgen_clang.so", 1);
  const std::string said = said_of_parameters("int");
  if (before) {
    ::setenv("KGEN_CLANG", kept.c_str(), 1);
  } else {
    ::unsetenv("KGEN_CLANG");
  }
  CHECK(said.starts_with("warning: the edited stub 'stubs/stub_y.cpp' is not compared with what its wrapper calls\n"
                         "note: kgen's Clang plugin is needed to read the signatures of edited stubs\n"
                         "note: "));
  CHECK(said.find("there is none at '/none/kgen_clang.so'\nhelp: build kgen with -DKGEN_WITH_CLANG=ON") != said.npos);
}
