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

// wq_panels: copy, matmul
// wq_panels_2: copy, matmul
void stub_decoder_layer_wq_panels(kgen::View<float, 3> panels, kgen::View<const float, 3> x, kgen::Stream stream);

// wk_panels: copy, matmul
// wk_panels_2: copy, matmul
void stub_decoder_layer_wk_panels(kgen::View<float, 3> panels, kgen::View<const float, 3> x, kgen::Stream stream);

// wv_panels: matmul   (in decoder_layer)
// wo_panels: matmul   (in decoder_layer)
// w_gate_panels: matmul   (in decoder_layer)
// w_up_panels: matmul   (in decoder_layer)
// w_down_panels: matmul   (in decoder_layer)
// lm_head_panels: matmul   (in llama_tiny)
void stub_decoder_layer_wv_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> b, kgen::Stream stream);

// q, k, v_heads_copy: packed_matmul, rope
void stub_decoder_layer_v_heads_copy(kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
                                     kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated,
                                     kgen::View<float, 4> v_heads_copy, kgen::View<const float, 3> normed,
                                     kgen::View<const float, 3> wq_panels, kgen::View<const float, 3> wq_panels_2,
                                     kgen::View<const float, 3> wk_panels, kgen::View<const float, 3> wk_panels_2,
                                     kgen::View<const float, 3> wv_panels, kgen::View<const float, 3> cos,
                                     kgen::View<const float, 3> sin, kgen::Stream stream);

// attended = attention(q, k_used, v_used)
void stub_decoder_layer_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q,
                                 kgen::View<const float, 4> k_used, kgen::View<const float, 4> v_used,
                                 kgen::Stream stream);

// a = add(h, packed_matmul(attended_flat, wo_panels))
// h_out = add(a, packed_matmul(hidden, w_down_panels))
void stub_decoder_layer_a(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 3> panels,
                          kgen::View<const float, 3> add_a, kgen::Stream stream);

// hidden: packed_matmul, silu, mul
void stub_decoder_layer_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> a_normed,
                               kgen::View<const float, 3> w_gate_panels, kgen::View<const float, 3> w_up_panels,
                               kgen::Stream stream);

// logits = packed_matmul(h_normed, lm_head_panels)
void stub_logits(kgen::View<float, 3> logits, kgen::View<const float, 3> h_normed,
                 kgen::View<const float, 3> lm_head_panels, kgen::Stream stream);

}  // namespace graph_llama_tiny
