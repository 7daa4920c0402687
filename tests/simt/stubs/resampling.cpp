// Stubs as the emitter writes them, for what the device compilers say of their kernels: resized tensors and recurrent
// layers.
#include "kgen/ops/activation.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/recurrent.hpp"
#include "kgen/resize.hpp"

namespace stubs {

struct resampling_prologue_x {
  kgen::View<const kgen::bf16, 4> x;

  KGEN_FN kgen::Index<4> shape() const { return x.shape(); }
  template <int W>
  KGEN_FN auto load(kgen::Index<4> at) const {
    return kgen::Relu::apply(x.load<W>(at));
  }
};
struct resampling_epilogue {
  kgen::View<const kgen::bf16, 4> bias;  // [C] broadcast
  kgen::View<kgen::bf16, 4> y;

  template <int W>
  KGEN_FN void operator()(kgen::Index<4> at, kgen::Vec<float, W> features) const {
    y.store(at, kgen::Relu::apply(kgen::Add::apply(features, bias.load<W>(at))));
  }
};

void resize_nearest_relu(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> x,
                         kgen::View<const kgen::bf16, 4> bias, kgen::Stream stream) {
  kgen::resize_nearest_to(resampling_prologue_x{x}, /*sizes=*/kgen::Index<4>{1, 24, 40, 48},
                       /*scales=*/kgen::Numbers<4>{0.0, 0.0, 0.0, 0.0},
                       /*coordinates=*/kgen::ResizeCoordinates::asymmetric, /*rounding=*/kgen::ResizeRounding::floor,
                       /*crop_begin=*/kgen::Numbers<4>{0.0, 0.0, 0.0, 0.0},
                       /*crop_end=*/kgen::Numbers<4>{1.0, 1.0, 1.0, 1.0}, /*outside=*/0.0, resampling_epilogue{bias, y},
                       stream);
}

void resize_linear_relu(kgen::View<kgen::bf16, 4> y, kgen::View<const kgen::bf16, 4> x,
                        kgen::View<const kgen::bf16, 4> bias, kgen::Stream stream) {
  kgen::resize_linear_to(resampling_prologue_x{x}, /*sizes=*/kgen::Index<4>{1, 24, 40, 48},
                      /*scales=*/kgen::Numbers<4>{0.0, 0.0, 0.0, 0.0},
                      /*coordinates=*/kgen::ResizeCoordinates::half_pixel, /*antialias=*/false,
                      /*exclude_outside=*/false, /*crop_begin=*/kgen::Numbers<4>{0.0, 0.0, 0.0, 0.0},
                      /*crop_end=*/kgen::Numbers<4>{1.0, 1.0, 1.0, 1.0}, /*outside=*/0.0, resampling_epilogue{bias, y},
                      stream);
}

void resize_cubic(kgen::View<float, 4> y, kgen::View<const float, 4> x, kgen::Stream stream) {
  kgen::resize_cubic_to(x, /*sizes=*/kgen::Index<4>{1, 24, 40, 48}, /*scales=*/kgen::Numbers<4>{0.0, 0.0, 0.0, 0.0},
                     /*coordinates=*/kgen::ResizeCoordinates::half_pixel, /*coefficient=*/-0.75, /*antialias=*/true,
                     /*exclude_outside=*/true, /*crop_begin=*/kgen::Numbers<4>{0.0, 0.0, 0.0, 0.0},
                     /*crop_end=*/kgen::Numbers<4>{1.0, 1.0, 1.0, 1.0}, /*outside=*/0.0, y, stream);
}

void rnn(kgen::View<float, 3> y, kgen::View<float, 2> last_h, kgen::View<const float, 3> x,
         kgen::View<const float, 2> r, kgen::View<const float, 2> h, kgen::Stream stream) {
  kgen::rnn(x, r, h, /*activation=*/kgen::RecurrentActivation::tanh, /*alpha=*/0.0, /*beta=*/0.0, /*clip=*/0.0,
            /*reverse=*/false, y, last_h, stream);
}

void gru(kgen::View<float, 3> y, kgen::View<float, 2> last_h, kgen::View<const float, 4> x,
         kgen::View<const float, 3> r, kgen::View<const float, 1> bias, kgen::View<const float, 2> h,
         kgen::View<const std::int64_t, 1> lengths, kgen::Stream stream) {
  kgen::gru(x, r, bias, h, lengths, /*gate_activation=*/kgen::RecurrentActivation::sigmoid,
            /*activation=*/kgen::RecurrentActivation::tanh, /*alphas=*/{0.0, 0.0}, /*betas=*/{0.0, 0.0}, /*clip=*/0.0,
            /*linear_before_reset=*/true, /*reverse=*/true, y, last_h, stream);
}

void lstm(kgen::View<float, 3> y, kgen::View<float, 2> last_h, kgen::View<float, 2> last_c,
          kgen::View<const float, 4> x, kgen::View<const float, 3> r, kgen::View<const float, 2> h,
          kgen::View<const float, 2> c, kgen::View<const std::int32_t, 1> lengths,
          kgen::View<const float, 2> peepholes, kgen::Stream stream) {
  kgen::lstm(x, r, h, c, lengths, peepholes, /*gate_activation=*/kgen::RecurrentActivation::sigmoid,
             /*activation=*/kgen::RecurrentActivation::tanh, /*output_activation=*/kgen::RecurrentActivation::tanh,
             /*alphas=*/{0.0, 0.0, 0.0}, /*betas=*/{0.0, 0.0, 0.0}, /*clip=*/0.0, /*input_forget=*/false,
             /*reverse=*/false, y, last_h, last_c, stream);
}

}  // namespace stubs
