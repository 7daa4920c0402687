#include <doctest/doctest.h>

#include "generator/emit/stub.hpp"
#include "tests/unit/has.hpp"
#include "tests/unit/plan_fixture.hpp"

using namespace kgen;
using namespace kgen::test;

namespace {

struct Lowered {
  FusedGraph fused;
  std::vector<std::uint32_t> stub_of;
  std::vector<StubProgram> stubs;
};

Lowered lower_text(Fixture& f, const std::string& text) {
  Lowered out;
  out.fused = f.fuse_main(text);
  StubTable table;
  out.stub_of = lower(out.fused, f.ops, "stub_", table);
  out.stubs = table.take();
  return out;
}

std::string body_of(const StubProgram& stub) { return emit_stub(stub, "g", "stubs", {"g.yaml", "kgen plan g.yaml"}).content; }

}  // namespace

TEST_CASE("identical subgraphs share one stub, whatever their values are called") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 32]", w: "f32[32, 32]", v: "f32[32, 32]"}
nodes:
  - {op: matmul, in: [a, w], out: b}
  - {op: relu, in: b, out: c}
  - {op: matmul, in: [c, v], out: d}
  - {op: relu, in: d, out: e}
outputs: [e]
)");
  REQUIRE(lowered.stub_of.size() == 2);
  CHECK(lowered.stub_of[0] == lowered.stub_of[1]);
  CHECK(lowered.stubs.size() == 1);
}

TEST_CASE("many groups that several threads lower have the stubs that one makes, in the same order") {
  Fixture f;
  constexpr int products = 5000;
  std::string text = "graph: g\ndims: {M: 1..64}\ninputs: {h0: \"f32[M, 32]\", w: \"f32[32, 32]\", v: \"f32[32, 48]\"";
  text += ", u: \"f32[48, 32]\"}\nnodes:\n";
  // Wide and narrow products in turns, and in the middle one that no other is like.
  for (int i = 0; i < products; ++i) {
    const std::string n = std::to_string(i);
    const bool grows = i % 2 == 0;
    text += "  - {op: matmul, in: [h" + n + ", " + (grows ? "v" : "u") + "], out: p" + n + "}\n  - {op: " +
            (i == products / 2 ? "tanh" : "relu") + ", in: p" + n + ", out: h" + std::to_string(i + 1) + "}\n";
  }
  const Lowered lowered = lower_text(f, text + "outputs: [h" + std::to_string(products) + "]\n");
  REQUIRE(lowered.stubs.size() == 2);
  CHECK(lowered.stubs[0].name == "stub_h1");
  CHECK(lowered.stubs[1].name == "stub_h2501");
  std::vector<std::uint32_t> expected(products, 0);
  expected[products / 2] = 1;
  CHECK(lowered.stub_of == expected);
  REQUIRE(lowered.stubs[0].uses.size() == products - 1);
  CHECK(lowered.stubs[0].uses.front() == "h1 = relu(matmul(h0, v))");
  CHECK(lowered.stubs[0].uses.back() == "h5000 = relu(matmul(h4999, u))");
  // Every extent but M is another in some use, whichever stretch that is in.
  for (const StubParameter& parameter : lowered.stubs[0].parameters) {
    CAPTURE(parameter.name);
    CHECK(parameter.varies == std::vector<bool>{parameter.general == "b", true});
  }
}

TEST_CASE("a shared stub says all its uses, and calls things by what they are to its operators") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
dims: {M: 1..64}
inputs: {a: "f32[M, 32]", b: "f32[M, 32]", v: "f32[32]", w: "f32[32]"}
nodes:
  - {op: rms_norm, in: [a, v], out: first}
  - {op: rms_norm, in: [b, w], out: second}
outputs: [first, second]
)");
  REQUIRE(lowered.stubs.size() == 1);
  const StubProgram& norm = lowered.stubs[lowered.stub_of[group_making(lowered.fused, "second")]];
  CHECK(norm.name == "stub_first");
  CHECK(norm.uses == std::vector<std::string>{"first: rms_norm", "second: rms_norm"});
  const std::string text = body_of(norm);
  CHECK(has(text, "// first: rms_norm\n// second: rms_norm\n// 10 intermediates never reach memory: "));
  CHECK(has(text, "void stub_first(kgen::View<float, 2> out, kgen::View<const float, 2> x, "
                  "kgen::View<const float, 1> weight,\n"));
  CHECK(has(text, "const auto squared = row.map(kgen::Square{}, x_row);  // rms_norm\n"));
}

TEST_CASE("two stubs that differ in extents alone are one, where the text need not know the extents") {
  const auto lower_two = [](Fixture& f, const std::string& inputs, const std::string& nodes) {
    return lower_text(f, "graph: g\ndims: {M: 1..64}\ninputs: {" + inputs + "}\nnodes:\n" + nodes + "outputs: [y, z]\n");
  };
  Fixture f;
  const Lowered shared = lower_two(
      f, R"(a: "f32[M, 32]", b: "f32[M, 32]", w: "f32[32, 8]", v: "f32[32, 16]", r: "f32[M, 8]", s: "f32[M, 16]")", R"(
  - {op: matmul, in: [a, w], out: aw}
  - {op: add, in: [aw, r], out: y}
  - {op: matmul, in: [b, v], out: av}
  - {op: add, in: [av, s], out: z}
)");
  REQUIRE(shared.stubs.size() == 1);
  const StubProgram& sum = shared.stubs[shared.stub_of[group_making(shared.fused, "z")]];
  CHECK(sum.name == shared.stubs[shared.stub_of[group_making(shared.fused, "y")]].name);
  const std::string text = body_of(sum);
  CHECK(has(text, "  // [M, *]\n"));
  // A row's length tunes its kernel, and a broadcast is another text.
  Fixture g;
  CHECK(lower_two(g, R"(a: "f32[M, 32]", b: "f32[M, 64]")", R"(
  - {op: softmax, in: a, out: y, axis: -1}
  - {op: softmax, in: b, out: z, axis: -1}
)").stubs.size() == 2);
  Fixture h;
  CHECK(
      lower_two(
          h, R"(a: "f32[M, 32]", b: "f32[M, 32]", w: "f32[32, 8]", v: "f32[32, 16]", r: "f32[M, 8]", s: "f32[16]")", R"(
  - {op: matmul, in: [a, w], out: aw}
  - {op: add, in: [aw, r], out: y}
  - {op: matmul, in: [b, v], out: av}
  - {op: add, in: [av, s], out: z}
)")
          .stubs.size() == 2);
}

TEST_CASE("a stub is named after what the author called its result, and takes what the author gave the composite") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
dims: {S: 1..8}
inputs: {x: "f32[2, S, 8, 64]", cos: "f32[S, 1, 64]", sin: "f32[S, 1, 64]"}
nodes:
  - {op: rope, in: [x, cos, sin], out: q}
outputs: [q]
)");
  REQUIRE(lowered.stubs.size() == 1);
  CHECK(lowered.stubs[0].name == "stub_q");
  const std::string text = body_of(lowered.stubs[0]);
  CHECK(has(text, "// q: rope\n"));
  CHECK(has(text, "kgen::View<const float, 4> x,"));
  CHECK(has(text, "kgen::View<const float, 3> cos, kgen::View<const float, 3> sin"));
  CHECK(has(text, "cos.slice<2>(0, 32).broadcast_to("));
  CHECK(has(text, "x.slice<3>(32, 32)"));
}

TEST_CASE("constants of another value are another stub") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
inputs: {a: "f32[32]"}
nodes:
  - {op: mul, in: [a, 2.0], out: b}
  - {op: mul, in: [b, 3.0], out: c}
outputs: [b, c]
fusion: {forbid: [[b, c]]}
)");
  CHECK(lowered.stubs.size() == 2);
  CHECK(has(body_of(lowered.stubs[0]), "kgen::Mul::apply(a.load<W>(at), 2.0f)"));
}

TEST_CASE("numerics: fast keeps a chain in f32; match_unfused rounds where each operator would store") {
  const std::string text = R"(
graph: g
inputs: {a: "bf16[32]", b: "bf16[32]"}
nodes:
  - {op: add, in: [a, b], out: c}
  - {op: mul, in: [c, b], out: d}
outputs: [d]
)";
  Fixture fast, match;
  CHECK_FALSE(has(body_of(lower_text(fast, text).stubs[0]), "Cast"));
  const std::string rounding = body_of(lower_text(match, text + "numerics: match_unfused\n").stubs[0]);
  CHECK(has(rounding, "kgen::Cast<kgen::bf16>::apply("));
}

TEST_CASE("a cast that a graph spells out rounds in every mode, unless storing does") {
  const auto text_of = [](const std::string& nodes, const std::string& outputs, const std::string& mode) {
    Fixture f;
    const Lowered lowered = lower_text(f, "graph: g\ninputs: {x: \"f32[32]\", h: \"bf16[32]\"}\nnodes:\n" + nodes + "outputs: [" +
                                              outputs + "]\nnumerics: " + mode + "\n");
    REQUIRE(lowered.stubs.size() == 1);
    return body_of(lowered.stubs[0]);
  };
  const std::string there_and_back =
      "  - {op: cast, in: x, out: q, to: f8e4m3}\n  - {op: cast, in: q, out: back, to: f32}\n"
      "  - {op: mul, in: [back, 2.0], out: y}\n";
  for (const char* mode : {"fast", "match_unfused"}) {
    CHECK(has(text_of(there_and_back, "y", mode), "kgen::Mul::apply(q, 2.0f)"));
    CHECK(has(text_of(there_and_back, "y", mode), "kgen::Cast<kgen::f8e4m3>::apply(x.load<W>(at));"));
    CHECK(has(text_of(there_and_back, "y, q", mode), "q.store(at, q_value)"));
    CHECK_FALSE(has(text_of("  - {op: cast, in: x, out: y, to: bf16}\n", "y", mode), "Cast"));
    // As wide, but another format.
    CHECK(has(text_of("  - {op: cast, in: h, out: q, to: f16}\n  - {op: exp, in: q, out: y}\n", "y", mode), "Cast<kgen::f16>"));
    CHECK_FALSE(has(text_of("  - {op: cast, in: h, out: q, to: f32}\n  - {op: exp, in: q, out: y}\n", "y", mode), "Cast"));
  }
  // What a composite makes is rounded as any other operator's result is.
  const std::string composite = "  - {op: silu, in: h, out: s}\n  - {op: exp, in: s, out: y}\n";
  CHECK_FALSE(has(text_of(composite, "y", "fast"), "Cast"));
  CHECK(has(text_of(composite, "y", "match_unfused"), "Cast<kgen::bf16>"));
}

TEST_CASE("what a person asked for and a composite does anyway is what a person asked for") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
inputs: {h: "bf16[4, 32]", x: "f32[4, 32]"}
nodes:
  - {op: softmax, in: h, out: s}
  - {op: cast, in: x, out: q, to: bf16}
  - {op: cast, in: q, out: wide, to: f32}
  - {op: sum, in: wide, out: y, axes: [-1]}
outputs: [s, y]
)");
  CHECK(has(body_of(lowered.stubs.back()), "kgen::Cast<kgen::bf16>"));
}

TEST_CASE("axes that every operand walks alike are merged; a broadcast in the middle keeps them apart") {
  Fixture f;
  const Lowered whole = lower_text(f, R"(
graph: g
dims: {B: 1..4, S: 1..8}
inputs: {a: "f32[B, S, 32]", b: "f32[B, S, 32]"}
nodes: [{op: add, in: [a, b], out: c}]
outputs: [c]
)");
  CHECK(whole.stubs[0].functors[0].rank == 1);
  Fixture g;
  const Lowered part = lower_text(g, R"(
graph: g
dims: {B: 1..4, S: 1..8}
inputs: {a: "f32[B, S, 32]", b: "f32[S, 32]"}
nodes: [{op: add, in: [a, b], out: c}]
outputs: [c]
)");
  CHECK(part.stubs[0].functors[0].rank == 2);
  CHECK(has(body_of(part.stubs[0]), "b.broadcast_to(c.shape()).merge<1, 2>()"));
}

TEST_CASE("a loop says where an operand may lie across it in memory") {
  const auto loop_of = [](const std::string& inputs, const std::string& nodes) {
    Fixture f;
    const Lowered lowered = lower_text(f, "graph: g\ndims: {M: 1..64, N: 1..64}\ninputs: {" + inputs + "}\nnodes:\n" +
                                              nodes + "outputs: [y]\n");
    const std::string text = body_of(lowered.stubs.back());
    if (has(text, "kgen::elementwise_across(") || has(text, "kgen::rows_across<1")) return "across";
    return has(text, "kgen::elementwise(") || has(text, "kgen::rows<1") ? "along" : "neither";
  };
  const std::string turn = "  - {op: transpose, in: x, out: t, perm: [1, 0]}\n";
  CHECK(loop_of("x: \"f32[M, N]\", b: \"f32[N]\"", "  - {op: add, in: [x, b], out: y}\n") == "along");
  CHECK(loop_of("x: \"f32[M, N]\", b: \"f32[M, 1]\"", "  - {op: add, in: [x, b], out: y}\n") == "along");
  CHECK(loop_of("x: \"f32[M, N]\", b: \"f32[M]\"", turn + "  - {op: add, in: [t, b], out: y}\n") == "across");
  CHECK(loop_of("x: {type: \"f32[M, N]\", strided: true}, b: \"f32[N]\"", "  - {op: add, in: [x, b], out: y}\n") == "across");
  // What repeats lies across nothing.
  CHECK(loop_of("x: \"f32[1, N]\", b: \"f32[N, 4]\"", turn + "  - {op: add, in: [t, b], out: y}\n") == "along");
  const auto sum_over = [&](int axis) {
    return loop_of("x: \"f32[M, N]\"", "  - {op: sum, in: x, out: y, axes: [" + std::to_string(axis) + "]}\n");
  };
  CHECK(std::string(sum_over(0)) == "across");
  CHECK(std::string(sum_over(1)) == "along");
}

TEST_CASE("rows whose axis is not the last are permuted, and what is one element per row is loaded and stored as such") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
dims: {M: 1..64}
inputs: {x: "f32[M, 5, 7]", bias: "f32[M, 1, 7]"}
nodes:
  - {op: add, in: [x, bias], out: h}
  - {op: sum, in: h, out: total, axes: [1]}
outputs: [total]
)");
  REQUIRE(lowered.stubs.size() == 1);
  const std::string text = body_of(lowered.stubs[0]);
  CHECK(has(text, "x.permute<0, 2, 1>()"));
  CHECK(has(text, "total.unsqueeze<1>().permute<0, 2, 1>()"));
  CHECK(has(text, "row.load_scalar(bias)"));
  CHECK(has(text, "row.store_scalar(total, "));
}

TEST_CASE("memory beside one element per row is aligned with what reads it: the reduced axes were kept, or dropped") {
  const auto text_of = [](const std::string& inputs, const std::string& reduction) {
    Fixture f;
    const Lowered lowered = lower_text(f, "graph: g\ninputs: {" + inputs + "}\nnodes:\n  - {op: sum, in: x, out: m, " +
                                              reduction + "}\n  - {op: add, in: [m, w], out: y}\noutputs: [y]\n");
    REQUIRE(lowered.stubs.size() == 1);
    return body_of(lowered.stubs[0]);
  };
  const std::string square = "x: \"f32[4, 4, 5]\", w: \"f32[4, 1]\"";
  CHECK(has(text_of(square, "axes: [-1], keepdims: true"), "w.broadcast_to(x.shape())"));
  CHECK(has(text_of(square, "axes: [-1]"), "w.unsqueeze<2>().broadcast_to(x.shape())"));
  CHECK(has(text_of("x: \"f32[4, 5]\", w: \"f32[1]\"", "keepdims: true"), "w.broadcast_to(x.shape())"));
  CHECK(has(text_of("x: \"f32[4, 5]\", w: \"f32[]\"", "keepdims: false"), "w.broadcast_to(x.shape())"));
  CHECK(has(text_of("x: \"f32[2, 3, 4, 5]\", w: \"f32[3, 1, 1]\"", "axes: [2, 3], keepdims: true"),
            "w.broadcast_to(x.shape())"));
  CHECK(has(text_of("x: \"f32[2, 3, 4, 5]\", w: \"f32[3]\"", "axes: [2, 3]"),
            "w.unsqueeze<1>().unsqueeze<2>().broadcast_to(x.shape())"));
  CHECK(has(text_of("x: \"f32[4, 4, 5]\", w: \"f32[5]\"", "axes: [1]"), "w.broadcast_to(x.shape())"));
}

TEST_CASE("match_unfused: an epilogue rounds what its kernel gives it") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
numerics: match_unfused
inputs: {a: "bf16[5, 7]", w: "bf16[7, 6]", b: "bf16[6]"}
nodes:
  - {op: matmul, in: [a, w], out: p}
  - {op: sub, in: [b, p], out: y}
outputs: [y]
)");
  REQUIRE(lowered.stubs.size() == 1);
  const std::string text = body_of(lowered.stubs[0]);
  CHECK(has(text, "const auto p_value = kgen::Cast<kgen::bf16>::apply(p);"));
  CHECK(has(text, "kgen::Sub::apply(b.load<W>(at), p_value)"));
}

TEST_CASE("a number is reduced as a row of one element") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
inputs: {x: "f32[]"}
nodes:
  - {op: softmax_statistics, in: x, out: [greatest, total], keepdims: true}
  - {op: add, in: [total, 1.0], out: y}
outputs: [y]
)");
  REQUIRE(lowered.stubs.size() == 1);
  const std::string text = body_of(lowered.stubs[0]);
  CHECK(has(text, "const kgen::Index<1> body_shape{1};"));
  CHECK(has(text, "x.broadcast_to(body_shape)"));
  CHECK(has(text, "kgen::rows<1, 1>("));
}

TEST_CASE("reductions that keep their axes and those that drop them share rows, and each is read as its reader needs it") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
inputs: {x: "f32[4, 4, 5]", w: "f32[4, 1]"}
nodes:
  - {op: sum, in: x, out: kept, axes: [-1], keepdims: true}
  - {op: max, in: x, out: dropped, axes: [-1]}
  - {op: add, in: [kept, w], out: y_kept}
  - {op: add, in: [dropped, w], out: y_dropped}
outputs: [y_kept, y_dropped]
)");
  REQUIRE(lowered.stubs.size() == 1);
  const std::string text = body_of(lowered.stubs[0]);
  CHECK(has(text, "w.broadcast_to(x.shape())"));
  CHECK(has(text, "w.unsqueeze<2>().broadcast_to(x.shape())"));
  CHECK(has(text, "y_dropped.unsqueeze<2>()"));
}

TEST_CASE("rows that are read in lines alone get their shape from an index broadcast to them") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
inputs: {table: "f32[8, 7]", index: "i64[1]"}
nodes:
  - {op: embedding, in: [index, table], out: rows}
  - {op: mean, in: rows, out: y}
outputs: [y]
)");
  REQUIRE(lowered.stubs.size() == 1);
  const std::string text = body_of(lowered.stubs[0]);
  CHECK(has(text, "const kgen::Index<2> body_shape{1, table.extent(1)};"));
  CHECK(has(text, "rows_rows.broadcast_to(body_shape)"));
  CHECK(has(text, "(body.rows_rows.shape(), body"));
}

TEST_CASE("a row that several passes need is kept, unless it is too long") {
  const auto text = [](const char* extent) {
    return std::string("graph: g\ndims: {M: 1..64}\ninputs: {x: \"f32[M, ") + extent + "]\"}\n" + R"(nodes:
  - {op: exp, in: x, out: e}
  - {op: max, in: e, out: m, axes: [1], keepdims: true}
  - {op: div, in: [e, m], out: y}
outputs: [y]
)";
  };
  Fixture small, large;
  CHECK(has(body_of(lower_text(small, text("1024")).stubs[0]), "row.keep("));
  CHECK_FALSE(has(body_of(lower_text(large, text("1000000")).stubs[0]), "row.keep("));
}

TEST_CASE("integers of 64 bits are literals to the last digit") {
  const auto text_of = [](const std::string& dtype, const std::string& number) {
    Fixture f;
    return body_of(lower_text(f, "graph: g\ninputs: {a: \"" + dtype + "[32]\"}\nnodes: [{op: add, in: [a, " + number +
                                     "], out: b}]\noutputs: [b]\n").stubs[0]);
  };
  CHECK(has(text_of("i64", "9007199254740993"), "std::int64_t{9007199254740993}"));
  CHECK(has(text_of("i64", "9223372036854775807"), "std::int64_t{9223372036854775807}"));
  CHECK(has(text_of("u64", "18446744073709551615"), "18446744073709551615u"));
  const std::string least = text_of("i64", "-9223372036854775808");
  CHECK(has(least, "std::numeric_limits<std::int64_t>::min()"));
  CHECK(has(least, "#include <limits>"));
}

TEST_CASE("infinities and NaN are literals that compile") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
inputs: {a: "f32[32]"}
constants: {low: -.inf}
nodes: [{op: maximum, in: [a, low], out: b}]
outputs: [b]
)");
  const std::string text = body_of(lowered.stubs[0]);
  CHECK(has(text, "#include <limits>"));
  CHECK(has(text, "-std::numeric_limits<float>::infinity()"));
}

TEST_CASE("a kernel of any rank sees every axis, and its attributes by name") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
inputs: {x: "f32[3, 4, 5]"}
nodes:
  - {op: exp, in: x, out: e}
  - {op: pad, in: e, pads: [1, 0, 0, 0, 2, 3], value: -.inf, out: framed}
  - {op: cumsum, in: framed, axis: 1, out: sums}
  - {op: relu, in: sums, out: y}
outputs: [y]
)");
  REQUIRE(lowered.stubs.size() == 2);
  const std::string framed = body_of(lowered.stubs[0]), sums = body_of(lowered.stubs[1]);
  CHECK(has(framed, "auto load(kgen::Index<3> at)"));
  CHECK(has(framed, "#include <limits>"));
  CHECK(has(framed, "kgen::pad(prologue_x, /*pads=*/kgen::Index<6>{1, 0, 0, 0, 2, 3}, "
                    "/*mode=*/kgen::PadMode::constant,"));
  CHECK(has(framed, "/*value=*/-std::numeric_limits<double>::infinity(), framed, stream);"));
  CHECK(has(sums, "void operator()(kgen::Index<3> at, kgen::Vec<float, W> sums)"));
  CHECK(has(sums, "kgen::cumsum(framed, /*axis=*/1, /*exclusive=*/false, /*reverse=*/false, epilogue, stream);"));
}

TEST_CASE("lists of numbers are braced as doubles") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
inputs: {x: "f32[4, 6]"}
nodes:
  - {op: resize_linear, in: x, out: y, sizes: [8, 3], scales: [2, 0.5]}
outputs: [y]
)");
  REQUIRE(lowered.stubs.size() == 1);
  CHECK(has(body_of(lowered.stubs[0]), "kgen::resize_linear_to(x, /*sizes=*/kgen::Index<2>{8, 3},"));
  CHECK(has(body_of(lowered.stubs[0]), "kgen::Numbers<2>{2.0, 0.5}"));
  CHECK(has(body_of(lowered.stubs[0]), "/*crop_end=*/kgen::Numbers<2>{1.0, 1.0}"));
}

TEST_CASE("sizes that only the run knows are seen in the result") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
dims: {N: 1..9}
inputs: {x: "f32[N, 6]"}
nodes:
  - {op: resize_linear, in: x, out: y, sizes: [2*N, 3]}
outputs: [y]
)");
  REQUIRE(lowered.stubs.size() == 1);
  CHECK(has(body_of(lowered.stubs[0]), "kgen::resize_linear(x, /*scales=*/kgen::Numbers<2>{0.0, 0.0},"));
}

TEST_CASE("what rides with a kernel by other axes is shown along the kernel's: merged, cut, or in runs") {
  Fixture f;
  const Lowered lowered = lower_text(f, R"(
graph: g
dims: {B: 1..4, S: 1..64}
inputs: {x: "f32[B, S, 6, 8]", of_head: "f32[6, 1]", q: "f32[B, S, 6, 8]", scale: "f32[48]", w: "f32[48, 21]"}
nodes:
  - {op: mul, in: [x, of_head], out: turned}
  - {op: reshape, in: turned, out: flat, shape: [B, S, 48]}
  - {op: matmul, in: [flat, w], out: y}
  - {op: attention, in: [q, q, q], out: attended}
  - {op: reshape, in: attended, out: lines, shape: [B, S, 48]}
  - {op: mul, in: [lines, scale], out: z}
outputs: [y, z]
)");
  REQUIRE(lowered.stubs.size() == 2);
  const std::string matmul = body_of(lowered.stubs[0]);
  CHECK(has(matmul, "#include \"kgen/flattened.hpp\"\n"));
  CHECK(has(matmul, "kgen::View<const float, 2> x;  // [B, S, 6, 8]\n"));
  CHECK(has(matmul, "kgen::Flattened<kgen::View<const float, 3>, 1, 2> of_head;  // [6, 1] broadcast\n"));
  CHECK(has(matmul, "x.merge<2, 3>().merge<0, 1>(), of_head.broadcast_to(x.shape()).merge<0, 1>()"));
  CHECK(has(matmul, "// y = matmul(reshape(mul(x, of_head)), w)\n"));
  const std::string attention = body_of(lowered.stubs[1]);
  CHECK_FALSE(has(attention, "Flattened"));
  CHECK(has(attention, "scale.broadcast_to(z.shape()).reshape<4>(q.shape()), z.reshape<4>(q.shape())"));
}
