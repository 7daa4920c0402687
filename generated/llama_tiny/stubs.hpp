// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of llama_tiny, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// normed: rms_norm
void stub_decoder_layer_normed(kgen::View<float, 3> normed, kgen::View<const float, 3> h,
                               kgen::View<const float, 1> attention_norm, kgen::Stream stream);

// q_flat = matmul(normed, wq)
void stub_decoder_layer_q_flat(kgen::View<float, 3> q_flat, kgen::View<const float, 3> normed,
                               kgen::View<const float, 2> wq, kgen::Stream stream);

// k_flat = matmul(normed, wk)
void stub_decoder_layer_k_flat(kgen::View<float, 3> k_flat, kgen::View<const float, 3> normed,
                               kgen::View<const float, 2> wk, kgen::Stream stream);

// q_first_rotated, q_second_rotated: rope
void stub_decoder_layer_q_second_rotated(kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
                                         kgen::View<const float, 4> q_first, kgen::View<const float, 3> q_first_cos,
                                         kgen::View<const float, 4> q_second, kgen::View<const float, 3> q_first_sin,
                                         kgen::View<const float, 3> q_second_cos,
                                         kgen::View<const float, 3> q_second_sin, kgen::Stream stream);

// k_first_rotated, k_second_rotated: rope
void stub_decoder_layer_k_second_rotated(kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated,
                                         kgen::View<const float, 4> k_first, kgen::View<const float, 3> q_first_cos,
                                         kgen::View<const float, 4> k_second, kgen::View<const float, 3> q_first_sin,
                                         kgen::View<const float, 3> q_second_cos,
                                         kgen::View<const float, 3> q_second_sin, kgen::Stream stream);

// v_heads_copy = copy(v_heads)
void stub_decoder_layer_v_heads_copy(kgen::View<float, 4> v_heads_copy, kgen::View<const float, 4> v_heads,
                                     kgen::Stream stream);

// attended = attention(q, k_used, v_used)
void stub_decoder_layer_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q,
                                 kgen::View<const float, 4> k_used, kgen::View<const float, 4> v_used,
                                 kgen::Stream stream);

// a = add(h, matmul(attended_flat, wo))
void stub_decoder_layer_a(kgen::View<float, 3> a, kgen::View<const float, 3> attended_flat,
                          kgen::View<const float, 2> wo, kgen::View<const float, 3> h, kgen::Stream stream);

// up = matmul(a_normed, w_up)
void stub_decoder_layer_up(kgen::View<float, 3> up, kgen::View<const float, 3> a_normed,
                           kgen::View<const float, 2> w_up, kgen::Stream stream);

// hidden = mul(silu(matmul(a_normed, w_gate)), up)
void stub_decoder_layer_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> a_normed,
                               kgen::View<const float, 2> w_gate, kgen::View<const float, 3> up, kgen::Stream stream);

// h_out = add(a, matmul(hidden, w_down))
void stub_decoder_layer_h_out(kgen::View<float, 3> h_out, kgen::View<const float, 3> hidden,
                              kgen::View<const float, 2> w_down, kgen::View<const float, 3> a, kgen::Stream stream);

// logits = matmul(h_normed, lm_head)
void stub_logits(kgen::View<float, 3> logits, kgen::View<const float, 3> h_normed, kgen::View<const float, 2> lm_head,
                 kgen::Stream stream);

}  // namespace graph_llama_tiny
