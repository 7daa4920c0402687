// The kernel library in a folder of its own, with headers that change.
#include <cstdlib>

#include "generator/explain/explain.hpp"
#include "tests/unit/introspect_fixture.hpp"

namespace kgen::test {

namespace fs = std::filesystem;

// A copy of templates/, and runs with it.
struct LibraryCopy {
  Folder folder;
  PipelineOptions options;

  LibraryCopy() {
    fs::copy(repository::root() / "templates", folder.path, fs::copy_options::recursive);
    for (const std::string& path : repository::files_below("specs/ops", {".yaml"})) {
      options.spec_files.push_back((repository::root() / path).string());
    }
    options.signatures = (folder.path / "kgen/signatures.yaml").string();
    options.include_directories = {folder.path.string()};
    options.graph = folder.write("graph.yaml", R"(graph: g
inputs: {A: "f32[8, 16]", B: "f32[16, 32]", bias: "f32[32]"}
nodes:
  - {op: matmul, in: [A, B], out: C}
  - {op: add, in: [C, bias], out: sum}
  - {op: relu, in: sum, out: y}
outputs: [y]
)");
  }

  void edit(const std::string& header, const std::string& from, const std::string& to) {
    std::ifstream stream(folder.path / header, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    REQUIRE(text.find(from) != std::string::npos);
    replace_all(text, from, to);
    folder.write(header, text);
  }

  std::string messages(const Session& session) const {
    std::string text = session.diagnostics.text(false);
    replace_all(text, folder.path.string(), "templates");
    replace_all(text, repository::root().string() + "/", "");
    return text;
  }

  std::string load_messages() {
    Session session;
    load_operators(options, session);
    return messages(session);
  }
};

TEST_CASE("library: unchanged headers need no Clang, changed ones do") {
  LibraryCopy library;
  setenv("KGEN_CLANG", "/nowhere/kgen_clang.so", 1);
  CHECK(library.load_messages() == "");
  library.edit("kgen/matmul.hpp", "// Matrix multiplication.", "// Matrix product.");
  library.edit("kgen/cpu/panels.hpp", "#pragma once", "#pragma once\n");
  CHECK_EQ(
      library.load_messages(),
      R"text(error: kgen's Clang plugin is needed to read 'kgen/cpu/panels.hpp' and 'kgen/matmul.hpp' anew: they have changed since their kernels were read
note: there is none at '/nowhere/kgen_clang.so'
help: build kgen with -DKGEN_WITH_CLANG=ON, or let KGEN_CLANG name the plugin, kgen_clang.so
)text");
  unsetenv("KGEN_CLANG");
  CHECK(library.load_messages() == "");
}

TEST_CASE("library: a header that is not there") {
  LibraryCopy library;
  fs::remove(library.folder.path / "kgen/stream.hpp");
  CHECK_EQ(library.load_messages(),
           R"text(error: there is no header 'kgen/stream.hpp', which templates/kgen/signatures.yaml speaks of
note: the include directories are 'templates'
)text");
}

TEST_CASE("library: a plan depends on the headers") {
  LibraryCopy library;
  Session session;
  REQUIRE(make_plan(library.options, session));
  const std::string header = (library.folder.path / "kgen/cpu/matmul.hpp").string();
  CHECK(std::count(session.read_files.begin(), session.read_files.end(), header) == 1);
}

TEST_CASE("library: an operator and a kernel that drifted apart") {
  LibraryCopy library;
  library.edit("kgen/matmul.hpp", "const B& b", "const B& right");
  library.edit("kgen/matmul.hpp", "KGEN_EVALUATED(b", "KGEN_EVALUATED(right");
  library.edit("kgen/matmul.hpp", "KGEN_IN_MEMORY(b", "KGEN_IN_MEMORY(right");
  library.edit("kgen/matmul.hpp", "KGEN_LAYOUT(Right, b", "KGEN_LAYOUT(Right, right");
  library.edit("kgen/matmul.hpp", "target::matmul<TileM, TileN, LeastBits, Degree, Columns, Library, Known>(a, b, c",
               "target::matmul<TileM, TileN, LeastBits, Degree, Columns, Library, Known>(a, right, c");
  library.edit("kgen/ops/activation.hpp", "struct KGEN_KERNEL(exp) Exp {",
               "struct KGEN_KERNEL(exp) Exp {\n  float base;");
  CHECK_EQ(
      library.load_messages(),
      R"text(specs/ops/structured.yaml:59:5: error: operand 2 of 'matmul' is called 'b', but 'right' in its kernel 'kgen::matmul'
   59 |     b: {type: T, shape: "[..., K, N]"}
      |     ^
templates/kgen/matmul.hpp:56:34: note: it is declared here
   56 | void matmul(const A& a, const B& right, const C& c, Stream stream = {})
      |                                  ^
help: correct the operator or its kernel, whichever is wrong
specs/ops/elementwise.yaml:284:7: error: 'exp' has no attribute 'base', but its kernel 'kgen::Exp' has
  284 | - op: exp
      |       ^
templates/kgen/ops/activation.hpp:38:9: note: it is declared here
   38 |   float base;
      |         ^
help: correct the operator or its kernel, whichever is wrong
)text");
}

TEST_CASE("library: a folder of one's own kernels, whose headers speak for themselves") {
  LibraryCopy library;
  const std::string header = library.folder.write("mine/rectify.hpp", R"(#pragma once
#include "kgen/introspect.hpp"
#include "kgen/vec.hpp"
namespace mine {
// max(x, 0), for vectors alone.
struct KGEN_KERNEL(relu, "T == f32") Rectify {
  template <kgen::Float X>
  static KGEN_FN auto apply(X x) { return x; }
};
}
)");
  library.options.kernels = {(library.folder.path / "mine").string()};
  Session session;
  const auto plan = make_plan(library.options, session);
  REQUIRE_MESSAGE(plan, library.messages(session));
  CHECK(explain(*plan, "y", session.diagnostics).find("relu by mine::Rectify") != std::string::npos);
  CHECK(std::count(session.read_files.begin(), session.read_files.end(), header) == 1);
  CHECK(session.ops.kernels[session.ops.kernel_index["mine::Rectify"]].header == "mine/rectify.hpp");

  library.edit("mine/rectify.hpp", "T == f32", "T == f33");
  CHECK_EQ(
      library.load_messages(),
      R"text(templates/mine/rectify.hpp:6:26: error: the condition of 'mine::Rectify' has no meaning: 'f33' is no size, type or switch of 'relu'
    6 | struct KGEN_KERNEL(relu, "T == f33") Rectify {
      |                          ^
specs/ops/elementwise.yaml:508:7: note: 'relu' has 'T'
  508 | - op: relu
      |       ^
help: compare sizes and types: "M <= 16 && T == f32"; extent(operand, axis), rank(operand), given(operand) and constant(operand) ask about operands, and "target == cpu" what is planned for
)text");
}

// As `kgen introspect --check` asks.
TEST_CASE("library: headers that are checked stand beside the built-in kernels, and for those of the same headers") {
  LibraryCopy library;
  library.options.spec_files.push_back(library.folder.write("ops.yaml", R"(ops:
- op: shifted
  kind: elementwise
  types: {T: float}
  operands: {x: T}
  results: {out: T}
  kernel: mine::Shifted
)"));
  const std::string header = library.folder.write("mine/shifted.hpp", R"(#pragma once
#include "kgen/introspect.hpp"
#include "kgen/vec.hpp"
namespace mine {
struct KGEN_KERNEL(shifted) Shifted {
  template <kgen::Float X>
  static KGEN_FN auto apply(X x) { return x + 1; }
};
}
)");
  library.options.headers = {header};
  CHECK(library.load_messages() == "");
  library.options.headers.push_back((library.folder.path / "kgen/matmul.hpp").string());
  CHECK(library.load_messages() == "");
  library.edit("mine/shifted.hpp", "apply(X x) { return x", "apply(X value) { return value");
  CHECK_EQ(
      library.load_messages(),
      R"text(templates/ops.yaml:5:14: error: operand 1 of 'shifted' is called 'x', but 'value' in its kernel 'mine::Shifted'
    5 |   operands: {x: T}
      |              ^
templates/mine/shifted.hpp:7:31: note: it is declared here
    7 |   static KGEN_FN auto apply(X value) { return value + 1; }
      |                               ^
help: correct the operator or its kernel, whichever is wrong
)text");
}

// The planner knows of kernels what their declarations say, and nothing else.
TEST_CASE("library: without the epilogue parameter of the matmul kernel nothing is fused behind it") {
  LibraryCopy library;
  const auto explained = [&] {
    Session session;
    const auto plan = make_plan(library.options, session);
    REQUIRE_MESSAGE(plan, library.messages(session));
    return std::pair(plan->stubs.size(), explain(*plan, "C", "sum", session.diagnostics));
  };
  const auto [stubs_before, reason_before] = explained();
  CHECK(stubs_before == 1);
  CHECK_EQ(reason_before, R"text('C' and 'sum' are computed together, by stub_y.
  C -> sum: the epilogue of kgen::matmul takes it (saves 2048 bytes)
)text");

  library.edit("kgen/matmul.hpp", "SeveralSinks<source_lane_t<A, 2>, several_count<B>, 2> C>", "Float C>");
  library.edit("kgen/matmul.hpp", "KGEN_ROWS(c,", "// KGEN_ROWS(c,");
  library.edit("kgen/matmul.hpp", "KGEN_STATISTICS(c,", "// KGEN_STATISTICS(c,");
  library.edit("kgen/matmul.hpp", "SeveralSources<2, 8> B", "Source<2> B");
  library.edit("kgen/matmul.hpp", "const C& c", "const View<C, 2>& c");
  const auto [stubs_after, reason_after] = explained();
  CHECK(stubs_after == 2);
  CHECK_EQ(reason_after, R"text('C' and 'sum' are computed apart, by stub_C and stub_y.
  C -> sum: apart: the result of kgen::matmul takes no epilogue (would save 2048 bytes)
)text");
}

}  // namespace kgen::test
