// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "kgen/flattened.hpp"
#include "kgen/ops/arithmetic.hpp"
#include "kgen/packed_matmul.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// q, k, v_heads_copy: packed_matmul, rope
// q_first_flat, q_second_flat, k_first_flat and 10 intermediates never reach memory; normed is read once: 3584*B*S
// bytes of traffic saved.
struct stub_decoder_layer_v_heads_copy_epilogue_q_first_flat_q_second_flat {
  kgen::Flattened<kgen::View<const float, 4>, 2, 2> q_first_cos;   // [S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 4>, 2, 2> q_first_sin;   // [S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 4>, 2, 2> q_second_cos;  // [S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 4>, 2, 2> q_second_sin;  // [S, 1, 8] broadcast
  kgen::Flattened<kgen::View<float, 3>, 1, 2> q_first_rotated;     // [B, S, 4, 8]
  kgen::Flattened<kgen::View<float, 3>, 1, 2> q_second_rotated;    // [B, S, 4, 8]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> q_first_flat,
                          kgen::Vec<float, W> q_second_flat) const {
    const auto q_first_kept = kgen::Mul::apply(q_first_flat, q_first_cos.load<W>(at));      // rope
    const auto q_first_turned = kgen::Mul::apply(q_second_flat, q_first_sin.load<W>(at));   // rope
    const auto q_second_kept = kgen::Mul::apply(q_second_flat, q_second_cos.load<W>(at));   // rope
    const auto q_second_turned = kgen::Mul::apply(q_first_flat, q_second_sin.load<W>(at));  // rope
    q_first_rotated.store(at, kgen::Sub::apply(q_first_kept, q_first_turned));              // rope
    q_second_rotated.store(at, kgen::Add::apply(q_second_kept, q_second_turned));           // rope
  }
};

struct stub_decoder_layer_v_heads_copy_epilogue_k_first_flat_k_second_flat {
  kgen::Flattened<kgen::View<const float, 4>, 2, 2> q_first_cos;   // [S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 4>, 2, 2> q_first_sin;   // [S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 4>, 2, 2> q_second_cos;  // [S, 1, 8] broadcast
  kgen::Flattened<kgen::View<const float, 4>, 2, 2> q_second_sin;  // [S, 1, 8] broadcast
  kgen::Flattened<kgen::View<float, 4>, 2, 2> k_first_rotated;     // [B, S, 2, 8]
  kgen::Flattened<kgen::View<float, 4>, 2, 2> k_second_rotated;    // [B, S, 2, 8]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> k_first_flat,
                          kgen::Vec<float, W> k_second_flat) const {
    const auto k_first_kept = kgen::Mul::apply(k_first_flat, q_first_cos.load<W>(at));      // rope
    const auto k_first_turned = kgen::Mul::apply(k_second_flat, q_first_sin.load<W>(at));   // rope
    const auto k_second_kept = kgen::Mul::apply(k_second_flat, q_second_cos.load<W>(at));   // rope
    const auto k_second_turned = kgen::Mul::apply(k_first_flat, q_second_sin.load<W>(at));  // rope
    k_first_rotated.store(at, kgen::Sub::apply(k_first_kept, k_first_turned));              // rope
    k_second_rotated.store(at, kgen::Add::apply(k_second_kept, k_second_turned));           // rope
  }
};

struct stub_decoder_layer_v_heads_copy_epilogue_v_flat {
  kgen::Flattened<kgen::View<float, 3>, 2, 1> v_heads_copy;  // [B, S, 2, 16]

  template <int W>
  KGEN_FN void operator()(kgen::Index<2> at, kgen::Vec<float, W> v_flat) const {
    v_heads_copy.store(at, v_flat);
  }
};

void stub_decoder_layer_v_heads_copy(kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
                                     kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated,
                                     kgen::View<float, 4> v_heads_copy, kgen::View<const float, 3> normed,
                                     kgen::View<const float, 3> wq_panels, kgen::View<const float, 3> wq_panels_2,
                                     kgen::View<const float, 3> wk_panels, kgen::View<const float, 3> wk_panels_2,
                                     kgen::View<const float, 3> wv_panels, kgen::View<const float, 3> cos,
                                     kgen::View<const float, 3> sin, kgen::Stream stream) {
  const stub_decoder_layer_v_heads_copy_epilogue_q_first_flat_q_second_flat epilogue_q_first_flat_q_second_flat{
      cos.slice<2>(0, 8).broadcast_to(q_first_rotated.shape()),
      sin.slice<2>(0, 8).broadcast_to(q_first_rotated.shape()),
      cos.slice<2>(8, 8).broadcast_to(q_first_rotated.shape()),
      sin.slice<2>(8, 8).broadcast_to(q_first_rotated.shape()),
      q_first_rotated.merge<0, 1>(),
      q_second_rotated.merge<0, 1>(),
  };
  const stub_decoder_layer_v_heads_copy_epilogue_k_first_flat_k_second_flat epilogue_k_first_flat_k_second_flat{
      cos.slice<2>(0, 8).broadcast_to(k_first_rotated.shape()),
      sin.slice<2>(0, 8).broadcast_to(k_first_rotated.shape()),
      cos.slice<2>(8, 8).broadcast_to(k_first_rotated.shape()),
      sin.slice<2>(8, 8).broadcast_to(k_first_rotated.shape()),
      k_first_rotated,
      k_second_rotated,
  };
  const stub_decoder_layer_v_heads_copy_epilogue_v_flat epilogue_v_flat{v_heads_copy.merge<2, 3>()};
  kgen::packed_matmul(normed.merge<0, 1>(), kgen::several(wq_panels, wq_panels_2, wk_panels, wk_panels_2, wv_panels),
                      /*padding=*/0,
                      kgen::several(kgen::joint<2>(epilogue_q_first_flat_q_second_flat),
                                    kgen::joint<2>(epilogue_k_first_flat_k_second_flat), epilogue_v_flat),
                      stream);
}

}  // namespace graph_llama_tiny
