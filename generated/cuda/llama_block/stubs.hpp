// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of llama_block, each in stubs/<name>.cu.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// normed_scale: rms_norm
// h_normed_scale: rms_norm
void stub_normed_scale(kgen::View<float, 3> scale, kgen::View<const float, 3> x, kgen::Stream stream);

// wq_q_first_2_copy = copy(wq_q_first_2)
// wq_q_second_2_copy = copy(wq_q_second_2)
// wk_k_first_2_copy = copy(wk_k_first_2)
// wk_k_second_2_copy = copy(wk_k_second_2)
void stub_wq_q_first_2_copy(kgen::View<float, 3> out, kgen::View<const float, 3> x, kgen::Stream stream);

// wq_q_first_3_scaled = mul(wq_q_first_3, attention_norm_along)
// wq_q_second_3_scaled = mul(wq_q_second_3, attention_norm_along_2)
// wk_k_first_3_scaled = mul(wk_k_first_3, attention_norm_along_3)
// wk_k_second_3_scaled = mul(wk_k_second_3, attention_norm_along_4)
// wv_scaled = mul(wv, attention_norm_along_5)
// w_gate_scaled = mul(w_gate, mlp_norm_along)
// w_up_scaled = mul(w_up, mlp_norm_along_2)
void stub_wq_q_first_3_scaled(kgen::View<float, 2> out, kgen::View<const float, 2> a, kgen::View<const float, 2> b,
                              kgen::Stream stream);

// v_flat, q, k: matmul, mul, matmul, mul, matmul, mul, matmul, mul, matmul, mul, rope
void stub_k(kgen::View<float, 3> v_flat, kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
            kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated, kgen::View<const float, 3> x,
            kgen::View<const float, 2> wq_q_first_3_scaled, kgen::View<const float, 3> normed_scale,
            kgen::View<const float, 2> wq_q_second_3_scaled, kgen::View<const float, 2> wk_k_first_3_scaled,
            kgen::View<const float, 2> wk_k_second_3_scaled, kgen::View<const float, 2> wv_scaled,
            kgen::View<const float, 3> cos, kgen::View<const float, 3> sin, kgen::Stream stream);

// attended = attention(q, k_used, v_used)
void stub_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q, kgen::View<const float, 4> k_used,
                   kgen::View<const float, 4> v_used, kgen::Stream stream);

// h = add(x, matmul(attended_flat, wo))
// y = add(h, matmul(hidden, w_down))
void stub_h(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 2> b,
            kgen::View<const float, 3> add_a, kgen::Stream stream);

// hidden: matmul, mul, matmul, mul, silu, mul
void stub_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> h, kgen::View<const float, 2> w_gate_scaled,
                 kgen::View<const float, 3> h_normed_scale, kgen::View<const float, 2> w_up_scaled,
                 kgen::Stream stream);

}  // namespace graph_llama_block
