// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/flattened.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// v_flat, q, k: packed_matmul, mul, packed_matmul, mul, packed_matmul, mul, packed_matmul, mul, packed_matmul, ...
// q_first_flat_unscaled, q_first_flat, q_second_flat_unscaled and 14 intermediates never reach memory; x is read once:
// 4352*B*S bytes of traffic saved.
struct stub_k_epilogue_q_first_flat_unscaled_q_second_flat_unscaled {
  kgen::View<const float, 2> normed_scale;                         // [B, S, 1] broadcast
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> q_first_cos;   // [B, S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> q_first_sin;   // [B, S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> q_second_cos;  // [B, S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> q_second_sin;  // [B, S, 1, 8] broadcast
  kgen::Flattened<kgen::View<float, 3>, 1, 2> q_first_rotated;     // [B, S, 4, 8]
  kgen::Flattened<kgen::View<float, 3>, 1, 2> q_second_rotated;    // [B, S, 4, 8]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> q_first_flat_unscaled,
                          kgen::Vec<float, W> q_second_flat_unscaled) const {
    const auto normed_scale_value = normed_scale.load<W>(at);
    const auto q_first_flat = kgen::Mul::apply(q_first_flat_unscaled, normed_scale_value);
    const auto q_second_flat = kgen::Mul::apply(q_second_flat_unscaled, normed_scale_value);
    const auto q_first_kept = kgen::Mul::apply(q_first_flat, q_first_cos.load<W>(at));      // rope
    const auto q_first_turned = kgen::Mul::apply(q_second_flat, q_first_sin.load<W>(at));   // rope
    const auto q_second_kept = kgen::Mul::apply(q_second_flat, q_second_cos.load<W>(at));   // rope
    const auto q_second_turned = kgen::Mul::apply(q_first_flat, q_second_sin.load<W>(at));  // rope
    q_first_rotated.store(at, kgen::Sub::apply(q_first_kept, q_first_turned));              // rope
    q_second_rotated.store(at, kgen::Add::apply(q_second_kept, q_second_turned));           // rope
  }
};

struct stub_k_epilogue_k_first_flat_unscaled_k_second_flat_unscaled {
  kgen::View<const float, 2> normed_scale;                         // [B, S, 1] broadcast
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> q_first_cos;   // [B, S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> q_first_sin;   // [B, S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> q_second_cos;  // [B, S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 3>, 1, 2> q_second_sin;  // [B, S, 1, 8] broadcast
  kgen::Flattened<kgen::View<float, 3>, 1, 2> k_first_rotated;     // [B, S, 2, 8]
  kgen::Flattened<kgen::View<float, 3>, 1, 2> k_second_rotated;    // [B, S, 2, 8]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> k_first_flat_unscaled,
                          kgen::Vec<float, W> k_second_flat_unscaled) const {
    const auto normed_scale_value = normed_scale.load<W>(at);
    const auto k_first_flat = kgen::Mul::apply(k_first_flat_unscaled, normed_scale_value);
    const auto k_second_flat = kgen::Mul::apply(k_second_flat_unscaled, normed_scale_value);
    const auto k_first_kept = kgen::Mul::apply(k_first_flat, q_first_cos.load<W>(at));      // rope
    const auto k_first_turned = kgen::Mul::apply(k_second_flat, q_first_sin.load<W>(at));   // rope
    const auto k_second_kept = kgen::Mul::apply(k_second_flat, q_second_cos.load<W>(at));   // rope
    const auto k_second_turned = kgen::Mul::apply(k_first_flat, q_second_sin.load<W>(at));  // rope
    k_first_rotated.store(at, kgen::Sub::apply(k_first_kept, k_first_turned));              // rope
    k_second_rotated.store(at, kgen::Add::apply(k_second_kept, k_second_turned));           // rope
  }
};

struct stub_k_epilogue_v_flat_unscaled {
  kgen::View<const float, 2> normed_scale;  // [B, S, 1] broadcast
  kgen::View<float, 2> v_flat;              // [B, S, 32]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> v_flat_unscaled) const {
    v_flat.store(at, kgen::Mul::apply(v_flat_unscaled, normed_scale.load<W>(at)));
  }
};

void stub_k(kgen::View<float, 3> v_flat, kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
            kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated, kgen::View<const float, 3> x,
            kgen::View<const float, 3> wq_q_first_3_scaled_panels, kgen::View<const float, 3> normed_scale,
            kgen::View<const float, 3> wq_q_second_3_scaled_panels,
            kgen::View<const float, 3> wk_k_first_3_scaled_panels,
            kgen::View<const float, 3> wk_k_second_3_scaled_panels, kgen::View<const float, 3> wv_scaled_panels,
            kgen::View<const float, 4> cos, kgen::View<const float, 4> sin, kgen::Stream stream) {
  const stub_k_epilogue_q_first_flat_unscaled_q_second_flat_unscaled
      epilogue_q_first_flat_unscaled_q_second_flat_unscaled{
          normed_scale.broadcast_to(v_flat.shape()).merge<0, 1>(),
          cos.slice<3>(0, 8).broadcast_to(q_first_rotated.shape()).merge<0, 1>(),
          sin.slice<3>(0, 8).broadcast_to(q_first_rotated.shape()).merge<0, 1>(),
          cos.slice<3>(8, 8).broadcast_to(q_first_rotated.shape()).merge<0, 1>(),
          sin.slice<3>(8, 8).broadcast_to(q_first_rotated.shape()).merge<0, 1>(),
          q_first_rotated.merge<0, 1>(),
          q_second_rotated.merge<0, 1>(),
      };
  const kgen::Index<3> epilogue_k_first_flat_unscaled_k_second_flat_unscaled_shape{
      v_flat.extent(0), v_flat.extent(1), wq_q_first_3_scaled_panels.extent(2)};
  const stub_k_epilogue_k_first_flat_unscaled_k_second_flat_unscaled
      epilogue_k_first_flat_unscaled_k_second_flat_unscaled{
          normed_scale.broadcast_to(epilogue_k_first_flat_unscaled_k_second_flat_unscaled_shape).merge<0, 1>(),
          cos.slice<3>(0, 8).broadcast_to(k_first_rotated.shape()).merge<0, 1>(),
          sin.slice<3>(0, 8).broadcast_to(k_first_rotated.shape()).merge<0, 1>(),
          cos.slice<3>(8, 8).broadcast_to(k_first_rotated.shape()).merge<0, 1>(),
          sin.slice<3>(8, 8).broadcast_to(k_first_rotated.shape()).merge<0, 1>(),
          k_first_rotated.merge<0, 1>(),
          k_second_rotated.merge<0, 1>(),
      };
  const stub_k_epilogue_v_flat_unscaled epilogue_v_flat_unscaled{
      normed_scale.broadcast_to(v_flat.shape()).merge<0, 1>(),
      v_flat.merge<0, 1>(),
  };
  kgen::packed_matmul(
      x.merge<0, 1>(),
      kgen::several(wq_q_first_3_scaled_panels, wq_q_second_3_scaled_panels, wk_k_first_3_scaled_panels,
                    wk_k_second_3_scaled_panels, wv_scaled_panels),
      /*padding=*/0,
      kgen::several(kgen::joint<2>(epilogue_q_first_flat_unscaled_q_second_flat_unscaled),
                    kgen::joint<2>(epilogue_k_first_flat_unscaled_k_second_flat_unscaled), epilogue_v_flat_unscaled),
      stream);
}

}  // namespace graph_paged_decode
