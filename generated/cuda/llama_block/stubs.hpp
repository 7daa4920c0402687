// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of llama_block, each in stubs/<name>.cu.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// normed: rms_norm
void stub_normed(kgen::View<float, 3> normed, kgen::View<const float, 3> x, kgen::View<const float, 1> attention_norm,
                 kgen::Stream stream);

// q_flat = matmul(normed, wq)
void stub_q_flat(kgen::View<float, 3> q_flat, kgen::View<const float, 3> normed, kgen::View<const float, 2> wq,
                 kgen::Stream stream);

// k_flat = matmul(normed, wk)
void stub_k_flat(kgen::View<float, 3> k_flat, kgen::View<const float, 3> normed, kgen::View<const float, 2> wk,
                 kgen::Stream stream);

// q_first_rotated, q_second_rotated: rope
void stub_q_second_rotated(kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
                           kgen::View<const float, 4> q_first, kgen::View<const float, 3> q_first_cos,
                           kgen::View<const float, 4> q_second, kgen::View<const float, 3> q_first_sin,
                           kgen::View<const float, 3> q_second_cos, kgen::View<const float, 3> q_second_sin,
                           kgen::Stream stream);

// k_first_rotated, k_second_rotated: rope
void stub_k_second_rotated(kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated,
                           kgen::View<const float, 4> k_first, kgen::View<const float, 3> q_first_cos,
                           kgen::View<const float, 4> k_second, kgen::View<const float, 3> q_first_sin,
                           kgen::View<const float, 3> q_second_cos, kgen::View<const float, 3> q_second_sin,
                           kgen::Stream stream);

// v_heads_copy = copy(v_heads)
void stub_v_heads_copy(kgen::View<float, 4> v_heads_copy, kgen::View<const float, 4> v_heads, kgen::Stream stream);

// attended = attention(q, k_used, v_used)
void stub_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q, kgen::View<const float, 4> k_used,
                   kgen::View<const float, 4> v_used, kgen::Stream stream);

// h = add(x, matmul(attended_flat, wo))
void stub_h(kgen::View<float, 3> h, kgen::View<const float, 3> attended_flat, kgen::View<const float, 2> wo,
            kgen::View<const float, 3> x, kgen::Stream stream);

// up = matmul(h_normed, w_up)
void stub_up(kgen::View<float, 3> up, kgen::View<const float, 3> h_normed, kgen::View<const float, 2> w_up,
             kgen::Stream stream);

// hidden = mul(silu(matmul(h_normed, w_gate)), up)
void stub_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> h_normed, kgen::View<const float, 2> w_gate,
                 kgen::View<const float, 3> up, kgen::Stream stream);

// y = add(h, matmul(hidden, w_down))
void stub_y(kgen::View<float, 3> y, kgen::View<const float, 3> hidden, kgen::View<const float, 2> w_down,
            kgen::View<const float, 3> h, kgen::Stream stream);

}  // namespace graph_llama_block
