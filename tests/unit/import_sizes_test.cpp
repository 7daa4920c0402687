// Sizes that a model reads as data, and views that exporters write in several steps.
#include "tests/unit/import_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

TEST_CASE("import: a size that is read as data is a number that the run knows") {
  const std::string text = imported(
      model({symbolic_info("x", "N", {4})},
            {node("Shape", {"x"}, {"s"}), node("Mul", {"s", "s"}, {"squared"}), node("Identity", {"squared"}, {"y"})},
            {"y"}));
  CHECK(infer_good(text).type("y") == "i64[2]");
  const std::string nodes =
      section(imported(model({symbolic_info("x", "N", {4})}, {node("Shape", {"x"}, {"y"})}, {"y"})), "nodes:");
  CHECK(nodes ==
        "nodes:\n"
        "  - {op: dim_value, out: y_number, dim: N}\n"
        "  - {op: unsqueeze, in: y_number, out: y_part_2, axis: 0}\n"
        "  - {op: concat, in: [y_part_2, y_part], out: \"y\", axis: 0}\n");
  const std::string alone = imported(
      model({symbolic_info("x", "N", {4})}, {node("Size", {"x"}, {"count"}), node("Cast", {"count"}, {"y"}, {integer("to", 1)})}, {"count", "y"}));
  CHECK(section(alone, "nodes:") == "nodes:\n  - {op: dim_value, out: count, dim: 4*N}\n  - {op: cast, in: count, out: \"y\", to: f32}\n");
  // Read twice, it is written once.
  const std::string twice = imported(
      model({symbolic_info("x", "N", {4}), tensor_info("a", {2}, onnx_int64)},
            {node("Shape", {"x"}, {"s"}), node("Add", {"a", "s"}, {"y"}), node("Mul", {"a", "s"}, {"z"})}, {"y", "z"}));
  CHECK(twice.find("op: dim_value") == twice.rfind("op: dim_value"));
}

TEST_CASE("import: a size that may be less than 0 is no data") {
  CHECK(import_problems(model({symbolic_info("x", "N", {4})},
                              {node("Size", {"x"}, {"n"}), node("Sub", {"ten", "n"}, {"y"})}, {"y"},
                              {scalar("ten", 10)})) ==
        "m.onnx: output 'y': what 'known(elements[i]) || elements[i] >= 0' is depends on sizes that are known only at run time, or "
        "on what "
        "is not there");
}

TEST_CASE("import: a range between sizes counts in front of each place") {
  const auto nodes = [](const std::string& start, const std::string& limit, const std::string& delta) {
    return section(imported(model({symbolic_info("x", "P", {4}), symbolic_info("z", "S", {4})},
                                  {node("Shape", {"x"}, {"p_s"}), node("Gather", {"p_s", "zero"}, {"p"}),
                                   node("Shape", {"z"}, {"s_s"}), node("Gather", {"s_s", "zero"}, {"s"}),
                                   node("Add", {"p", "s"}, {"all"}), node("Range", {start, limit, delta}, {"y"})},
                                  {"y"}, {scalar("zero", 0), scalar("one", 1), scalar("three", 3)})),
                   "nodes:");
  };
  CHECK(nodes("zero", "s", "one") == "nodes:\n  - {op: iota, out: \"y\", count: S}\n");
  CHECK(nodes("one", "s", "three") ==
        "nodes:\n  - {op: iota, out: \"y\", count: (S + 1)/3, start: 1, step: 3}\n");
  CHECK(nodes("p", "all", "one") ==
        "nodes:\n"
        "  - {op: iota, out: y_distances, count: S}\n"
        "  - {op: dim_value, out: y_first, dim: P}\n"
        "  - {op: add, in: [y_distances, y_first], out: \"y\"}\n");
  const std::string mixed = import_problems(model(
      {symbolic_info("x", "P", {4})},
      {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"p"}), node("Range", {"p", "ten", "one"}, {"y"})},
      {"y"}, {scalar("zero", 0), scalar("one", 1), scalar("ten", 10)}));
  CHECK(mixed.starts_with("m.onnx: the node of 'y' (Range): what 'known(count) || count >= 0' is depends on sizes"));
}

TEST_CASE("import: axes that are joined for a transposition were only carried along") {
  const std::string text =
      imported(model({symbolic_info("k", "B", {12, 5, 64})},
                     {node("Reshape", {"k", "joined"}, {"lines"}),
                      node("Transpose", {"lines"}, {"turned"}, {integer_list("perm", {0, 2, 1})}),
                      node("Reshape", {"turned", "apart"}, {"y"})},
                     {"y"}, {integers("joined", {-1, 5, 64}), integers("apart", {-1, 12, 64, 5})}));
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: transpose, in: k, out: \"y\", perm: [0, 1, 3, 2]}\n");
  // Taken apart otherwise they are moved: B and 12 change places.
  const std::string other =
      imported(model({symbolic_info("k", "B", {12, 5, 64})},
                     {node("Reshape", {"k", "joined"}, {"lines"}),
                      node("Transpose", {"lines"}, {"turned"}, {integer_list("perm", {0, 2, 1})}),
                      node("Reshape", {"turned", "apart"}, {"y"})},
                     {"y"}, {integers("joined", {-1, 5, 64}), integers("apart", {12, -1, 64, 5})}));
  CHECK(section(other, "nodes:").find("reshape") != std::string::npos);
}

TEST_CASE("import: views that show nothing new are left out") {
  const std::string text = imported(
      model({tensor_info("x", {3, 4})},
            {node("Reshape", {"x", "same"}, {"a"}), node("Expand", {"a", "same"}, {"b"}), node("Relu", {"b"}, {"y"})},
            {"y"}, {integers("same", {3, 4})}));
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: relu, in: x, out: \"y\"}\n");
}

TEST_CASE("import: rows of a table are an embedding, and one known place is a part") {
  const OnnxModel m =
      model({tensor_info("w", {9, 4}), tensor_info("ids", {2, 3}, onnx_int64)},
            {node("Gather", {"w", "ids"}, {"rows"}), node("Gather", {"rows", "last"}, {"y"}, {integer("axis", 1)})},
            {"y"}, {scalar("last", -1)});
  CHECK(section(imported(m), "nodes:") ==
        "nodes:\n"
        "  - {op: embedding, in: [ids, w], out: rows}\n"
        "  - {op: select, in: rows, out: \"y\", axis: 1, index: 2}\n");
}
