// Sizes that a model reads as data, and views that exporters write in several steps.
#include <algorithm>

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
  CHECK(section(alone, "nodes:") == "nodes:\n  - {op: dim_value, out: count, dim: 4*N}\n  - {op: dim_value, out: y_2, dim: 4*N}\n"
        "  - {op: cast, in: y_2, out: \"y\", to: f32}\n");
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
  const std::string mixed = imported(model(
      {symbolic_info("x", "P", {4})},
      {node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"p"}), node("Range", {"p", "ten", "one"}, {"y"})},
      {"y"}, {scalar("zero", 0), scalar("one", 1), scalar("ten", 10)}));
  CHECK(section(mixed, "nodes:").find("count: \"max(10 - P, 0)\"") != mixed.npos);
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

TEST_CASE("import: the lesser of a size and a number is a size") {
  const std::string text = imported(
      model({symbolic_info("x", "N", {})},
            {node("Shape", {"x"}, {"s"}), node("Min", {"s", "most"}, {"k"}), node("TopK", {"x", "k"}, {"y", "places"})},
            {"y", "places"}, {integers("most", {1000})}));
  CHECK(section(text, "nodes:") == "nodes:\n  - {op: top_k, in: x, out: [\"y\", places], k: \"min(N, 1000)\"}\n");
  CHECK(infer_good(text).type("y") == "f32[min(N, 1000)]");
  const std::string end =
      imported(model({symbolic_info("x", "N", {4})}, {node("Slice", {"x", "start", "end", "axis"}, {"y"})}, {"y"},
                     {integers("start", {-5}), integers("end", {1000000}), integers("axis", {0})}));
  CHECK(infer_good(end).type("y") == "f32[N - max(N - 5, 0), 4]");
}

TEST_CASE("import: how many are chosen, and how wide a frame is, a call may say") {
  ImportOptions options;
  options.sizes = {"k"};
  const std::string chosen = imported(model({symbolic_info("x", "N", {6}), tensor_info("k", {1}, onnx_int64)},
                                            {node("TopK", {"x", "k"}, {"y", "places"})}, {"y", "places"}),
                                      options);
  CHECK(section(chosen, "nodes:") == "nodes:\n  - {op: top_k, in: x, out: [\"y\", places], k: k_0}\n");
  options.sizes = {"pads"};
  const std::string framed = imported(model({symbolic_info("x", "N", {6}), tensor_info("pads", {4}, onnx_int64)},
                                            {node("Pad", {"x", "pads"}, {"y"})}, {"y"}),
                                      options);
  CHECK(infer_good(framed).type("y") == "f32[N + pads_0 + pads_2, pads_1 + pads_3 + 6]");
  // To a multiple of 32, as detectors do.
  const std::string multiple = imported(
      model({symbolic_info("x", "N", {})},
            {node("Shape", {"x"}, {"s"}), node("Neg", {"s"}, {"minus"}), node("Mod", {"minus", "step"}, {"missing"}),
             node("Concat", {"zero", "missing"}, {"pads"}, {integer("axis", 0)}), node("Pad", {"x", "pads"}, {"y"})},
            {"y"}, {integers("step", {32}), integers("zero", {0})}));
  CHECK(infer_good(multiple).type("y") == "f32[32*((N + 31)/32)]");
  // And with what it is filled.
  const std::string filled =
      imported(model({symbolic_info("x", "N", {}), tensor_info("fill", {})},
                     {node("Pad", {"x", "pads", "fill"}, {"y"})}, {"y"}, {integers("pads", {1, 2})}));
  CHECK(section(filled, "nodes:").find("{op: broadcast_to, in: fill, out: y_head, shape: [1]}") != filled.npos);
}

TEST_CASE("import: a dim that is called after others follows from them") {
  const auto cached = [](const std::string& mask) {
    return model(
        {symbolic_info("past", "past_length", {}), symbolic_info("now", "length", {}), symbolic_info("mask", mask, {})},
        {node("Concat", {"past", "now"}, {"all"}, {integer("axis", 0)}), node("Mul", {"all", "mask"}, {"y"})}, {"y"});
  };
  CHECK(infer_good(imported(cached("past_length + length"))).type("mask") == "f32[length + past_length]");
  // Where a name is no sum of others, it is one of its own.
  CHECK(imported(model({symbolic_info("x", "batch-size", {})}, {node("Relu", {"x"}, {"y"})}, {"y"}))
            .find("batch_size: 1..8192") != std::string::npos);
  const std::string itself = imported(
      model({symbolic_info("x", "a + 1", {}), symbolic_info("z", "b", {})}, {node("Relu", {"x"}, {"y"})}, {"y"}));
  CHECK(infer_good(itself).type("x") == "f32[a_1]");
  CHECK(infer_good(imported(model({symbolic_info("x", "s0//2 + 1", {}), symbolic_info("z", "s0", {})},
                                  {node("Relu", {"x"}, {"y"})}, {"y"})))
            .type("y") == "f32[s0/2 + 1]");
  // Or the command line says so.
  ImportOptions options;
  options.sums["total"] = "past_length + length";
  CHECK(infer_good(imported(cached("total"), options)).type("y") == "f32[length + past_length]");
  CHECK(import_problems(cached("total")).find("write them with the same dims: --dim NAME=OTHER says so") !=
        std::string::npos);
  options.sums["total"] = "total + 1";
  CHECK(import_problems(cached("total"), options)
            .starts_with("m.onnx: 'total + 1' says nothing of the dim 'total'\n"
                         "note: it should be a sum of others of its dims ('length', 'past_length' and 'total'), or of "
                         "new ones, such as 32*t"));
  options.sums = {{"all", "length"}};
  CHECK(import_problems(cached("total"), options).find("it has no dim 'all'") != std::string::npos);
}

TEST_CASE("import: a dim may be a multiple of one that the model does not know") {
  // Half the size, up to a whole number, twice: 2*((N + 1)/2) is N where N is even.
  const auto halved = [](const std::string& size) {
    return model({symbolic_info("x", size, {})},
                 {node("Slice", {"x", "zero", "end", "zero", "two"}, {"half"}),
                  node("Concat", {"half", "half"}, {"again"}, {integer("axis", 0)}), node("Add", {"x", "again"}, {"y"})},
                 {"y"},
                 {integers("zero", {0}), integers("end", {1000000}), integers("two", {2})});
  };
  CHECK(import_problems(halved("N")).find("note: --dim N=64 gives N that value alone, and --dim \"N=32*n\" makes it a "
                                          "multiple") != std::string::npos);
  ImportOptions options;
  options.sums["N"] = "2*pairs";
  options.dims["pairs"] = {1, 100};
  const std::string text = imported(halved("N"), options);
  CHECK(section(text, "dims:") == "dims:\n  pairs: 1..100\n");
  CHECK(infer_good(text).type("y") == "f32[2*pairs]");
  // Or its name says so.
  CHECK(infer_good(imported(halved("2*h"))).type("y") == "f32[2*h]");
}

TEST_CASE("import: a size may be computed as a float, where it stays a whole number") {
  // Where detectors look: as many places as the size divided by a stride, and sizes that are scaled.
  const OnnxModel places = model(
      {symbolic_info("x", "4*h", {})},
      {node("Shape", {"x"}, {"s"}), node("Cast", {"s"}, {"real"}, {integer("to", onnx_float)}),
       node("Div", {"real", "stride"}, {"cells"}), node("Squeeze", {"cells"}, {"limit"}),
       node("Range", {"begin", "limit", "step"}, {"y"}), node("Mul", {"real", "twice"}, {"grown"}),
       node("Cast", {"grown"}, {"size"}, {integer("to", onnx_int64)}), node("ConstantOfShape", {"size"}, {"z"})},
      {"y", "z"}, {floats("stride", {1}, {4}), floats("twice", {1}, {2}), floats("begin", {}, {0}), floats("step", {}, {1})});
  CHECK(infer_good(imported(places)).type("y") == "f32[h]");
  CHECK(infer_good(imported(places)).type("z") == "f32[8*h]");
  // A division that leaves a fraction is computed by the run.
  const std::string thirds = imported(
      model({symbolic_info("x", "N", {})},
            {node("Shape", {"x"}, {"s"}), node("Cast", {"s"}, {"real"}, {integer("to", onnx_float)}),
             node("Div", {"real", "three"}, {"thirds"}), node("Mul", {"x", "thirds"}, {"y"})},
            {"y"}, {floats("three", {1}, {3})}));
  CHECK(section(thirds, "nodes:").find("{op: div, in: [") != std::string::npos);
}

TEST_CASE("import: sizes that a call gives are compared by the run with those that there are") {
  ImportOptions options;
  options.sizes = {"shape"};
  const std::string added =
      imported(model({symbolic_info("x", "N", {6}), tensor_info("shape", {2}, onnx_int64), tensor_info("b", {6})},
                     {node("Reshape", {"x", "shape"}, {"r"}), node("Add", {"r", "b"}, {"y"})}, {"y"}),
               options);
  CHECK(section(added, "nodes:") ==
        "nodes:\n"
        "  - {op: reshape, in: x, out: r, shape: [shape_0, shape_1]}\n"
        "  - {op: reshape, in: b, out: b_fitted, shape: [shape_1]}\n"
        "  - {op: add, in: [r, b_fitted], out: \"y\"}\n");
  const std::string expanded = imported(model({tensor_info("x", {3, 1}), tensor_info("shape", {2}, onnx_int64)},
                                              {node("Expand", {"x", "shape"}, {"y"})}, {"y"}),
                                        options);
  CHECK(section(expanded, "nodes:") ==
        "nodes:\n  - {op: broadcast_to, in: x, out: \"y\", shape: [shape_0, shape_1]}\n");
  const Module typed = infer_good(expanded).module;
  CHECK(std::ranges::any_of(typed.main.requirements,
                            [](const auto& each) { return each.left.text() == "shape_0" && each.right == Dim(3); }));
}
