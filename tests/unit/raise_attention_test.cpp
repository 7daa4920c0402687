// Attention whose key heads were repeated for the query heads that share them.
#include <doctest/doctest.h>

#include "tests/unit/raise_fixture.hpp"

namespace kgen {
namespace {

// 6 query heads, 2 key heads; `repeated`: the axis along which a key head is repeated; `nodes` make y of q, many, which
// are the keys, and vm.
std::string shared_heads(const std::string& nodes, int repeated = 2) {
  const std::string shape = repeated == 2 ? "[2, 2, 3, T, 8]" : "[2, 3, 2, T, 8]";
  return raised_text(fmt::format(R"(
dims: {{S: 1..64, T: 1..64}}
inputs: {{q: "f32[2, 6, S, 8]", k: "f32[2, 2, T, 8]", v: "f32[2, 2, T, 8]", bias: "f32[2, 6, S, T]"}}
nodes:
- {{op: unsqueeze, in: k, out: ku, axis: {0}}}
- {{op: unsqueeze, in: v, out: vu, axis: {0}}}
- {{op: broadcast_to, in: ku, out: many, shape: {1}}}
- {{op: broadcast_to, in: vu, out: vb, shape: {1}}}
- {{op: reshape, in: vb, out: vm, shape: [2, 6, T, 8]}}
{2}- {{op: matmul, in: [w, vm], out: y}}
outputs: [y]
)",
                                 repeated, shape, nodes));
}

const std::string in_four_axes =
    "- {op: reshape, in: many, out: kh, shape: [2, 6, T, 8]}\n"
    "- {op: transpose, in: kh, out: kt, perm: [0, 1, 3, 2]}\n";
const std::string in_three_axes =
    "- {op: reshape, in: many, out: kh, shape: [12, T, 8]}\n"
    "- {op: transpose, in: kh, out: k3, perm: [0, 2, 1]}\n"
    "- {op: reshape, in: k3, out: kt, shape: [2, 6, 8, T]}\n";
const std::string scaled_behind =
    "- {op: matmul, in: [q, kt], out: p}\n"
    "- {op: mul, in: [p, 0.125], out: s}\n";
const std::string scaled_ahead =
    "- {op: mul, in: [q, 0.5], out: qs}\n"
    "- {op: mul, in: [kt, 0.25], out: ks}\n"
    "- {op: matmul, in: [qs, ks], out: s}\n";
const std::string masked = "- {op: add, in: [s, bias], out: m}\n";

bool is_attention(const std::string& text, const std::string& mask) {
  return text.find("attention(y_q, y_k, y_v, " + mask + ", -, scale=0.125, causal=false)") != std::string::npos &&
         text.find("broadcast_to") == std::string::npos && text.find("matmul") == std::string::npos;
}

}  // namespace

TEST_CASE("raise: attention of heads that were repeated reads each where it lies") {
  const std::string softmax = "- {op: softmax, in: s, out: w}\n", of_masked = "- {op: softmax, in: m, out: w}\n";
  CHECK(is_attention(shared_heads(in_four_axes + scaled_behind + softmax), "-"));
  CHECK(is_attention(shared_heads(in_four_axes + scaled_ahead + softmax), "-"));
  CHECK(is_attention(shared_heads(in_three_axes + scaled_ahead + softmax), "-"));
  CHECK(is_attention(shared_heads(in_four_axes + scaled_behind + masked + of_masked), "bias"));
}

TEST_CASE("raise: key heads that take turns are not those that query heads share one after the other") {
  const std::string text = shared_heads(in_four_axes + scaled_behind + "- {op: softmax, in: s, out: w}\n", 1);
  CHECK(text.find("broadcast_to") != std::string::npos);
  CHECK_FALSE(is_attention(text, "-"));
}

}  // namespace kgen
