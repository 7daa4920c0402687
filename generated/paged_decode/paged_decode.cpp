// Written by kgen from paged_decode.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "paged_decode.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_paged_decode {
namespace {

// What depends on constants alone: computed once, and kept.
void load(kgen::Call& call) {
  // Arena: values that are never alive together share a slot.
  const auto slot = kgen::lay_out({
      8192,  // wq_q_first_2_copy, wq_q_second_2_copy, wk_k_first_2_copy, wk_k_second_2_copy
  });
  const kgen::Arena arena = call.arena(slot.total);
  const auto wq_q_first_2_copy = arena.view<float, 3>(slot[0], {64, 4, 8});
  const auto wq_q_second_2_copy = arena.view<float, 3>(slot[0], {64, 4, 8});
  const auto wk_k_first_2_copy = arena.view<float, 3>(slot[0], {64, 2, 8});
  const auto wk_k_second_2_copy = arena.view<float, 3>(slot[0], {64, 2, 8});

  const auto wq = call.constant<float, 2>(1);
  const auto wq_q_first = wq.reshape<3>({64, 4, 16});   // a view: no copy
  const auto wq_q_first_2 = wq_q_first.slice<2>(0, 8);  // a view: no copy
  stub_wq_q_first_2_copy(wq_q_first_2_copy, wq_q_first_2, call.launch("wq_q_first_2_copy"));

  const auto attention_norm = call.constant<float, 1>(0);
  const auto wq_q_first_3_scaled_panels = call.persistent<float, 3>(0);
  const auto wq_q_first_3 = wq_q_first_2_copy.reshape<2>({64, 32});      // a view: no copy
  const auto attention_norm_along = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wq_q_first_3_scaled_panels, wq_q_first_3, attention_norm_along,
                                  call.launch("wq_q_first_3_scaled_panels"));
  const auto wq_q_second = wq.reshape<3>({64, 4, 16});    // a view: no copy
  const auto wq_q_second_2 = wq_q_second.slice<2>(8, 8);  // a view: no copy
  stub_wq_q_first_2_copy(wq_q_second_2_copy, wq_q_second_2, call.launch("wq_q_second_2_copy"));
  call.release_constant(1);  // wq

  const auto wq_q_second_3_scaled_panels = call.persistent<float, 3>(1);
  const auto wq_q_second_3 = wq_q_second_2_copy.reshape<2>({64, 32});      // a view: no copy
  const auto attention_norm_along_2 = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wq_q_second_3_scaled_panels, wq_q_second_3, attention_norm_along_2,
                                  call.launch("wq_q_second_3_scaled_panels"));

  const auto wk = call.constant<float, 2>(2);
  const auto wk_k_first = wk.reshape<3>({64, 2, 16});   // a view: no copy
  const auto wk_k_first_2 = wk_k_first.slice<2>(0, 8);  // a view: no copy
  stub_wq_q_first_2_copy(wk_k_first_2_copy, wk_k_first_2, call.launch("wk_k_first_2_copy"));

  const auto wk_k_first_3_scaled_panels = call.persistent<float, 3>(2);
  const auto wk_k_first_3 = wk_k_first_2_copy.reshape<2>({64, 16});        // a view: no copy
  const auto attention_norm_along_3 = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wk_k_first_3_scaled_panels, wk_k_first_3, attention_norm_along_3,
                                  call.launch("wk_k_first_3_scaled_panels"));
  const auto wk_k_second = wk.reshape<3>({64, 2, 16});    // a view: no copy
  const auto wk_k_second_2 = wk_k_second.slice<2>(8, 8);  // a view: no copy
  stub_wq_q_first_2_copy(wk_k_second_2_copy, wk_k_second_2, call.launch("wk_k_second_2_copy"));
  call.release_constant(2);  // wk

  const auto wk_k_second_3_scaled_panels = call.persistent<float, 3>(3);
  const auto wk_k_second_3 = wk_k_second_2_copy.reshape<2>({64, 16});      // a view: no copy
  const auto attention_norm_along_4 = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wk_k_second_3_scaled_panels, wk_k_second_3, attention_norm_along_4,
                                  call.launch("wk_k_second_3_scaled_panels"));

  const auto wv = call.constant<float, 2>(3);
  const auto wv_scaled_panels = call.persistent<float, 3>(4);
  const auto attention_norm_along_5 = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wv_scaled_panels, wv, attention_norm_along_5, call.launch("wv_scaled_panels"));
  call.release_constant(0);  // attention_norm
  call.release_constant(3);  // wv

  const auto wo = call.constant<float, 2>(4);
  const auto wo_panels = call.persistent<float, 3>(5);
  stub_wo_panels(wo_panels, wo, call.launch("wo_panels"));
  call.release_constant(4);  // wo
}

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t B = call.dim("B", 1, 64, call.input_extent(0, 0));
  const std::int64_t S = call.dim("S", 1, 128, call.input_extent(0, 1));
  const std::int64_t N = call.dim("N", 1, 32, call.input_extent(2, 1));

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 3>(0, {B, S, 64});
  const auto positions = call.input<std::int64_t, 2>(1, {B, S});
  const auto block_table = call.input<std::int32_t, 2>(2, {B, N});
  const auto y = call.output<float, 3>(0, {B, S, 64});

  // Memory of the model.
  const auto cos_table = call.constant<float, 2>(5);
  const auto sin_table = call.constant<float, 2>(6);
  const auto k_pages = call.state<float, 4>(0, {256, 16, 2, 16});
  const auto v_pages = call.state<float, 4>(1, {256, 16, 2, 16});
  const auto wq_q_first_3_scaled_panels = call.persistent<float, 3>(0);
  const auto wq_q_second_3_scaled_panels = call.persistent<float, 3>(1);
  const auto wk_k_first_3_scaled_panels = call.persistent<float, 3>(2);
  const auto wk_k_second_3_scaled_panels = call.persistent<float, 3>(3);
  const auto wv_scaled_panels = call.persistent<float, 3>(4);
  const auto wo_panels = call.persistent<float, 3>(5);

  // Arena: values that are never alive together share a slot.
  const auto slot = kgen::lay_out({
      8 * B,        // lengths
      64 * B * S,   // cos_rows
      64 * B * S,   // sin_rows
      4 * B * S,    // normed_scale
      128 * B * S,  // v_flat
      256 * B * S,  // q
      256 * B * S,  // k, attended
  });
  const kgen::Arena arena = call.arena(slot.total);
  const auto lengths = arena.view<std::int64_t, 1>(slot[0], {B});
  const auto cos_rows = arena.view<float, 3>(slot[1], {B, S, 16});
  const auto sin_rows = arena.view<float, 3>(slot[2], {B, S, 16});
  const auto v_flat = arena.view<float, 3>(slot[4], {B, S, 32});
  const auto q = arena.view<float, 4>(slot[5], {B, S, 4, 16});
  const auto k = arena.view<float, 4>(slot[6], {B, S, 2, 16});
  const auto attended = arena.view<float, 4>(slot[6], {B, S, 4, 16});
  const auto normed_scale = arena.view<float, 3>(slot[3], {B, S, 1});

  const auto last_position = positions.select<1>(S - 1);  // a view: no copy
  stub_lengths(lengths, last_position, call.launch("lengths"));

  const auto cos_rows_rows = positions.unsqueeze<2>();  // a view: no copy
  stub_sin_rows(cos_rows, sin_rows, cos_table, cos_rows_rows, sin_table, call.launch("sin_rows"));
  stub_normed_scale(normed_scale, x, call.launch("normed_scale"));

  const auto q_first_rotated = q.slice<3>(0, 8);   // written in place
  const auto q_second_rotated = q.slice<3>(8, 8);  // written in place
  const auto k_first_rotated = k.slice<3>(0, 8);   // written in place
  const auto k_second_rotated = k.slice<3>(8, 8);  // written in place
  const auto cos = cos_rows.unsqueeze<2>();        // a view: no copy
  const auto sin = sin_rows.unsqueeze<2>();        // a view: no copy
  stub_k(v_flat, q_first_rotated, q_second_rotated, k_first_rotated, k_second_rotated, x, wq_q_first_3_scaled_panels,
         normed_scale, wq_q_second_3_scaled_panels, wk_k_first_3_scaled_panels, wk_k_second_3_scaled_panels,
         wv_scaled_panels, cos, sin, call.launch("k"));

  const auto v_heads = v_flat.reshape<4>({B, S, 2, 16});  // a view: no copy
  stub_v_all(k_pages, v_pages, k_pages, v_pages, k, v_heads, block_table, positions, call.launch("v_all"));
  stub_attended(attended, q, k_pages, v_pages, block_table, lengths, call.launch("attended"));

  const auto attended_flat = attended.reshape<3>({B, S, 64});  // a view: no copy
  stub_y(y, attended_flat, wo_panels, x, call.launch("y"));
}

}  // namespace
}  // namespace graph_paged_decode

const kgen_graph* kgen_graph_paged_decode(void) {
  static const kgen::GraphInfo graph = {
      .name = "paged_decode",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"B", "S", "64"}},
          {.name = "positions", .type = kgen::ElementType::i64, .dims = {"B", "S"}},
          {.name = "block_table", .type = kgen::ElementType::i32, .dims = {"B", "N"}},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"B", "S", "64"}},
      },
      .constants{
          {.name = "attention_norm",
           .type = kgen::ElementType::f32,
           .shape = {64},
           .file = "paged_decode.safetensors",
           .key = "attention_norm",
           .load_only = true},
          {.name = "wq",
           .type = kgen::ElementType::f32,
           .shape = {64, 64},
           .file = "paged_decode.safetensors",
           .key = "wq",
           .load_only = true},
          {.name = "wk",
           .type = kgen::ElementType::f32,
           .shape = {64, 32},
           .file = "paged_decode.safetensors",
           .key = "wk",
           .load_only = true},
          {.name = "wv",
           .type = kgen::ElementType::f32,
           .shape = {64, 32},
           .file = "paged_decode.safetensors",
           .key = "wv",
           .load_only = true},
          {.name = "wo",
           .type = kgen::ElementType::f32,
           .shape = {64, 64},
           .file = "paged_decode.safetensors",
           .key = "wo",
           .load_only = true},
          {.name = "cos_table",
           .type = kgen::ElementType::f32,
           .shape = {512, 16},
           .file = "paged_decode.safetensors",
           .key = "cos"},
          {.name = "sin_table",
           .type = kgen::ElementType::f32,
           .shape = {512, 16},
           .file = "paged_decode.safetensors",
           .key = "sin"},
      },
      .states{
          {.name = "k_pages", .type = kgen::ElementType::f32, .shape = {256, 16, 2, 16}},
          {.name = "v_pages", .type = kgen::ElementType::f32, .shape = {256, 16, 2, 16}},
      },
      .persistents{
          {.name = "wq_q_first_3_scaled_panels", .type = kgen::ElementType::f32, .shape = {2, 64, 16}},
          {.name = "wq_q_second_3_scaled_panels", .type = kgen::ElementType::f32, .shape = {2, 64, 16}},
          {.name = "wk_k_first_3_scaled_panels", .type = kgen::ElementType::f32, .shape = {1, 64, 16}},
          {.name = "wk_k_second_3_scaled_panels", .type = kgen::ElementType::f32, .shape = {1, 64, 16}},
          {.name = "wv_scaled_panels", .type = kgen::ElementType::f32, .shape = {2, 64, 16}},
          {.name = "wo_panels", .type = kgen::ElementType::f32, .shape = {4, 64, 16}},
      },
      .load = graph_paged_decode::load,
      .run = graph_paged_decode::run,
  };
  return kgen::as_c(graph);
}
