// Written by kgen from llama_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of llama_decode, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_llama_decode {

// normed_scale: rms_norm   (in decoder_layer)
// a_normed_scale: rms_norm   (in decoder_layer)
// h_normed_scale: rms_norm   (in llama_decode)
void stub_decoder_layer_normed_scale(kgen::View<float, 3> scale, kgen::View<const float, 3> x, kgen::Stream stream);

// wq_q_first_2_copy = copy(wq_q_first_2)
// wq_q_second_2_copy = copy(wq_q_second_2)
// wk_k_first_2_copy = copy(wk_k_first_2)
// wk_k_second_2_copy = copy(wk_k_second_2)
void stub_decoder_layer_wq_q_first_2_copy(kgen::View<float, 3> out, kgen::View<const float, 3> x, kgen::Stream stream);

// wq_q_first_3_scaled_panels: mul, matmul   (in decoder_layer)
// wq_q_second_3_scaled_panels: mul, matmul   (in decoder_layer)
// wk_k_first_3_scaled_panels: mul, matmul   (in decoder_layer)
// wk_k_second_3_scaled_panels: mul, matmul   (in decoder_layer)
// wv_scaled_panels: mul, matmul   (in decoder_layer)
// w_gate_scaled_panels: mul, matmul   (in decoder_layer)
// w_up_scaled_panels: mul, matmul   (in decoder_layer)
// lm_head_scaled_panels: mul, matmul   (in llama_decode)
void stub_decoder_layer_wq_q_first_3_scaled_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> a,
                                                   kgen::View<const float, 2> b, kgen::Stream stream);

// v_flat, q, k: packed_matmul, mul, packed_matmul, mul, packed_matmul, mul, packed_matmul, mul, packed_matmul, ...
void stub_decoder_layer_k(
    kgen::View<float, 3> v_flat, kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
    kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated, kgen::View<const float, 3> h,
    kgen::View<const float, 3> wq_q_first_3_scaled_panels, kgen::View<const float, 3> normed_scale,
    kgen::View<const float, 3> wq_q_second_3_scaled_panels, kgen::View<const float, 3> wk_k_first_3_scaled_panels,
    kgen::View<const float, 3> wk_k_second_3_scaled_panels, kgen::View<const float, 3> wv_scaled_panels,
    kgen::View<const float, 4> cos, kgen::View<const float, 4> sin, kgen::Stream stream);

// k_all, v_all: cache_update
void stub_decoder_layer_v_all(kgen::View<float, 4> k_all, kgen::View<float, 4> v_all,
                              kgen::View<const float, 4> k_cache, kgen::View<const float, 4> v_cache,
                              kgen::View<const float, 4> k, kgen::View<const float, 4> v_heads,
                              kgen::View<const std::int64_t, 2> positions, kgen::Stream stream);

// attended = attention(q, k_all, v_all, lengths)
void stub_decoder_layer_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q,
                                 kgen::View<const float, 4> k_all, kgen::View<const float, 4> v_all,
                                 kgen::View<const std::int64_t, 1> lengths, kgen::Stream stream);

// wo_panels: matmul
// w_down_panels: matmul
void stub_decoder_layer_wo_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> b, kgen::Stream stream);

// a = add(h, packed_matmul(attended_flat, wo_panels))
// h_out = add(a, packed_matmul(hidden, w_down_panels))
void stub_decoder_layer_a(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 3> panels,
                          kgen::View<const float, 3> add_a, kgen::Stream stream);

// hidden: packed_matmul, mul, packed_matmul, mul, silu, mul
void stub_decoder_layer_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> a,
                               kgen::View<const float, 3> w_gate_scaled_panels,
                               kgen::View<const float, 3> a_normed_scale, kgen::View<const float, 3> w_up_scaled_panels,
                               kgen::Stream stream);

// cos_rows, sin_rows: embedding
void stub_sin_rows(kgen::View<float, 3> cos_rows, kgen::View<float, 3> sin_rows, kgen::View<const float, 2> cos_table,
                   kgen::View<const std::int64_t, 3> cos_rows_rows, kgen::View<const float, 2> sin_table,
                   kgen::Stream stream);

// lengths = add(last_position, 1)
void stub_lengths(kgen::View<std::int64_t, 1> lengths, kgen::View<const std::int64_t, 1> last_position,
                  kgen::Stream stream);

// logits = mul(packed_matmul(h, lm_head_scaled_panels), h_normed_scale)
void stub_logits(kgen::View<float, 3> logits, kgen::View<const float, 3> h,
                 kgen::View<const float, 3> lm_head_scaled_panels, kgen::View<const float, 3> h_normed_scale,
                 kgen::Stream stream);

}  // namespace graph_llama_decode
