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

// wq_panels: matmul   (in decoder_layer)
// wk_panels: matmul   (in decoder_layer)
// wv_panels: matmul   (in decoder_layer)
// wo_panels: matmul   (in decoder_layer)
// w_gate_panels: matmul   (in decoder_layer)
// w_up_panels: matmul   (in decoder_layer)
// w_down_panels: matmul   (in decoder_layer)
// lm_head_panels: matmul   (in llama_tiny)
void stub_decoder_layer_wq_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> b, kgen::Stream stream);

// q_flat = packed_matmul(normed, wq_panels)   (in decoder_layer)
// k_flat = packed_matmul(normed, wk_panels)   (in decoder_layer)
// v_flat = packed_matmul(normed, wv_panels)   (in decoder_layer)
// up = packed_matmul(a_normed, w_up_panels)   (in decoder_layer)
// logits = packed_matmul(h_normed, lm_head_panels)   (in llama_tiny)
void stub_decoder_layer_q_flat(kgen::View<float, 3> out, kgen::View<const float, 3> a,
                               kgen::View<const float, 3> panels, kgen::Stream stream);

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

// a = add(h, packed_matmul(attended_flat, wo_panels))
// h_out = add(a, packed_matmul(hidden, w_down_panels))
void stub_decoder_layer_a(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 3> panels,
                          kgen::View<const float, 3> add_a, kgen::Stream stream);

// hidden = mul(silu(packed_matmul(a_normed, w_gate_panels)), up)
void stub_decoder_layer_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> a_normed,
                               kgen::View<const float, 3> w_gate_panels, kgen::View<const float, 3> up,
                               kgen::Stream stream);

}  // namespace graph_llama_tiny
