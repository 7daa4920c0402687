// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of llama_block, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_llama_block {

// normed: rms_norm
// h_normed: rms_norm
void stub_normed(kgen::View<float, 3> out, kgen::View<const float, 3> x, kgen::View<const float, 1> weight,
                 kgen::Stream stream);

// wq_panels: copy, matmul
// wq_panels_2: copy, matmul
void stub_wq_panels(kgen::View<float, 3> panels, kgen::View<const float, 3> x, kgen::Stream stream);

// wk_panels: copy, matmul
// wk_panels_2: copy, matmul
void stub_wk_panels(kgen::View<float, 3> panels, kgen::View<const float, 3> x, kgen::Stream stream);

// wv_panels: matmul
// wo_panels: matmul
// w_gate_panels: matmul
// w_up_panels: matmul
// w_down_panels: matmul
void stub_wv_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> b, kgen::Stream stream);

// q, k, v_heads_copy: packed_matmul, rope
void stub_v_heads_copy(kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
                       kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated,
                       kgen::View<float, 4> v_heads_copy, kgen::View<const float, 3> normed,
                       kgen::View<const float, 3> wq_panels, kgen::View<const float, 3> wq_panels_2,
                       kgen::View<const float, 3> wk_panels, kgen::View<const float, 3> wk_panels_2,
                       kgen::View<const float, 3> wv_panels, kgen::View<const float, 3> cos,
                       kgen::View<const float, 3> sin, kgen::Stream stream);

// attended = attention(q, k_used, v_used)
void stub_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q, kgen::View<const float, 4> k_used,
                   kgen::View<const float, 4> v_used, kgen::Stream stream);

// h = add(x, packed_matmul(attended_flat, wo_panels))
// y = add(h, packed_matmul(hidden, w_down_panels))
void stub_h(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 3> panels,
            kgen::View<const float, 3> add_a, kgen::Stream stream);

// hidden: packed_matmul, silu, mul
void stub_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> h_normed,
                 kgen::View<const float, 3> w_gate_panels, kgen::View<const float, 3> w_up_panels, kgen::Stream stream);

}  // namespace graph_llama_block
