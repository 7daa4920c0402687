// Stubs as the emitter writes them, for what the device compilers say of their kernels: row programs.
#include "kgen/rows.hpp"

#include "kgen/ops/arithmetic.hpp"
#include "kgen/ops/activation.hpp"
#include "kgen/ops/reductions.hpp"

namespace stubs {

struct rms_norm_rows {
  kgen::View<const kgen::bf16, 2> x;
  kgen::View<const kgen::bf16, 2> weight;  // [N] broadcast
  kgen::View<kgen::bf16, 2> y;

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto mean_square = row.reduce(kgen::Mean{}, row.map(kgen::Square{}, x_row));
    const auto scale = row.map(kgen::Rsqrt{}, row.map(kgen::Add{}, mean_square, 1e-5f));
    row.store(y, row.map(kgen::Mul{}, row.map(kgen::Mul{}, x_row, scale), row.load(weight)));
  }
};
void rms_norm(kgen::View<kgen::bf16, 2> y, kgen::View<const kgen::bf16, 2> x, kgen::View<const kgen::bf16, 1> weight,
              kgen::Stream stream) {
  kgen::rows<1>(y.shape(), rms_norm_rows{x, weight.broadcast_to(y.shape()), y}, stream);
}

// Rows of f8 with a scale each.
struct quantise_rows {
  kgen::View<const kgen::bf16, 2> x;
  kgen::View<const kgen::bf16, 2> weight;  // [N] broadcast
  kgen::View<kgen::f8e4m3, 2> y;
  kgen::View<float, 2> scale;  // [M, 1]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto x_row = row.load(x);
    const auto mean_square = row.reduce(kgen::Mean{}, row.map(kgen::Square{}, x_row));
    const auto factor = row.map(kgen::Rsqrt{}, row.map(kgen::Add{}, mean_square, 1e-5f));
    const auto normed = row.keep(row.map(kgen::Mul{}, row.map(kgen::Mul{}, x_row, factor), row.load(weight)));
    const auto greatest = row.reduce(kgen::Max{}, row.map(kgen::Abs{}, normed));
    const auto step = row.map(kgen::Div{}, greatest, 448.0f);
    row.store_scalar(scale, step);
    row.store(y, row.map(kgen::Div{}, normed, step));
  }
};
void quantise(kgen::View<kgen::f8e4m3, 2> y, kgen::View<float, 2> scale, kgen::View<const kgen::bf16, 2> x,
              kgen::View<const kgen::bf16, 1> weight, kgen::Stream stream) {
  kgen::rows<1>(y.shape(), quantise_rows{x, weight.broadcast_to(y.shape()), y, scale}, stream);
}

struct softmax_rows {
  kgen::View<const kgen::bf16, 3> x;
  kgen::View<const float, 3> mask;  // [M, N] broadcast
  kgen::View<kgen::bf16, 3> y;

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    const auto score = row.map(kgen::Add{}, row.map(kgen::Mul{}, row.load(x), 0.125f), row.load(mask));
    const auto [maximum, total] = row.reduce(kgen::SoftmaxStatistics{}, score);
    row.store(y, row.map(kgen::Div{}, row.map(kgen::Exp{}, row.map(kgen::Sub{}, score, maximum)), total));
  }
};
void softmax(kgen::View<kgen::bf16, 3> y, kgen::View<const kgen::bf16, 3> x, kgen::View<const float, 2> mask,
             kgen::Stream stream) {
  kgen::rows<1>(y.shape(), softmax_rows{x, mask.broadcast_to(y.shape()), y}, stream);
}

struct sum_rows {
  kgen::View<const float, 1> x;
  kgen::View<float, 1> y;  // [1]

  template <class Row>
  KGEN_FN void operator()(Row& row) const {
    row.store_scalar(y, row.reduce(kgen::Sum{}, row.load(x)));
  }
};
void sum(kgen::View<float, 1> y, kgen::View<const float, 1> x, kgen::Stream stream) {
  kgen::rows<1>(x.shape(), sum_rows{x, y}, stream);
}

}  // namespace stubs
