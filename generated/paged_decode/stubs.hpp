// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

// The stubs of paged_decode, each in stubs/<name>.cpp.
#pragma once

#include "kgen/stream.hpp"
#include "kgen/view.hpp"

namespace graph_paged_decode {

// lengths = add(last_position, 1)
void stub_lengths(kgen::View<std::int64_t, 1> lengths, kgen::View<const std::int64_t, 1> last_position,
                  kgen::Stream stream);

// cos_rows, sin_rows: embedding
void stub_sin_rows(kgen::View<float, 3> cos_rows, kgen::View<float, 3> sin_rows, kgen::View<const float, 2> cos_table,
                   kgen::View<const std::int64_t, 3> cos_rows_rows, kgen::View<const float, 2> sin_table,
                   kgen::Stream stream);

// normed_scale: rms_norm
void stub_normed_scale(kgen::View<float, 3> normed_scale, kgen::View<const float, 3> x, kgen::Stream stream);

// wq_q_first_2_copy = copy(wq_q_first_2)
// wq_q_second_2_copy = copy(wq_q_second_2)
// wk_k_first_2_copy = copy(wk_k_first_2)
// wk_k_second_2_copy = copy(wk_k_second_2)
void stub_wq_q_first_2_copy(kgen::View<float, 3> out, kgen::View<const float, 3> x, kgen::Stream stream);

// wq_q_first_3_scaled_panels: mul, matmul
// wq_q_second_3_scaled_panels: mul, matmul
// wk_k_first_3_scaled_panels: mul, matmul
// wk_k_second_3_scaled_panels: mul, matmul
// wv_scaled_panels: mul, matmul
void stub_wq_q_first_3_scaled_panels(kgen::View<float, 3> panels, kgen::View<const float, 2> a,
                                     kgen::View<const float, 2> b, kgen::Stream stream);

// v_flat, q, k: packed_matmul, mul, packed_matmul, mul, packed_matmul, mul, packed_matmul, mul, packed_matmul, ...
void stub_k(kgen::View<float, 3> v_flat, kgen::View<float, 4> q_first_rotated, kgen::View<float, 4> q_second_rotated,
            kgen::View<float, 4> k_first_rotated, kgen::View<float, 4> k_second_rotated, kgen::View<const float, 3> x,
            kgen::View<const float, 3> wq_q_first_3_scaled_panels, kgen::View<const float, 3> normed_scale,
            kgen::View<const float, 3> wq_q_second_3_scaled_panels,
            kgen::View<const float, 3> wk_k_first_3_scaled_panels,
            kgen::View<const float, 3> wk_k_second_3_scaled_panels, kgen::View<const float, 3> wv_scaled_panels,
            kgen::View<const float, 4> cos, kgen::View<const float, 4> sin, kgen::Stream stream);

// k_all, v_all: paged_cache_update
void stub_v_all(kgen::View<float, 4> k_all, kgen::View<float, 4> v_all, kgen::View<const float, 4> k_pages,
                kgen::View<const float, 4> v_pages, kgen::View<const float, 4> k, kgen::View<const float, 4> v_heads,
                kgen::View<const std::int32_t, 2> block_table, kgen::View<const std::int64_t, 2> positions,
                kgen::Stream stream);

// attended = paged_attention(q, k_all, v_all, block_table, lengths)
void stub_attended(kgen::View<float, 4> attended, kgen::View<const float, 4> q, kgen::View<const float, 4> k_all,
                   kgen::View<const float, 4> v_all, kgen::View<const std::int32_t, 2> block_table,
                   kgen::View<const std::int64_t, 1> lengths, kgen::Stream stream);

// wo_panels: matmul
void stub_wo_panels(kgen::View<float, 3> wo_panels, kgen::View<const float, 2> wo, kgen::Stream stream);

// y = add(x, packed_matmul(attended_flat, wo_panels))
void stub_y(kgen::View<float, 3> y, kgen::View<const float, 3> attended_flat, kgen::View<const float, 3> wo_panels,
            kgen::View<const float, 3> x, kgen::Stream stream);

}  // namespace graph_paged_decode
