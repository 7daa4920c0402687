// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of llama_tiny, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_llama_tiny {

// normed: rms_norm   (in decoder_layer)
// a_normed: rms_norm   (in decoder_layer)
// h_normed: rms_norm   (in llama_tiny)
void stub_decoder_layer_normed(kgen::View<float, 3> out, kgen::View<const float, 3> x,
                               kgen::View<const float, 1> weight, kgen::Stream stream);

// q_flat = matmul(normed, wq)   (in decoder_layer)
// k_flat = matmul(normed, wk)   (in decoder_layer)
// v_flat = matmul(normed, wv)   (in decoder_layer)
// up = matmul(a_normed, w_up)   (in decoder_layer)
// logits = matmul(h_normed, lm_head)   (in llama_tiny)
void stub_decoder_layer_q_flat(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 2> b,
                               kgen::Stream stream);

// q: rope
// k: rope
void stub_decoder_layer_q(kgen::View<float, 4> first_rotated, kgen::View<float, 4> second_rotated,
                          kgen::View<const float, 4> x, kgen::View<const float, 3> cos, kgen::View<const float, 3> sin,
                          kgen::Stream stream);

// v_heads_copy = copy(v_heads)
void stub_decoder_layer_v_heads_copy(kgen::View<float, 4> v_heads_copy, kgen::View<const float, 4> v_heads,
                                     kgen::Stream stream);

// attended = attention(q, k_used, v_used)
void stub_decoder_layer_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q,
                                 kgen::View<const float, 4> k_used, kgen::View<const float, 4> v_used,
                                 kgen::Stream stream);

// a = add(h, matmul(attended_flat, wo))
// h_out = add(a, matmul(hidden, w_down))
void stub_decoder_layer_a(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 2> b,
                          kgen::View<const float, 3> add_a, kgen::Stream stream);

// hidden = mul(silu(matmul(a_normed, w_gate)), up)
void stub_decoder_layer_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> a_normed,
                               kgen::View<const float, 2> w_gate, kgen::View<const float, 3> up, kgen::Stream stream);

}  // namespace graph_llama_tiny
