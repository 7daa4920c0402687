#include "generator/pass/simplify/push_concats.hpp"

#include <doctest/doctest.h>

#include "tests/unit/rewrite_fixture.hpp"

namespace kgen {

// Rule: f(concat(a, b), z) -> concat(f(a, slice(z)), f(b, slice(z)))
TEST_CASE("simplify: what elementwise nodes make of a concatenation is computed part by part") {
  CHECK(simplified_text(R"(
inputs: {a: "f32[8, 32]", b: "f32[8, 16]", z: "f32[8, 48]", bias: "f32[48]", row: "f32[8, 1]"}
nodes:
- {op: concat, in: [a, b], out: c, axis: 1}
- {op: add, in: [c, bias], out: d}
- {op: mul, in: [d, z], out: e}
- {op: sub, in: [e, row], out: y}
outputs: [y]
)") == R"(bias_a = slice(bias, axis=0, begin=0, end=32, step=1)
bias_b = slice(bias, axis=0, begin=32, end=48, step=1)
d_a = add(a, bias_a)
d_b = add(b, bias_b)
z_a = slice(z, axis=1, begin=0, end=32, step=1)
z_b = slice(z, axis=1, begin=32, end=48, step=1)
e_a = mul(d_a, z_a)
e_b = mul(d_b, z_b)
y_a = sub(e_a, row)
y_b = sub(e_b, row)
y = concat(y_a, y_b, axis=1)
)");
}

TEST_CASE("simplify: elementwise nodes behind a concatenation may part, come together and end in several values") {
  CHECK(simplified_text(R"(
dims: {S: 1..8}
inputs: {a: "f32[S, 4]", b: "f32[2, 4]", z: "f32[3, S + 2, 4]"}
nodes:
- {op: concat, in: [a, b], out: c, axis: 0}
- {op: exp, in: c, out: e}
- {op: mul, in: [c, e], out: y}
- {op: sub, in: [z, y], out: w}
outputs: [y, w]
)") == R"(e_a = exp(a)
e_b = exp(b)
y_a = mul(a, e_a)
y_b = mul(b, e_b)
y = concat(y_a, y_b, axis=0)
z_a = slice(z, axis=1, begin=0, end=S, step=1)
z_b = slice(z, axis=1, begin=S, end=S + 2, step=1)
w_a = sub(z_a, y_a)
w_b = sub(z_b, y_b)
w = concat(w_a, w_b, axis=1)
)");
}

TEST_CASE("simplify: concatenations that are cut alike meet part by part") {
  const auto of = [](const std::string& d) {
    return simplified_text(R"(
inputs: {a: "f32[3, 4]", b: "f32[2, 4]", u: "f32[3, 4]", v: "f32[2, 4]"}
nodes:
- {op: concat, in: [a, b], out: c, axis: 0}
- {op: concat, in: )" + d +
                           R"(, out: d, axis: 0}
- {op: add, in: [c, d], out: y}
outputs: [y]
)");
  };
  CHECK(of("[u, v]") == "y_a = add(a, u)\ny_b = add(b, v)\ny = concat(y_a, y_b, axis=0)\n");
  CHECK(of("[v, u]") == "c = concat(a, b, axis=0)\nd = concat(v, u, axis=0)\ny = add(c, d)\n");
}

TEST_CASE("simplify: a concatenation stays where computing its parts gains nothing") {
  const auto stays = [](const std::string& nodes) {
    const std::string text = simplified_text(R"(
inputs: {a: "f32[8, 32]", b: "f32[8, 32]", n: "f32[8, 1]", w: "f32[64, 64]", v: "f32[32, 64]"}
nodes:
)" + nodes);
    return text.find("c = concat(") != std::string::npos;
  };
  const std::string joined = "- {op: concat, in: [a, b], out: c, axis: 1}\n";
  // A reduction computes what it loads.
  CHECK(stays(joined + "- {op: exp, in: c, out: e}\n- {op: sum, in: e, out: y, axes: [1]}\noutputs: [y]\n"));
  // A product's prologue would compute it more than once.
  CHECK_FALSE(stays(joined + "- {op: exp, in: c, out: e}\n- {op: matmul, in: [e, w], out: y}\noutputs: [y]\n"));
  // Joined, it is read by others too.
  CHECK(stays(joined + "- {op: exp, in: c, out: y}\n- {op: sum, in: c, out: s, axes: [1]}\noutputs: [y, s]\n"));
  CHECK(stays(joined + "- {op: exp, in: c, out: y}\noutputs: [y, c]\n"));
  // The epilogue of a product would have to be cut.
  CHECK(stays(joined + "- {op: matmul, in: [a, v], out: m}\n- {op: add, in: [c, m], out: y}\noutputs: [y]\n"));
  // Single columns are no lines for registers.
  CHECK(stays("- {op: concat, in: [a, n], out: c, axis: 1}\n- {op: exp, in: c, out: y}\noutputs: [y]\n"));
  // A directive names it, or what follows.
  CHECK(stays(joined + "- {op: exp, in: c, out: y}\noutputs: [y]\nfusion: {forbid: [[c, y]]}\n"));
}

}  // namespace kgen
