// Sizes that operators name, lists of attributes and their bounds: convolutions, frames and running sums.
#include "tests/unit/infer_fixture.hpp"

namespace kgen {
namespace {

using test::infer_good;
using test::problems_of;

// One node on x, and further inputs.
std::string graph_of(const std::string& inputs, const std::string& node) {
  return "graph: g\n"
         "dims: {H: 1..512, P: 0..4}\n"
         "inputs: {" +
         inputs +
         "}\n"
         "nodes:\n- " +
         node + "\noutputs: [y]\n";
}

std::string type_of(const std::string& inputs, const std::string& node) {
  return infer_good(graph_of(inputs, node)).type("y");
}

std::string problem_of(const std::string& inputs, const std::string& node) {
  return problems_of(graph_of(inputs, node));
}

TEST_CASE("a convolution's result follows from its sizes and attributes") {
  const auto type = [](const std::string& x, const std::string& filters, const std::string& attributes) {
    return type_of("x: 'f32" + x + "', w: 'f32" + filters + "'", "{op: conv2d, in: [x, w], out: y" + attributes + "}");
  };
  CHECK(type("[1, 224, 224, 3]", "[7, 7, 3, 64]", ", strides: [2, 2], pads: [3, 3, 3, 3]") == "f32[1, 112, 112, 64]");
  CHECK(type("[2, 9, 8, 16]", "[3, 2, 16, 33]", ", strides: [1, 2], pads: [2, 0, 1, 3]") == "f32[2, 10, 5, 33]");
  CHECK(type("[1, 11, 13, 8]", "[3, 3, 4, 16]", ", dilations: [2, 3], group: 2") == "f32[1, 7, 7, 16]");
  CHECK(type("[1, H, H + 1, 8]", "[3, 3, 8, 8]", ", pads: [1, 1, 1, 1]") == "f32[1, H, H + 1, 8]");
  CHECK(type("[1, H, 2*H, 8]", "[3, 3, 8, 8]", ", pads: [1, 1, 1, 1], strides: [2, 2]") ==
        "f32[1, (H + 1)/2, H, 8]");
}

TEST_CASE("conv1d, pad and cumsum") {
  CHECK(type_of("x: 'f16[2, H, 6]', w: 'f16[5, 3, 8]'",
                "{op: conv1d, in: [x, w], out: y, pads: [4, 0], group: 2}") == "f16[2, H, 8]");
  CHECK(type_of("x: 'i8[H, 4]'", "{op: pad, in: x, out: y, pads: [1, 2, 3, 4], mode: edge}") == "i8[H + 4, 10]");
  CHECK(type_of("x: 'bool[]'", "{op: pad, in: x, out: y, pads: []}") == "bool[]");
  CHECK(type_of("x: 'i32[H, 4]'", "{op: cumsum, in: x, out: y, axis: 0}") == "i32[H, 4]");
}

TEST_CASE("windows, triangles and rows of truth values") {
  CHECK(type_of("x: 'u8[2, H, 8, 3]'", "{op: max_pool2d, in: x, out: y, window: [1, 3], strides: [1, 2]}") ==
        "u8[2, H, 3, 3]");
  CHECK(type_of("x: 'bf16[2, 9, 8, H]'", "{op: average_pool2d, in: x, out: y, window: [2, 2], pads: [0, 1, 1, 0]}") ==
        "bf16[2, 9, 8, H]");
  CHECK(type_of("x: 'bool[5, H, 4]'", "{op: trilu, in: x, out: y, diagonal: -7}") == "bool[5, H, 4]");
  CHECK(type_of("x: 'i32[H, 4]'", "{op: one_hot, in: x, out: y, depth: 7}") == "bool[H, 4, 7]");
  CHECK(type_of("x: 'i64[]'", "{op: one_hot, in: x, out: y, depth: 0}") == "bool[0]");
}

TEST_CASE("bad: windows, triangles and rows of truth values") {
  CHECK(problem_of("x: 'f32[1, 3, 8, 3]'", "{op: max_pool2d, in: x, out: y, window: [3, 2], dilations: [2, 1]}") ==
        "5: max_pool2d: the window must not be higher than the image and its pads\n"
        "note: that needs 5 <= 3, which never holds");
  CHECK(problem_of("x: 'f32[1, 3, 2, 3]'", "{op: average_pool2d, in: x, out: y, window: [3, 4], pads: [0, 1, 0, 0]}") ==
        "5: average_pool2d: the window must not be wider than the image and its pads\n"
        "note: that needs 4 <= 3, which never holds");
  CHECK(problem_of("x: 'f32[H]'", "{op: trilu, in: x, out: y}") ==
        "5: trilu: x must have two axes or more\n"
        "note: that needs 2 <= 1, which never holds");
  CHECK(problem_of("x: 'i32[H]'", "{op: one_hot, in: x, out: y, depth: -1}") ==
        "5: one_hot: attribute 'depth' must be at least 0, and holds -1\n"
        "note: that needs 0 <= -1, which never holds");
}

TEST_CASE("bad: lists of numbers of the wrong length; a default of one is all of them") {
  CHECK(problem_of("x: 'f32[3, 4]'", "{op: resize_linear, in: x, out: y, sizes: [6, 8], scales: [2.5]}") ==
        "5: resize_linear: attribute 'scales' lists 1 value, and must list 2\n"
        "note: scales: By how much each axis grows; 0: by size / extent, exactly.");
  CHECK(problem_of("x: 'f32[3, 4]'", "{op: resize_linear, in: x, out: y, sizes: [6, 8]}") == "");
}

TEST_CASE("bad: lists of the wrong length, and values below the least") {
  CHECK(problem_of("x: 'f32[3, 4]'", "{op: pad, in: x, out: y, pads: [1, 2]}") ==
        "5: pad: attribute 'pads' lists 2 values, and must list 4\n"
        "note: pads: Elements in front of each axis, then behind each.");
  CHECK(problem_of("x: 'f32[3, 4]'", "{op: pad, in: x, out: y, pads: [1, 0, -2, 0]}") ==
        "5: pad: attribute 'pads' must be at least 0, and holds -2\n"
        "note: that needs 0 <= -2, which never holds");
  CHECK(problem_of("x: 'f32[1, 8, 8, 3]', w: 'f32[3, 3, 3, 4]'", "{op: conv2d, in: [x, w], out: y, strides: [2, 0]}") ==
        "5: conv2d: attribute 'strides' must be at least 1, and holds 0\n"
        "note: that needs 1 <= 0, which never holds");
  CHECK(problem_of("x: 'f32[1, 8, 8, 3]', w: 'f32[3, 3, 3, 4]'", "{op: conv2d, in: [x, w], out: y, strides: 2}") ==
        "5: conv2d: attribute 'strides' lists 1 value, and must list 2\n"
        "note: strides: The distance between positions, down and across.");
  CHECK(problem_of("x: 'f32[1, 8, 8, 3]', w: 'f32[3, 3, 3, 4]'", "{op: conv2d, in: [x, w], out: y, group: 0}") ==
        "5: conv2d: attribute 'group' must be at least 1, and holds 0\n"
        "note: that needs 1 <= 0, which never holds");
}

TEST_CASE("bad: sizes that do not fit each other") {
  const auto problem = [](const std::string& x, const std::string& filters, const std::string& attributes) {
    return problem_of("x: 'f32" + x + "', w: 'f32" + filters + "'",
                      "{op: conv2d, in: [x, w], out: y" + attributes + "}");
  };
  CHECK(problem("[1, 8, 8, 3]", "[3, 3, 4, 8]", "") ==
        "5: conv2d: the third axis of the filters must be the channels of x divided by `group`\n"
        "note: that needs 3 = 4, which never holds");
  CHECK(problem("[1, 8, 8, 8]", "[3, 3, 4, 8]", "") ==
        "5: conv2d: the third axis of the filters must be the channels of x divided by `group`\n"
        "note: that needs 8 = 4, which never holds");
  CHECK(problem("[1, 8, 8, 6]", "[3, 3, 2, 8]", ", group: 3") ==
        "5: conv2d: `group` must divide the number of filters\n"
        "note: that needs 8 = 6, which never holds");
  CHECK(problem("[1, 4, 8, 6]", "[3, 3, 6, 8]", ", dilations: [2, 1]") ==
        "5: conv2d: the filters must not be higher than the image and its pads\n"
        "note: that needs 5 <= 4, which never holds");
  CHECK(problem("[8, 8, 6]", "[3, 3, 6, 8]", "") ==
        "5: conv2d: operand 'x' takes [N, H, W, C], but 'x' (f32[8, 8, 6]) has 3 axes");
  const auto of_volumes = [](const std::string& filters, const std::string& attributes) {
    return problem_of("x: 'f32[1, 2, 3, 4, 6]', w: 'f32" + filters + "'",
                      "{op: conv3d, in: [x, w], out: y" + attributes + "}");
  };
  CHECK(of_volumes("[1, 1, 1, 4, 8]", "") ==
        "5: conv3d: the fourth axis of the filters must be the channels of x divided by `group`\n"
        "note: that needs 6 = 4, which never holds");
  CHECK(of_volumes("[1, 1, 1, 2, 8]", ", group: 3") ==
        "5: conv3d: `group` must divide the number of filters\nnote: that needs 8 = 6, which never holds");
  CHECK(of_volumes("[0, 1, 1, 6, 8]", "") ==
        "5: conv3d: the filters must have planes\nnote: that needs 1 <= 0, which never holds");
  CHECK(of_volumes("[4, 1, 1, 6, 8]", ", pads: [1, 0, 0, 0, 0, 0]") ==
        "5: conv3d: the filters must not be deeper than the volume and its pads\n"
        "note: that needs 4 <= 3, which never holds");
  CHECK(of_volumes("[1, 3, 1, 6, 8]", ", dilations: [1, 2, 1]") ==
        "5: conv3d: the filters must not be higher than the volume and its pads\n"
        "note: that needs 5 <= 3, which never holds");
  CHECK(of_volumes("[1, 1, 5, 6, 8]", "") ==
        "5: conv3d: the filters must not be wider than the volume and its pads\n"
        "note: that needs 5 <= 4, which never holds");
  CHECK(problem_of("x: 'f32[3, 4]'", "{op: cumsum, in: x, out: y, axis: 2}") ==
        "5: cumsum: `axis` must be an axis of x\nnote: that needs 3 <= 2, which never holds");
  CHECK(problem_of("x: 'f32[3, 4]'", "{op: cumsum, in: x, out: y, axis: -3}") ==
        "5: cumsum: `axis` must be an axis of x\nnote: that needs -2 <= -3, which never holds");
}

TEST_CASE("what only the run can tell is required then") {
  const auto inferred =
      infer_good(graph_of("x: 'f32[1, H, 8, 4]', w: 'f32[3, 3, 4, 8]'", "{op: conv2d, in: [x, w], out: y}"));
  REQUIRE(inferred.module.main.requirements.size() == 1);
  const DimRequirement& requirement = inferred.module.main.requirements[0];
  CHECK(requirement.left == 3);
  CHECK(requirement.right == Dim::symbol("H"));
  CHECK(requirement.meaning == "y: the filters must not be higher than the image and its pads");
}

}  // namespace
}  // namespace kgen
