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

// wq_panels: matmul
// wk_panels: matmul
// wv_panels: matmul
// wo_panels: matmul
// w_gate_panels: matmul
// w_up_panels: matmul
// w_down_panels: matmul
void stub_wq_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> b, kgen::Stream stream);

// q_flat = packed_matmul(normed, wq_panels)
// k_flat = packed_matmul(normed, wk_panels)
// v_flat = packed_matmul(normed, wv_panels)
// up = packed_matmul(h_normed, w_up_panels)
void stub_q_flat(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 3> panels,
                 kgen::Stream stream);

// q: rope
// k: rope
void stub_q(kgen::View<float, 4> first_rotated, kgen::View<float, 4> second_rotated, kgen::View<const float, 4> x,
            kgen::View<const float, 3> cos, kgen::View<const float, 3> sin, kgen::Stream stream);

// v_heads_copy = copy(v_heads)
void stub_v_heads_copy(kgen::View<float, 4> v_heads_copy, kgen::View<const float, 4> v_heads, kgen::Stream stream);

// attended = attention(q, k_used, v_used)
void stub_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q, kgen::View<const float, 4> k_used,
                   kgen::View<const float, 4> v_used, kgen::Stream stream);

// h = add(x, packed_matmul(attended_flat, wo_panels))
// y = add(h, packed_matmul(hidden, w_down_panels))
void stub_h(kgen::View<float, 3> out, kgen::View<const float, 3> a, kgen::View<const float, 3> panels,
            kgen::View<const float, 3> add_a, kgen::Stream stream);

// hidden = mul(silu(packed_matmul(h_normed, w_gate_panels)), up)
void stub_hidden(kgen::View<float, 3> hidden, kgen::View<const float, 3> h_normed,
                 kgen::View<const float, 3> w_gate_panels, kgen::View<const float, 3> up, kgen::Stream stream);

}  // namespace graph_llama_block
