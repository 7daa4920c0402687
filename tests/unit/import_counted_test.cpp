// Operators of which only the run knows how much they give: results with room for all, and their counts.
#include <doctest/doctest.h>

#include "tests/unit/import_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

// What can be said of elements of x that are chosen by a condition on them.
OnnxModel masked(std::vector<OnnxNode> more, std::vector<std::string> outputs, std::vector<OnnxTensor> weights = {}) {
  std::vector<OnnxNode> nodes = {node("NonZero", {"x"}, {"places"}), node("Transpose", {"places"}, {"rows"}),
                                 node("GatherND", {"x", "rows"}, {"chosen"})};
  nodes.insert(nodes.end(), more.begin(), more.end());
  return model({tensor_info("x", {4, 3})}, nodes, std::move(outputs), std::move(weights));
}

}  // namespace

TEST_CASE("import: a result whose size only the run knows is an output with room for all of it, and a count") {
  const std::string text = imported(model({tensor_info("x", {4, 3})}, {node("NonZero", {"x"}, {"y"})}, {"y"}));
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: nonzero, in: x, out: [\"y\", y_count]}\n");
  CHECK(section(text, "outputs:") ==
        "outputs:\n  \"y\": \"y\"  # along axis 1 only the first y_count count\n  y_count: y_count\n");
}

TEST_CASE("import: a name that the model has is not given to a count") {
  const std::string text = imported(model({tensor_info("x", {4}), tensor_info("z", {2})},
                                          {node("NonZero", {"x"}, {"y"}), node("Relu", {"z"}, {"y_count"})}, {"y", "y_count"}));
  CHECK(section(text, "outputs:").find("along axis 1 only the first y_count_2 count") != text.npos);
}

TEST_CASE("import: elementwise operators, views, reductions of other axes, matmul and Gather carry a count") {
  const std::string text = imported(
      masked({node("Relu", {"chosen"}, {"positive"}), node("Gelu", {"positive"}, {"bent"}), node("Unsqueeze", {"bent", "last"}, {"column"}),
              node("MatMul", {"column", "w"}, {"lines"}), node("Softmax", {"lines"}, {"shares"}),
              node("ReduceMax", {"shares", "last"}, {"y"}, {integer("keepdims", 0)}), node("Transpose", {"lines"}, {"turned"})},
             {"y", "turned", "places"}, {integers("last", {-1}), floats("w", {1, 3}, {1, 2, 3})}));
  CHECK(section(text, "outputs:") ==
        "outputs:\n"
        "  \"y\": \"y\"  # along axis 0 only the first y_count count\n"
        "  turned: turned  # along axis 1 only the first turned_count count\n"
        "  places: places  # along axis 1 only the first places_count count\n"
        "  y_count: y_count\n  turned_count: turned_count\n  places_count: places_count\n");
}

TEST_CASE("import: Compress, Unique and NonMaxSuppression count along their own axes") {
  const std::string text =
      imported(model({tensor_info("x", {2, 5}), tensor_info("c", {4}, onnx_bool)},
                     {node("Compress", {"x", "c"}, {"lines"}, {integer("axis", -1)}),
                      node("Unique", {"x"}, {"columns", "", "inverse", "repeats"}, {integer("axis", 1), integer("sorted", 0)})},
                     {"lines", "columns", "inverse", "repeats"}));
  const std::string outputs = section(text, "outputs:");
  CHECK(outputs.find("  lines: lines  # along axis 1 only the first lines_count count\n") != text.npos);
  CHECK(outputs.find("  columns: columns  # along axis 1 only the first columns_count count\n") != text.npos);
  CHECK(outputs.find("  inverse: inverse\n") != text.npos);
  CHECK(outputs.find("  repeats: repeats  # along axis 0 only the first repeats_count count\n") != text.npos);
  const std::string boxes = imported(model({symbolic_info("boxes", "B", {9, 4}), symbolic_info("scores", "B", {2, 9})},
                                           {node("NonMaxSuppression", {"boxes", "scores", "most", "iou"}, {"y"})}, {"y"},
                                           {integers("most", {100}), floats("iou", {1}, {0.5F})}));
  CHECK(section(boxes, "nodes:") ==
        "nodes:\n  - {op: non_max_suppression, in: [boxes, scores], out: [\"y\", y_count], most: 9, iou_threshold: 0.5}\n");
}

TEST_CASE("import: Shape and Size of what is counted are computed at run time") {
  const std::string text = imported(masked({node("Shape", {"rows"}, {"s"}), node("Size", {"chosen"}, {"n"})}, {"s", "n"}));
  CHECK(section(text, "nodes:").find("{op: concat, in: [s_part, s_part_2], out: s, axis: 0}") != text.npos);
  CHECK(section(text, "outputs:") == "outputs: [s, \"n\"]\n");
}

TEST_CASE("import: what would read more than counts is refused") {
  CHECK(import_problems(masked({node("ReduceSum", {"chosen"}, {"y"})}, {"y"})) ==
        "m.onnx: the node of 'y' (ReduceSum): 'chosen' (f32[12]) has room for 12 places along axis 0, of which only the run knows "
        "how many count, and 'sum' would also read those behind\n"
        "help: what may read it: elementwise operators, other axes' views and reductions, indices of Gather, outputs");
  const std::string text = import_problems(
      masked({node("Softmax", {"chosen"}, {"a"}), node("TopK", {"chosen", "k"}, {"b", ""}), node("Concat", {"chosen", "chosen"}, {"c"}, {integer("axis", 0)}),
              node("Slice", {"chosen", "k", "k2"}, {"d"}), node("ScatterND", {"x", "rows", "chosen"}, {"e"})},
             {"a", "b", "c", "d", "e"}, {integers("k", {1}), integers("k2", {2})}));
  for (const char* said : {"(Softmax): 'chosen'", "(TopK): 'chosen'", "(Concat): 'chosen'", "(Slice): 'chosen'", "(ScatterND): '"})
    CHECK_MESSAGE(text.find(said) != text.npos, text);
}

TEST_CASE("import: what depends on a count alone is refused") {
  const std::string text = import_problems(masked({node("EyeLike", {"rows"}, {"y"})}, {"y"}));
  CHECK(text == "m.onnx: the node of 'y' (EyeLike): it depends on how long 'rows' is, which only the run knows");
  const std::string filled = import_problems(masked({node("Shape", {"chosen"}, {"s"}), node("ConstantOfShape", {"s"}, {"y"})}, {"y"}));
  CHECK(filled.find("its input 's' says shapes, axes or the like, and is known only at run time") != filled.npos);
}

TEST_CASE("import: NonZero of what is known is known") {
  const std::string text = imported(model({tensor_info("x", {5, 2})}, {node("NonZero", {"mask"}, {"p"}), node("Squeeze", {"p", "zero"}, {"i"}),
                                                                       node("Gather", {"x", "i"}, {"y"})},
                                          {"y"}, {integers("mask", {0, 3, 0, 1, 1}), integers("zero", {0})}));
  CHECK(section(text, "constants:").find("i64[3]\", values: [1, 3, 4]") != text.npos);
  CHECK(section(text, "outputs:") == "outputs: [\"y\"]\n");
}
