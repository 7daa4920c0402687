// The house of DESIGN.md: who may include whom, what stands at the top, how long a file may be, and that no pass and no
// emitter knows an operator or a kernel by name.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/repository.hpp"

namespace fs = std::filesystem;
namespace repository = kgen::repository;

namespace {

using Prefixes = std::vector<std::string>;

const Prefixes cpp_extensions = {".hpp", ".cpp", ".h", ".c", ".cuh", ".cu", ".hip"};

// What files may include besides the standard library.
struct Room {
  std::string folder;  // how the paths of its files begin
  Prefixes ours;       // "..." includes: how the path begins
  Prefixes libraries;  // <...> includes: how the path begins
};

const Prefixes posix = {"unistd.h", "fcntl.h", "dirent.h", "dlfcn.h", "sys/"};
const Prefixes vendor = {"immintrin.h", "arm_neon.h", "arm_sve.h", "sleef.h",  "omp.h",      "cuda",
                         "cublasLt.h",  "mma.h",      "nvtx3/",    "hip/",     "rocprim/",   "roctracer/",
                         "cooperative_groups"};

Prefixes joined(Prefixes a, const Prefixes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A room of the generator that works on the model.
Room on_model(const std::string& name, const Prefixes& libraries = {}) {
  const std::string folder = "generator/" + name + "/";
  return {folder, {"generator/base/", "generator/model/", folder}, joined({"fmt/"}, libraries)};
}

// A folder of passes, and the folders of passes that it may use.
Room passes(const std::string& name, const Prefixes& uses = {}) {
  Room room = on_model("pass/" + name);
  room.ours.push_back("generator/spec/");
  for (const std::string& each : uses) room.ours.push_back("generator/pass/" + each + "/");
  return room;
}

const std::string driver = "generator/";  // the files right there, which run the passes; not those of unknown folders

const std::vector<Room> rooms = {
    {"generator/introspect/clang/",
     {"generator/base/", "generator/model/", "generator/introspect/"},
     {"fmt/", "clang/", "llvm/"}},
    {"generator/import/onnx/",
     {"generator/base/", "generator/import/"},
     joined(joined({"fmt/"}, posix), {"google/protobuf/", "onnx/onnx_pb.h"})},
    {"generator/base/", {"generator/base/"}, {"fmt/", "dlfcn.h"}},
    {"generator/model/", {"generator/base/", "generator/model/"}, {"fmt/"}},
    on_model("spec"),
    {"generator/load/",
     {"generator/base/", "generator/model/", "generator/spec/", "generator/load/"},
     joined(joined({"fmt/"}, posix), {"libfyaml.h"})},
    on_model("introspect"),
    passes("graph"),
    passes("infer", {"graph"}),
    passes("choose", {"graph", "infer"}),
    passes("raise", {"graph", "infer", "choose"}),
    passes("simplify", {"graph"}),
    passes("order", {"graph", "simplify"}),
    passes("materialise", {"graph", "choose"}),
    passes("fuse", {"graph"}),
    passes("place", {"graph"}),
    passes("verify", {"graph"}),
    passes("lower", {"graph", "fuse"}),
    on_model("emit"),
    {"generator/explain/",
     {"generator/base/", "generator/model/", "generator/spec/", "generator/explain/"},
     {"fmt/", "nlohmann/"}},
    {"generator/import/",  // types and expands its nodes as those of a graph file are
     {"generator/base/", "generator/model/", "generator/spec/", "generator/pass/infer/", "generator/pass/choose/",
      "generator/import/"},
     {"fmt/"}},
    on_model("write", joined(posix, {"git2.h"})),
    {driver, {"generator/"}, joined({"fmt/", "CLI/", "mimalloc.h"}, posix)},
    // Threads that share work, and the sizes of the caches: the CPU's kernels ask the system.
    {"templates/kgen/cpu/", {"kgen/"}, joined(vendor, {"unistd.h", "sys/", "pthread.h", "sched.h", "linux/futex.h"})},
    {"templates/", {"kgen/"}, vendor},
    {"runtime/python/",  // the C ABI is all that it knows of the runtime
     {"kgen_runtime.h", "runtime/python/"},
     {"dlpack/", "nanobind/", "dlfcn.h", "pthread.h"}},
    {"runtime/",
     {"kgen/", "kgen_runtime.h", "runtime/"},
     joined(joined({"kgen_runtime.h", "dlpack/", "nlohmann/"}, vendor), posix)},
    {"generated/", {"kgen/", "my_kernels/", "kgen_runtime.h", "./"}, {"kgen_runtime.h"}},
};

const Room* room_of(const std::string& path) {
  const auto holds = [&](const Room& room) {
    return path.starts_with(room.folder) && (room.folder != driver || path.find('/', driver.size()) == path.npos);
  };
  const auto found = std::find_if(rooms.begin(), rooms.end(), holds);
  return found == rooms.end() ? nullptr : &*found;
}

// `header` is a path as it stands in the directive. A quoted one without folders is beside the file.
bool may_include(const Room& room, const std::string& header, bool quoted) {
  const auto starts = [&](const std::string& prefix) { return header.starts_with(prefix); };
  if (quoted) {
    const bool beside =
        header.find('/') == std::string::npos && std::count(room.ours.begin(), room.ours.end(), "./") > 0;
    return beside || std::any_of(room.ours.begin(), room.ours.end(), starts);
  }
  static const std::set<std::string> c_headers = {"stdint.h", "stddef.h", "stdbool.h"};
  const bool standard = header.find('.') == std::string::npos || c_headers.contains(header);
  const bool library = std::any_of(room.libraries.begin(), room.libraries.end(), starts);
  return library || (standard && header.find('/') == std::string::npos);
}

// "path:line: why" for each include that its room may not have.
std::vector<std::string> wrong_includes(const std::string& path, const std::string& source) {
  static const std::regex directive(R"(^\s*#\s*include\s*(["<])([^">]+)[">].*)");
  std::vector<std::string> wrong;
  const Room* room = room_of(path);
  if (!room) return {path + " stands in no room of the house"};
  std::istringstream lines(source);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (!std::regex_match(line, match, directive)) continue;
    if (may_include(*room, match[2], match[1] == "\"")) continue;
    wrong.push_back(path + ":" + std::to_string(number) + ": " + room->folder + " may not include " + match[2].str());
  }
  return wrong;
}

std::set<std::string> matches_in(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern, std::regex::multiline);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

// The names of operators and kernels that stand as string literals: an operator's as a whole literal, a kernel's
// anywhere in one.
std::vector<std::string> names_in(const std::string& source, const std::set<std::string>& ops,
                                  const std::set<std::string>& kernels) {
  std::vector<std::string> found;
  for (const std::string& literal : repository::string_literals(source)) {
    if (ops.contains(literal)) found.push_back(literal);
    for (const std::string& qualified : matches_in(literal, R"((\bkgen::\w+))")) {
      if (kernels.contains(qualified)) found.push_back(qualified);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("rooms: who may include whom") {
  std::size_t checked = 0;
  for (const std::string folder : {"generator", "templates", "runtime", "generated"}) {
    for (const std::string& path : repository::files_below(folder, cpp_extensions)) {
      ++checked;
      for (const std::string& wrong : wrong_includes(path, repository::read(path))) FAIL_CHECK(wrong);
    }
  }
  CHECK(checked > 20);
}

TEST_CASE("rooms: the check finds what it is there for") {
  const auto wrong = [](const std::string& path, const std::string& line) {
    return !wrong_includes(path, "#pragma once\n" + line + "\n").empty();
  };
  CHECK_FALSE(wrong("generator/base/a.cpp", "#include <vector>"));
  CHECK_FALSE(wrong("generator/base/a.cpp", "#include <fmt/format.h>"));
  CHECK(wrong("generator/base/a.cpp", "#include \"generator/model/dim.hpp\""));
  CHECK(wrong("generator/base/a.cpp", "#include <unistd.h>"));
  CHECK(wrong("generator/model/a.cpp", "  #  include \"generator/load/yaml.hpp\""));
  CHECK_FALSE(wrong("generator/load/a.cpp", "#include <libfyaml.h>"));
  CHECK_FALSE(wrong("generator/load/a.cpp", "#include \"generator/spec/expression.hpp\""));
  CHECK(wrong("generator/load/a.cpp", "#include \"generator/pass/infer/infer.hpp\""));
  CHECK(wrong("generator/pass/fuse/a.cpp", "#include <libfyaml.h>"));
  CHECK(wrong("generator/pass/fuse/a.cpp", "#include \"generator/pass/place/place.hpp\""));
  CHECK(wrong("generator/pass/verify/a.cpp", "#include \"generator/pass/place/streams.hpp\""));
  CHECK_FALSE(wrong("generator/pass/lower/a.cpp", "#include \"generator/pass/fuse/fuse.hpp\""));
  CHECK(wrong("generator/pass/infer/a.cpp", "#include \"generator/pass/choose/decompose.hpp\""));
  CHECK(wrong("generator/spec/a.cpp", "#include \"generator/pass/graph/layout.hpp\""));
  CHECK(wrong("generator/pass/a.cpp", ""));
  CHECK(wrong("generator/write/a.cpp", "#include <clang/AST/Decl.h>"));
  CHECK_FALSE(wrong("generator/write/a.cpp", "#include <git2.h>"));
  CHECK(wrong("generator/main.cpp", "#include <git2.h>"));
  CHECK(wrong("generator/introspect/a.cpp", "#include <clang/AST/Decl.h>"));
  CHECK_FALSE(wrong("generator/introspect/clang/a.cpp", "#include <clang/AST/Decl.h>"));
  CHECK(wrong("generator/introspect/clang/a.cpp", "#include \"generator/load/yaml.hpp\""));
  CHECK(wrong("generator/emit/cpu/a.cpp", "#include \"generator/pass/fuse/fuse.hpp\""));
  CHECK_FALSE(wrong("generator/emit/cpu/a.cpp", "#include \"generator/emit/stub.hpp\""));
  CHECK_FALSE(wrong("generator/main.cpp", "#include \"generator/pass/fuse/fuse.hpp\""));
  CHECK_FALSE(wrong("templates/kgen/view.hpp", "#include \"kgen/index.hpp\""));
  CHECK_FALSE(wrong("generator/import/a.cpp", "#include \"generator/pass/infer/infer_node.hpp\""));
  CHECK(wrong("generator/import/a.cpp", "#include \"generator/pass/fuse/fuse.hpp\""));
  CHECK(wrong("generator/import/a.cpp", "#include <onnx/onnx_pb.h>"));
  CHECK_FALSE(wrong("generator/import/onnx/a.cpp", "#include <onnx/onnx_pb.h>"));
  CHECK(wrong("generator/attic/a.cpp", ""));
  CHECK(wrong("templates/kgen/view.hpp", "#include \"generator/model/dim.hpp\""));
  CHECK(wrong("templates/kgen/view.hpp", "#include <fmt/format.h>"));
  CHECK(wrong("runtime/src/call.cpp", "#include \"generator/base/source.hpp\""));
  CHECK(wrong("runtime/src/call.cpp", "#include <nanobind/nanobind.h>"));
  CHECK(wrong("runtime/python/src/model.cpp", "#include \"runtime/src/loaded_model.hpp\""));
  CHECK_FALSE(wrong("runtime/python/src/model.cpp", "#include <nanobind/nanobind.h>"));
  CHECK_FALSE(wrong("generated/g/g.cpp", "#include \"stubs.hpp\""));
  CHECK(wrong("generated/g/g.cpp", "#include \"runtime/src/call.hpp\""));
}

TEST_CASE("rooms: the top level holds the agreed entries and nothing else") {
  const std::set<std::string> agreed = {"specs", "generator", "templates",      "runtime",   "generated",
                                        "tests", "scripts",   "CMakeLists.txt", "README.md", "LICENSE"};
  const std::set<std::string> ignored = matches_in(repository::read(".gitignore"), R"(^/([^/\n]+)/$)");
  std::set<std::string> present;
  for (const auto& entry : fs::directory_iterator(repository::root())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".") && !ignored.contains(name)) present.insert(name);
  }
  CHECK(present == agreed);
}

TEST_CASE("rooms: no hand-written source file is longer than 600 lines") {
  const Prefixes extensions = joined(cpp_extensions, {".py", ".cmake", ".txt", ".sh", ""});
  for (const std::string folder : {"generator", "templates", "runtime", "tests", "scripts"}) {
    for (const std::string& path : repository::files_below(folder, extensions)) {
      const std::string source = repository::read(path);
      CAPTURE(path);
      CHECK(std::count(source.begin(), source.end(), '\n') <= 600);
    }
  }
}

TEST_CASE("rooms: passes and emitters know no operator and no kernel by name") {
  std::set<std::string> ops;
  for (const std::string& path : repository::files_below("specs/ops", {".yaml"})) {
    ops.merge(matches_in(repository::read(path), R"(^\s*- op: *(\w+))"));
  }
  const auto kernels =
      matches_in(repository::read("templates/kgen/signatures.yaml"), R"(^\s*- *\{? *kernel: *(kgen::\w+))");
  CHECK(ops.size() > 10);
  CHECK(kernels.size() > 10);

  // The functions of the language in which specifications define operators; some operators are called the same.
  const std::string definition_language = "generator/spec/expression.cpp";
  for (const std::string folder : {"generator/spec", "generator/pass", "generator/emit"}) {
    for (const std::string& path : repository::files_below(folder, cpp_extensions)) {
      if (path == definition_language) continue;
      for (const std::string& name : names_in(repository::read(path), ops, kernels)) {
        FAIL_CHECK(path << " names '" << name << "'");
      }
    }
  }
}

TEST_CASE("rooms: the check finds names where they matter") {
  const auto found = [](const std::string& source) { return names_in(source, {"add"}, {"kgen::matmul"}); };
  using Names = std::vector<std::string>;
  CHECK(found("if (op.name == \"add\") return;") == Names{"add"});
  CHECK(found("f(\"  kgen::matmul({});\");") == Names{"kgen::matmul"});
  CHECK(found("f(R\"x(kgen::matmul)x\");") == Names{"kgen::matmul"});
  CHECK(found("f(\"\\\"\", \"add\");") == Names{"add"});
  CHECK(found("// \"add\"\n/* \"add\" */ int add = 1'000; char c = '\"';") == Names{});
  CHECK(found("f(\"add the folder\", \"kgen::matmul_view\");") == Names{});
  CHECK(found("#include \"add\"\n") == Names{});
}
