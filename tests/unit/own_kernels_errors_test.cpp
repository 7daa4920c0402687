// What is wrong with a user's own operators, kernels and structs: the input beside the message.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "generator/load/kernel_files.hpp"
#include "generator/pass/choose/choose_kernels.hpp"
#include "tests/unit/infer_fixture.hpp"
#include "tests/unit/load_fixture.hpp"
#include "tests/unit/own_folder.hpp"

namespace kgen {
namespace {

namespace fs = std::filesystem;

// What is printed of a user's kernels for an operator `scale` with shape patterns, attributes and a kernel of its own.
std::string kernel_messages(const std::string& kernels) {
  const SourceText operators{"ops.yaml", R"yaml(ops:
- op: scale
  kind: structured
  types: {T: float}
  operands: {x: {type: T, shape: "[M, N]"}}
  results: {out: {type: T, shape: "[M, N]"}}
  attributes: {fast: {type: boolean, default: false}, by: {type: number, default: 2}}
  kernel: kgen::scale
)yaml"};
  const SourceText built_in{"signatures.yaml",
                            "kernels: [{kernel: kgen::scale, header: kgen/scale.hpp, operator: scale, "
                            "kind: structured, operands: [{name: x}], results: [{name: out}], "
                            "attributes: [{name: fast, type: bool}, {name: by, type: float}]}]\n"};
  const SourceText source{"my_kernels.yaml", kernels};
  OpSet set;
  Diagnostics diagnostics;
  load_ops(operators, set, diagnostics);
  load_signatures(built_in, set, diagnostics);
  load_signatures(source, set, diagnostics);
  link_ops(set, diagnostics);
  if (!diagnostics.has_errors()) warn_of_hidden_kernels(set, diagnostics);
  return diagnostics.text(false);
}

// Of a kernel of `scale` with that condition: the first line.
std::string condition_message(const std::string& when) {
  const std::string text = kernel_messages(
      "kernels:\n- {kernel: mine::scale, header: my/scale.hpp, operator: scale, kind: structured, operands: [{name: "
      "x}],\n"
      "   results: [{name: out}], when: \"" +
      when + "\"}\n");
  return text.substr(0, text.find('\n'));
}

constexpr const char* structs = R"yaml(structs:
- {struct: fractal::Region, header: my/fractal.hpp, bytes: 32, alignment: 8}
)yaml";

// With a folder `my_kernels` in it.
struct Folder : test::OwnFolder {
  Folder() { fs::create_directories(path + "/my_kernels"); }
};

}  // namespace

TEST_CASE("own kernels, bad: folders") {
  const Folder folder;
  const auto messages = [&](const std::string& name) {
    Diagnostics diagnostics;
    CHECK(kernel_files(folder.path + name, diagnostics).empty());
    return diagnostics.text(false);
  };
  CHECK_EQ(messages("/my_kernel/"), "error: cannot read '" + folder.path +
                                        "/my_kernel/': there is no such file or folder of kernels\n"
                                        "note: near it there: 'my_kernels'\n");
  CHECK_EQ(messages("/my_kernels"), "error: the folder '" + folder.path +
                                        "/my_kernels' holds no kernels\n"
                                        "note: it has neither headers nor files of signatures (*.yaml)\n"
                                        "help: put headers there that register kernels: struct KGEN_KERNEL(twice) "
                                        "Twice { ... }\n");
}

TEST_CASE("own kernels: the files of a folder, and where its headers are found") {
  const Folder folder;
  Diagnostics diagnostics;
  const std::string kernels = folder.path + "/my_kernels";
  for (const char* name : {"b.hpp", "a.h", "notes.txt"}) std::ofstream(kernels + "/" + name) << "\n";
  CHECK(kernel_files(kernels, diagnostics) == std::vector<std::string>{kernels + "/a.h", kernels + "/b.hpp"});
  for (const char* name : {"b.yaml", "a.yaml"}) std::ofstream(kernels + "/" + name) << "\n";
  CHECK(kernel_files(kernels, diagnostics) == std::vector<std::string>{kernels + "/a.yaml", kernels + "/b.yaml"});
  CHECK(kernel_files(kernels + "/b.yaml", diagnostics) == std::vector<std::string>{kernels + "/b.yaml"});
  CHECK(kernel_include_directory(kernels) == folder.path);
  CHECK(kernel_include_directory(kernels + "/") == folder.path);
  CHECK(kernel_include_directory(kernels + "/b.yaml") == folder.path);
}

TEST_CASE("own kernels, bad: conditions") {
  const std::string at = "my_kernels.yaml:3:35: error: the condition of 'mine::scale' has no meaning: ";
  CHECK_EQ(
      kernel_messages("kernels:\n- {kernel: mine::scale, header: my/scale.hpp, operator: scale, kind: structured,\n"
                      "   operands: [{name: x}], when: rows <= 16 && T == f32, results: [{name: out}]}\n"),
      R"(my_kernels.yaml:3:33: error: the condition of 'mine::scale' has no meaning: 'rows' is no size, type or switch of 'scale'
    3 |    operands: [{name: x}], when: rows <= 16 && T == f32, results: [{name: out}]}
      |                                 ^
ops.yaml:2:7: note: 'scale' has 'M', 'N', 'fast' and 'T'
    2 | - op: scale
      |       ^
help: compare sizes and types: "M <= 16 && T == f32"; extent(operand, axis), rank(operand), given(operand) and constant(operand) ask about operands, and "target == cpu" what is planned for
)");
  const auto message = [&](const std::string& when, const std::string& problem) {
    CHECK_EQ(condition_message(when), at + problem);
  };
  message("M <= ", "'M <= ', column 6: expected a number, a name or '('");
  message("M + N", "it is no condition");
  message("by == 2", "'by' is no size, type or switch of 'scale'");
  message("M <= 1.5", "1.5 is not a whole number");
  message("M == T", "sizes are added, multiplied and compared, types are == or !=, and conditions are joined");
  message("fast + 1 == 2", "sizes are added, multiplied and compared, types are == or !=, and conditions are joined");
  message("T < f32", "sizes are added, multiplied and compared, types are == or !=, and conditions are joined");
  message("sqrt(M) < 4", "sizes and conditions have no functions of numbers");
  message("fast ? M < 2 : M < 4", "?: chooses by a condition between two sizes");
  message("extent(y, 0) < 4", "'y' is no operand of 'scale'");
  message("extent(x, z) < 4", "'z' is no size, type or switch of 'scale'");
  message("extent(x, T) < 4", "an axis or an index is a size");
  message("extent(x) < 4", "extent takes an operand and an axis");
  message("rank(3) < 4", "rank takes an operand");
  message("x[0] < 4", "'x' is no attribute of type dims of 'scale'");
  message("item(x) < 4", "an item is list[index], of an attribute of type dims");
  CHECK_EQ(condition_message("fast && !(M * 2 - N / 4 > 3 || rank(x) != 2) && T == bf16"), "");
}

TEST_CASE("own kernels, bad: two that claim the same") {
  const std::string first = "- {kernel: mine::a, header: my/a.hpp, operator: scale, kind: structured, ";
  const std::string second = "- {kernel: mine::b, header: my/b.hpp, operator: scale, kind: structured, ";
  const std::string all = "operands: [{name: x}], results: [{name: out}]}\n";
  const std::string some = "operands: [{name: x, types: [f32]}], results: [{name: out}]}\n";
  CHECK_EQ(
      kernel_messages("kernels:\n" + first + all + second + some),
      R"(my_kernels.yaml:3:12: warning: 'mine::b' is never chosen: 'mine::a' takes all that it takes, and comes first
    3 | - {kernel: mine::b, header: my/b.hpp, operator: scale, kind: structured, operands: [{name: x, types:...
      |            ^
my_kernels.yaml:2:12: note: both implement 'scale'
    2 | - {kernel: mine::a, header: my/a.hpp, operator: scale, kind: structured, operands: [{name: x}], resu...
      |            ^
help: give the first a condition (`when`), or name the folders of --kernels in another order
)");
  CHECK_EQ(kernel_messages("kernels:\n" + first + some + second + all), "");
  CHECK_EQ(kernel_messages("kernels:\n" + first + "when: M < 4, " + all + second + all), "");
  CHECK(kernel_messages("kernels:\n" + first + "when: M < 4, " + all + second + "when: M < 4, " + all)
            .find("never chosen") != std::string::npos);
}

TEST_CASE("own kernels, bad: an operator that there is, a kernel for one that there is not") {
  CHECK_EQ(kernel_messages("kernels: [{kernel: mine::a, header: my/a.hpp, operator: scael, kind: structured}]\n"),
           R"(my_kernels.yaml:1:20: error: 'mine::a' implements the unknown operator 'scael'
    1 | kernels: [{kernel: mine::a, header: my/a.hpp, operator: scael, kind: structured}]
      |                    ^
note: the nearest name is 'scale'
)");
}

TEST_CASE("structs, bad: their declarations") {
  CHECK_EQ(ops_messages(R"yaml(structs:
- {struct: fractal Region, header: f.hpp, bytes: 32, alignment: 8}
- {struct: a::B, header: f.hpp, bytes: 30, alignment: 8}
- {struct: a::C, header: f.hpp, bytes: 32, alignment: 12}
- {struct: a::D, header: f.hpp, bytes: 256, alignment: 128}
- {struct: a::E, header: f.hpp, bytes: 8}
- {struct: a::F, header: f.hpp, bytes: 8, alignment: 8}
- {struct: a::F, header: f.hpp, bytes: 8, alignment: 8}
ops: []
)yaml"),
           R"text(ops.yaml:2:12: error: 'fractal Region' cannot name a struct
    2 | - {struct: fractal Region, header: f.hpp, bytes: 32, alignment: 8}
      |            ^
help: write its qualified C++ name, such as fractal::Region
ops.yaml:3:40: error: a struct with alignment 8 cannot have 30 bytes
    3 | - {struct: a::B, header: f.hpp, bytes: 30, alignment: 8}
      |                                        ^
note: sizeof is a multiple of alignof, and at least 1
help: write what the compiler says of sizeof(a::B) and alignof(a::B)
ops.yaml:4:55: error: 12 is no alignment that kgen can give
    4 | - {struct: a::C, header: f.hpp, bytes: 32, alignment: 12}
      |                                                       ^
note: values begin at multiples of 64 bytes: it must be a power of two up to that
ops.yaml:5:56: error: 128 is no alignment that kgen can give
    5 | - {struct: a::D, header: f.hpp, bytes: 256, alignment: 128}
      |                                                        ^
note: values begin at multiples of 64 bytes: it must be a power of two up to that
ops.yaml:6:3: error: a struct needs the key 'alignment'
    6 | - {struct: a::E, header: f.hpp, bytes: 8}
      |   ^
ops.yaml:8:12: error: the struct 'a::F' is declared twice
    8 | - {struct: a::F, header: f.hpp, bytes: 8, alignment: 8}
      |            ^
ops.yaml:7:12: note: it was first declared here
    7 | - {struct: a::F, header: f.hpp, bytes: 8, alignment: 8}
      |            ^
)text");
}

TEST_CASE("structs, bad: operators that name them") {
  CHECK_EQ(ops_messages(std::string(structs) + R"yaml(ops:
- {op: f, kind: elementwise, operands: {x: fractal::Region}, results: {out: f32}, kernel: k}
- {op: g, kind: opaque, operands: {x: fractal::Regoin}, results: {out: f32}, kernel: k}
- {op: h, kind: opaque, operands: {x: f32}, results: {out: {type: f32, shape: "[by]"}}, attributes: {by: {type: number}},
   kernel: k}
)yaml"),
           R"text(ops.yaml:4:44: error: 'fractal::Region' is a struct, which only opaque operators take and make
    4 | - {op: f, kind: elementwise, operands: {x: fractal::Region}, results: {out: f32}, kernel: k}
      |                                            ^
ops.yaml:2:12: note: it is declared here
    2 | - {struct: fractal::Region, header: my/fractal.hpp, bytes: 32, alignment: 8}
      |            ^
help: give the operator `kind: opaque` and a kernel that is a plain function on views
ops.yaml:5:39: error: unknown type 'fractal::Regoin'
    5 | - {op: g, kind: opaque, operands: {x: fractal::Regoin}, results: {out: f32}, kernel: k}
      |                                       ^
note: the nearest name is 'fractal::Region'
help: declare it, before 'ops': structs: [{struct: fractal::Regoin, header: my.hpp, bytes: 16, alignment: 8}]
ops.yaml:6:8: error: 'by' stands in the shape of 'out', so it must be an attribute of type dim
    6 | - {op: h, kind: opaque, operands: {x: f32}, results: {out: {type: f32, shape: "[by]"}}, attributes: ...
      |        ^
)text");
}

TEST_CASE("structs, bad: operators and kernels that disagree on them") {
  CHECK_EQ(
      ops_messages(std::string(structs) +
                       "ops: [{op: f, kind: opaque, operands: {x: \"fractal::Region\", y: f32}, results: {out: "
                       "\"fractal::Region\"}, kernel: k}]\n",
                   "kernels: [{kernel: k, header: k.hpp, operator: f, kind: opaque,\n"
                   "  operands: [{name: x}, {name: y, struct: \"fractal::Region\"}], results: [{name: out, struct: "
                   "\"fractal::Map\"}]}]\n"),
      R"text(ops.yaml:3:40: error: 'x' is a fractal::Region, but a number in the kernel 'k'
    3 | ops: [{op: f, kind: opaque, operands: {x: "fractal::Region", y: f32}, results: {out: "fractal::Regio...
      |                                        ^
kernels.yaml:2:14: note: it is declared here
    2 |   operands: [{name: x}, {name: y, struct: "fractal::Region"}], results: [{name: out, struct: "fracta...
      |              ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:3:62: error: 'y' is a number, but a fractal::Region in the kernel 'k'
    3 | ...ps: [{op: f, kind: opaque, operands: {x: "fractal::Region", y: f32}, results: {out: "fractal::Region...
      |                                                                ^
kernels.yaml:2:25: note: it is declared here
    2 |   operands: [{name: x}, {name: y, struct: "fractal::Region"}], results: [{name: out, struct: "fracta...
      |                         ^
help: correct the operator or its kernel, whichever is wrong
ops.yaml:3:81: error: 'out' is a fractal::Region, but a fractal::Map in the kernel 'k'
    3 | ...opaque, operands: {x: "fractal::Region", y: f32}, results: {out: "fractal::Region"}, kernel: k}]
      |                                                                ^
kernels.yaml:2:74: note: it is declared here
    2 | ...{name: x}, {name: y, struct: "fractal::Region"}], results: [{name: out, struct: "fractal::Map"}]}]
      |                                                                ^
help: correct the operator or its kernel, whichever is wrong
)text");
}

}  // namespace kgen
