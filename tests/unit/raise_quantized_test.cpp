// Products of what bytes stand for become products of bytes.
#include <doctest/doctest.h>

#include "tests/unit/raise_fixture.hpp"

namespace kgen {
namespace {

// A product of `bytes`, u8 [4, 32] with one scale and zero point, and of i8 as `right` says. `behind`: what else there is.
std::string product(const std::string& weight, const std::string& scale, const std::string& nodes,
                    const std::string& behind = "outputs: [y]\n") {
  return "inputs: {bytes: \"u8[4, 32]\", zero: \"u8[]\", bias: \"f32[8]\", w: \"i8[" + weight + "]\", w_scale: \"f32[" + scale +
         "]\", w_zero: \"i8[" + scale + "]\"}\nnodes:\n"
         "- {op: dequantize_linear, in: [bytes, 0.5, zero], out: x}\n"
         "- {op: dequantize_linear, in: [w, w_scale, w_zero], out: weight}\n" + nodes + behind;
}

const std::string matmul = "- {op: matmul, in: [x, weight], out: y}\n";

}  // namespace

TEST_CASE("raise: a product of what bytes stand for is one of bytes") {
  const std::string whole = "y = quantized_matmul(bytes, 0.5, zero, w, w_scale, w_zero)\n";
  CHECK(raised_text(product("32, 8", "8", matmul)) == whole);
  CHECK(raised_text(product("32, 8", "", matmul)) == whole);
  const std::string linear = "- {op: linear, in: [x, weight], out: y}\n";
  const std::string biased = "- {op: linear, in: [x, weight, bias], out: y}\n";
  CHECK(raised_text(product("8, 32", "8, 1", linear)) == "y = quantized_linear(bytes, 0.5, zero, w, w_scale, w_zero, -)\n");
  CHECK(raised_text(product("8, 32", "8, 1", biased)) ==
        "y = quantized_linear(bytes, 0.5, zero, w, w_scale, w_zero, bias)\n");
}

TEST_CASE("raise: scales along the depth, other targets and the rounding that is written have the product of floats") {
  const auto stays = [](const std::string& text) { return text.find("quantized") == std::string::npos; };
  CHECK(stays(raised_text(product("32, 8", "32, 1", matmul))));
  CHECK(stays(raised_text(product("32, 8", "8", matmul), Raised::everywhere, TargetKind::cuda)));
  CHECK(stays(raised_text(product("32, 8", "8", matmul, "outputs: [y]\nnumerics: match_unfused\n"))));
}

TEST_CASE("raise: scales that are no column of a weight's rows have the product of floats") {
  const auto stays = [](const std::string& text) { return text.find("quantized") == std::string::npos; };
  for (const char* scale : {"32", "1, 32", "8, 32"}) {
    CHECK(stays(raised_text(product("8, 32", scale, "- {op: linear, in: [x, weight], out: y}\n"))));
    CHECK(stays(raised_text(product("8, 32", scale, "- {op: linear, in: [x, weight, bias], out: y}\n"))));
  }
  CHECK(!stays(raised_text(product("8, 32", "1", "- {op: linear, in: [x, weight], out: y}\n"))));
}

TEST_CASE("raise: what bytes stand for may be read elsewhere, too") {
  const std::string others = "- {op: relu, in: x, out: z}\noutputs: [y, z]\n";
  CHECK(raised_text(product("32, 8", "8", matmul, others)) ==
        "x = dequantize_linear(bytes, 0.5, zero)\n"
        "y = quantized_matmul(bytes, 0.5, zero, w, w_scale, w_zero)\n"
        "z = relu(x)\n");
  const std::string twice = "- {op: matmul, in: [x, weight], out: z}\noutputs: [y, z]\n";
  CHECK(raised_text(product("32, 8", "8", matmul, twice)) ==
        "y = quantized_matmul(bytes, 0.5, zero, w, w_scale, w_zero)\n"
        "z = quantized_matmul(bytes, 0.5, zero, w, w_scale, w_zero)\n");
}

TEST_CASE("raise: a convolution of what bytes stand for is one of bytes, unless it has groups") {
  const auto convolution = [](const std::string& channels, const std::string& attributes) {
    return raised_text("inputs: {bytes: \"u8[1, 8, 6, 6]\", zero: \"u8[]\", w: \"i8[8, " + channels +
                       ", 3, 3]\", w_scale: \"f32[8, 1, 1, 1]\", w_zero: \"i8[8, 1, 1, 1]\"}\nnodes:\n"
                       "- {op: dequantize_linear, in: [bytes, 0.5, zero], out: x}\n"
                       "- {op: dequantize_linear, in: [w, w_scale, w_zero], out: filters}\n"
                       "- {op: conv2d_nchw, in: [x, filters], out: y, " + attributes + "}\noutputs: [y]\n");
  };
  CHECK(convolution("8", "strides: [2, 2], pads: [1, 1, 1, 1]") ==
        "y = quantized_conv2d_nchw(bytes, 0.5, zero, w, w_scale, w_zero, -, strides=[2, 2], pads=[1, 1, 1, 1], "
        "dilations=[1, 1])\n");
  CHECK(convolution("1", "group: 8").find("quantized") == std::string::npos);
}

}  // namespace kgen
