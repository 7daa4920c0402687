// Written by kgen 0.1.0: kgen plan llama_tiny.yaml --target cpu
// Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 2b8504e0c6f3b702.

// The stubs of llama_tiny, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace llama_tiny {

// normed: rms_norm   (llama_tiny.yaml:45)
void stub_decoder_layer_normed(kgen::View<float, 3> normed, kgen::View<const float, 3> h,
                               kgen::View<const float, 1> attention_norm, kgen::Stream stream);

// q_flat = matmul(normed, wq)   (llama_tiny.yaml:46)
void stub_decoder_layer_q_flat(kgen::View<float, 3> q_flat, kgen::View<const float, 3> normed,
                               kgen::View<const float, 2> wq, kgen::Stream stream);

// k_flat = matmul(normed, wk)   (llama_tiny.yaml:47)
void stub_decoder_layer_k_flat(kgen::View<float, 3> k_flat, kgen::View<const float, 3> normed,
                               kgen::View<const float, 2> wk, kgen::Stream stream);

// q_first_rotated, q_second_rotated: rope   (llama_tiny.yaml:53)
void stub_decoder_layer_q_second_rotated(kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
                                         kgen::View<const float, 4> q_first, kgen::View<const float, 3> q_first_cos,
                                         kgen::View<const float, 4> q_second, kgen::View<const float, 3> q_first_sin,
                                         kgen::View<const float, 3> q_second_cos,
                                         kgen::View<const float, 3> q_second_sin, kgen::Stream stream);

// k_first_rotated, k_second_rotated: rope   (llama_tiny.yaml:54)
void stub_decoder_layer_k_second_rotated(kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated,
                                         kgen::View<const float, 4> k_first, kgen::View<const float, 3> q_first_cos,
                                         kgen::View<const float, 4> k_second, kgen::View<const float, 3> q_first_sin,
                                         kgen::View<const float, 3> q_second_cos,
                                         kgen::View<const float, 3> q_second_sin, kgen::Stream stream);

// v_heads_copy = copy(v_heads)   (llama_tiny.yaml:58)
void stub_decoder_layer_v_heads_copy(kgen::View<float, 4> v_heads_copy, kgen::View<const float, 4> v_heads,
                                     kgen::Stream stream);

// attended = attention(q, k_used, v_used)   (llama_tiny.yaml:62)
void stub_decoder_layer_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q,
                                 kgen::View<const float, 4> k_used, kgen::View<const float, 4> v_used,
                                 kgen::Stream stream);

// a = add(h, matmul(attended_flat, wo))   (llama_tiny.yaml:64-65)
void stub_decoder_layer_a(kgen::View<float, 3> a, kgen::View<const float, 3> attended_flat,
                          kgen::View<const float, 2> wo, kgen::View<const float, 3> h, kgen::Stream stream);

// up = matmul(a_normed, w_up)   (llama_tiny.yaml:70)
void stub_decoder_layer_up(kgen::View<float, 3> up, kgen::View<const float, 3> a_normed,
                           kgen::View<const float, 2> w_up, kgen::Stream stream);

// hidden = mul(silu(matmul(a_normed, w_gate)), up)   (llama_tiny.yaml:69-72)
void stub_decoder_layer_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> a_normed,
                               kgen::View<const float, 2> w_gate, kgen::View<const float, 3> up, kgen::Stream stream);

// h_out = add(a, matmul(hidden, w_down))   (llama_tiny.yaml:73-74)
void stub_decoder_layer_h_out(kgen::View<float, 3> h_out, kgen::View<const float, 3> hidden,
                              kgen::View<const float, 2> w_down, kgen::View<const float, 3> a, kgen::Stream stream);

// logits = matmul(h_normed, lm_head)   (llama_tiny.yaml:84)
void stub_logits(kgen::View<float, 3> logits, kgen::View<const float, 3> h_normed, kgen::View<const float, 2> lm_head,
                 kgen::Stream stream);

}  // namespace llama_tiny
