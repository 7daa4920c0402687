// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of llama_block, each in stubs/<name>.cu.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// normed: rms_norm
// h_normed: rms_norm
void stub_normed(kgen::View<float, 3> out, kgen::View<const float, 3> x, kgen::View<const float, 1> weight,
                 kgen::Stream stream);

// wq_q_first_2_copy = copy(wq_q_first_2)
// wq_q_second_2_copy = copy(wq_q_second_2)
// wk_k_first_2_copy = copy(wk_k_first_2)
// wk_k_second_2_copy = copy(wk_k_second_2)
void stub_wq_q_first_2_copy(kgen::View<float, 3> out, kgen::View<const float, 3> x, kgen::Stream stream);

// q, k, v_heads_copy: matmul, rope
void stub_v_heads_copy(kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
                       kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated,
                       kgen::View<float, 4> v_heads_copy, kgen::View<const float, 3> normed,
                       kgen::View<const float, 2> wq_q_first_3, kgen::View<const float, 2> wq_q_second_3,
                       kgen::View<const float, 2> wk_k_first_3, kgen::View<const float, 2> wk_k_second_3,
                       kgen::View<const float, 2> wv, kgen::View<const float, 3> cos, kgen::View<const float, 3> sin,
                       kgen::Stream stream);

// attended = attention(q, k_used, v_used)
void stub_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q, kgen::View<const float, 4> k_used,
                   kgen::View<const float, 4> v_used, kgen::Stream stream);

// h = add(x, matmul(attended_flat, wo))
// y = add(h, matmul(hidden, w_down))
void stub_h(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 2> b,
            kgen::View<const float, 3> add_a, kgen::Stream stream);

// hidden = mul(silu(matmul(h_normed, w_gate)), matmul(h_normed, w_up))
void stub_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> h_normed, kgen::View<const float, 2> w_gate,
                 kgen::View<const float, 2> w_up, kgen::Stream stream);

}  // namespace graph_llama_block
