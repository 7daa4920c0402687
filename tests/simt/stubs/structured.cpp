// Stubs as the emitter writes them, for what the device compilers say of their kernels: products, attention, convolutions,
// frames, running sums and products, and scattered updates.
#include "kgen/attention.hpp"
#include "kgen/batched_matmul.hpp"
#include "kgen/convolution.hpp"
#include "kgen/cumprod.hpp"
#include "kgen/cumsum.hpp"
#include "kgen/matmul.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/pad.hpp"
#include "kgen/scatter.hpp"

namespace stubs {

struct matmul_relu_prologue_a {
  kgen::View<const kgen::bf16, 2> x;

  KGEN_FN kgen::Index<2> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(kgen::Index<2> at) const {
    return kgen::Relu::apply(x.load<W>(at));
  }
};
struct matmul_relu_epilogue {
  kgen::View<const kgen::bf16, 2> bias;  // [N] broadcast
  kgen::View<kgen::bf16, 2> y;

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> product) const {
    y.store(at, kgen::Relu::apply(kgen::Add::apply(product, bias.load<W>(at))));
  }
};
void matmul_relu(kgen::View<kgen::bf16, 2> y, kgen::View<const kgen::bf16, 2> x, kgen::View<const kgen::bf16, 2> w,
                 kgen::View<const kgen::bf16, 1> bias, kgen::Stream stream) {
  const matmul_relu_epilogue epilogue{bias.broadcast_to(y.shape()), y};
  kgen::matmul(matmul_relu_prologue_a{x}, w, epilogue, stream);
}

void matmul_double(kgen::View<double, 2> y, kgen::View<const double, 2> x, kgen::View<const double, 2> w,
                   kgen::Stream stream) {
  kgen::matmul(x, w, y, stream);
}

void attention(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> q, kgen::View<const kgen::bf16, 4> k,
               kgen::View<const kgen::bf16, 4> v, kgen::View<const float, 2> mask, kgen::Stream stream) {
  kgen::attention(q, k, v, mask, 0.125, true, y, stream);
}

struct image_prologue_x {
  kgen::View<const kgen::bf16, 4> x;

  KGEN_FN kgen::Index<4> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(kgen::Index<4> at) const {
    return kgen::Relu::apply(x.load<W>(at));
  }
};
struct image_epilogue {
  kgen::View<const kgen::bf16, 4> bias;  // [C] broadcast
  kgen::View<kgen::bf16, 4> y;

  template <int W>
  KGEN_FN void operator()(kgen::Index<4> at, kgen::Vec<float, W> features) const {
    y.store(at, kgen::Relu::apply(kgen::Add::apply(features, bias.load<W>(at))));
  }
};
void relu_conv2d_relu(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> x,
                      kgen::View<const kgen::bf16, 4> filters, kgen::View<const kgen::bf16, 1> bias,
                      kgen::Stream stream) {
  const image_epilogue epilogue{bias.broadcast_to(y.shape()), y};
  kgen::conv2d(image_prologue_x{x}, filters, /*strides=*/{2, 2}, /*pads=*/{1, 1, 1, 1}, /*dilations=*/{1, 1},
               /*group=*/1, epilogue, stream);
}

void conv2d(kgen::View<float, 4> y, kgen::View<const float, 4> x, kgen::View<const float, 4> filters,
            kgen::Stream stream) {
  kgen::conv2d(x, filters, /*strides=*/{1, 1}, /*pads=*/{1, 1, 1, 1}, /*dilations=*/{1, 1}, /*group=*/4, y, stream);
}

void depthwise(kgen::View<float, 4> y, kgen::View<const float, 4> x, kgen::View<const float, 4> filters,
               kgen::Stream stream) {
  kgen::depthwise_conv2d(x, filters, /*strides=*/{1, 1}, /*pads=*/{1, 1, 1, 1}, /*dilations=*/{1, 1}, y, stream);
}

void batched_matmul_relu(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> x, kgen::View<const float, 3> w,
                         kgen::View<const kgen::bf16, 1> bias, kgen::Stream stream) {
  const image_epilogue epilogue{bias.broadcast_to(y.shape()), y};
  kgen::batched_matmul(image_prologue_x{x}, w, epilogue, stream);
}

void batched_matmul_double(kgen::View<double, 4> y, kgen::View<const double, 3> x, kgen::View<const double, 4> w,
                           kgen::Stream stream) {
  kgen::batched_matmul(x, w, y, stream);
}

void pad_relu(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> x, kgen::View<const kgen::bf16, 4> bias,
              kgen::Stream stream) {
  kgen::pad(image_prologue_x{x}, /*pads=*/kgen::Index<8>{0, 1, 1, 0, 0, 1, 1, 0}, /*mode=*/kgen::PadMode::reflect,
            /*value=*/0.0, image_epilogue{bias, y}, stream);
}

void pad_bytes(kgen::View<std::int8_t, 2> y, kgen::View<const std::int8_t, 2> x, kgen::Stream stream) {
  kgen::pad(x, /*pads=*/kgen::Index<4>{0, 16, 0, 0}, /*mode=*/kgen::PadMode::constant, /*value=*/0.0, y, stream);
}

void cumsum_relu(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> x, kgen::View<const kgen::bf16, 4> bias,
                 kgen::Stream stream) {
  kgen::cumsum(image_prologue_x{x}, /*axis=*/-1, /*exclusive=*/false, /*reverse=*/false, image_epilogue{bias, y},
               stream);
}

void cumsum_integers(kgen::View<std::int32_t, 2> y, kgen::View<const std::int32_t, 2> x, kgen::Stream stream) {
  kgen::cumsum(x, /*axis=*/0, /*exclusive=*/true, /*reverse=*/true, y, stream);
}

void cumprod_relu(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> x, kgen::View<const kgen::bf16, 4> bias,
                  kgen::Stream stream) {
  kgen::cumprod(image_prologue_x{x}, /*axis=*/-1, /*exclusive=*/false, /*reverse=*/false, image_epilogue{bias, y},
                stream);
}

void cumprod_integers(kgen::View<std::int32_t, 2> y, kgen::View<const std::int32_t, 2> x, kgen::Stream stream) {
  kgen::cumprod(x, /*axis=*/0, /*exclusive=*/true, /*reverse=*/true, y, stream);
}

void scatter_relu(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> x,
                  kgen::View<const std::int64_t, 4> indices, kgen::View<const kgen::bf16, 4> updates,
                  kgen::Stream stream) {
  kgen::scatter(image_prologue_x{x}, indices, image_prologue_x{updates}, /*axis=*/1,
                /*reduction=*/kgen::ScatterReduction::add, y, stream);
}

void scatter_integers(kgen::View<std::int32_t, 2> y, kgen::View<const std::int32_t, 2> x,
                      kgen::View<const std::int32_t, 2> indices, kgen::View<const std::int32_t, 2> updates,
                      kgen::Stream stream) {
  kgen::scatter(x, indices, updates, /*axis=*/-1, /*reduction=*/kgen::ScatterReduction::max, y, stream);
}

}  // namespace stubs
