// Written by kgen from llama_block.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "llama_block.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_llama_block {
namespace {

// What depends on constants alone: computed once, and kept.
void load(kgen::Call& call) {
  // Arena: values that are never alive together share a slot.
  const auto slot = kgen::lay_out({
      524288,  // wq_q_first_2_copy, wq_q_second_2_copy, wk_k_first_2_copy, wk_k_second_2_copy
  });
  const kgen::Arena arena = call.arena(slot.total);
  const auto wq_q_first_2_copy = arena.view<float, 3>(slot[0], {512, 8, 32});
  const auto wq_q_second_2_copy = arena.view<float, 3>(slot[0], {512, 8, 32});
  const auto wk_k_first_2_copy = arena.view<float, 3>(slot[0], {512, 4, 32});
  const auto wk_k_second_2_copy = arena.view<float, 3>(slot[0], {512, 4, 32});

  const auto wq = call.constant<float, 2>(1);
  const auto wq_q_first = wq.reshape<3>({512, 8, 64});   // a view: no copy
  const auto wq_q_first_2 = wq_q_first.slice<2>(0, 32);  // a view: no copy
  stub_wq_q_first_2_copy(wq_q_first_2_copy, wq_q_first_2, call.launch("wq_q_first_2_copy"));

  const auto attention_norm = call.constant<float, 1>(0);
  const auto wq_q_first_3_scaled_panels = call.persistent<float, 3>(0);
  const auto wq_q_first_3 = wq_q_first_2_copy.reshape<2>({512, 256});     // a view: no copy
  const auto attention_norm_along = attention_norm.reshape<2>({512, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wq_q_first_3_scaled_panels, wq_q_first_3, attention_norm_along,
                                  call.launch("wq_q_first_3_scaled_panels"));
  const auto wq_q_second = wq.reshape<3>({512, 8, 64});     // a view: no copy
  const auto wq_q_second_2 = wq_q_second.slice<2>(32, 32);  // a view: no copy
  stub_wq_q_first_2_copy(wq_q_second_2_copy, wq_q_second_2, call.launch("wq_q_second_2_copy"));
  call.release_constant(1);  // wq

  const auto wq_q_second_3_scaled_panels = call.persistent<float, 3>(1);
  const auto wq_q_second_3 = wq_q_second_2_copy.reshape<2>({512, 256});     // a view: no copy
  const auto attention_norm_along_2 = attention_norm.reshape<2>({512, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wq_q_second_3_scaled_panels, wq_q_second_3, attention_norm_along_2,
                                  call.launch("wq_q_second_3_scaled_panels"));

  const auto wk = call.constant<float, 2>(2);
  const auto wk_k_first = wk.reshape<3>({512, 4, 64});   // a view: no copy
  const auto wk_k_first_2 = wk_k_first.slice<2>(0, 32);  // a view: no copy
  stub_wq_q_first_2_copy(wk_k_first_2_copy, wk_k_first_2, call.launch("wk_k_first_2_copy"));

  const auto wk_k_first_3_scaled_panels = call.persistent<float, 3>(2);
  const auto wk_k_first_3 = wk_k_first_2_copy.reshape<2>({512, 128});       // a view: no copy
  const auto attention_norm_along_3 = attention_norm.reshape<2>({512, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wk_k_first_3_scaled_panels, wk_k_first_3, attention_norm_along_3,
                                  call.launch("wk_k_first_3_scaled_panels"));
  const auto wk_k_second = wk.reshape<3>({512, 4, 64});     // a view: no copy
  const auto wk_k_second_2 = wk_k_second.slice<2>(32, 32);  // a view: no copy
  stub_wq_q_first_2_copy(wk_k_second_2_copy, wk_k_second_2, call.launch("wk_k_second_2_copy"));
  call.release_constant(2);  // wk

  const auto wk_k_second_3_scaled_panels = call.persistent<float, 3>(3);
  const auto wk_k_second_3 = wk_k_second_2_copy.reshape<2>({512, 128});     // a view: no copy
  const auto attention_norm_along_4 = attention_norm.reshape<2>({512, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wk_k_second_3_scaled_panels, wk_k_second_3, attention_norm_along_4,
                                  call.launch("wk_k_second_3_scaled_panels"));

  const auto wv = call.constant<float, 2>(3);
  const auto wv_scaled_panels = call.persistent<float, 3>(4);
  const auto attention_norm_along_5 = attention_norm.reshape<2>({512, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(wv_scaled_panels, wv, attention_norm_along_5, call.launch("wv_scaled_panels"));
  call.release_constant(0);  // attention_norm
  call.release_constant(3);  // wv

  const auto wo = call.constant<float, 2>(4);
  const auto wo_panels = call.persistent<float, 3>(5);
  stub_wo_panels(wo_panels, wo, call.launch("wo_panels"));
  call.release_constant(4);  // wo

  const auto mlp_norm = call.constant<float, 1>(5);
  const auto w_gate = call.constant<float, 2>(6);
  const auto w_gate_scaled_panels = call.persistent<float, 3>(6);
  const auto mlp_norm_along = mlp_norm.reshape<2>({512, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(w_gate_scaled_panels, w_gate, mlp_norm_along, call.launch("w_gate_scaled_panels"));
  call.release_constant(6);  // w_gate

  const auto w_up = call.constant<float, 2>(7);
  const auto w_up_scaled_panels = call.persistent<float, 3>(7);
  const auto mlp_norm_along_2 = mlp_norm.reshape<2>({512, 1});  // a view: no copy
  stub_wq_q_first_3_scaled_panels(w_up_scaled_panels, w_up, mlp_norm_along_2, call.launch("w_up_scaled_panels"));
  call.release_constant(5);  // mlp_norm
  call.release_constant(7);  // w_up

  const auto w_down = call.constant<float, 2>(8);
  const auto w_down_panels = call.persistent<float, 3>(8);
  stub_wo_panels(w_down_panels, w_down, call.launch("w_down_panels"));
  call.release_constant(8);  // w_down
}

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t B = call.dim("B", 1, 8, call.input_extent(0, 0));
  const std::int64_t S = call.dim("S", 1, 512, call.input_extent(0, 1));
  const std::int64_t P = call.dim("P", 0, 1023, call.input_scalar(1));
  call.require(P + S, 1024, "cos_rows: the slice must end within axis 0 of cos_table");

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 3>(0, {B, S, 512});
  const auto y = call.output<float, 3>(0, {B, S, 512});

  // Memory of the model.
  const auto cos_table = call.constant<float, 2>(9);
  const auto sin_table = call.constant<float, 2>(10);
  const auto k_cache = call.state<float, 4>(0, {B, 1024, 4, 64});
  const auto v_cache = call.state<float, 4>(1, {B, 1024, 4, 64});
  const auto wq_q_first_3_scaled_panels = call.persistent<float, 3>(0);
  const auto wq_q_second_3_scaled_panels = call.persistent<float, 3>(1);
  const auto wk_k_first_3_scaled_panels = call.persistent<float, 3>(2);
  const auto wk_k_second_3_scaled_panels = call.persistent<float, 3>(3);
  const auto wv_scaled_panels = call.persistent<float, 3>(4);
  const auto wo_panels = call.persistent<float, 3>(5);
  const auto w_gate_scaled_panels = call.persistent<float, 3>(6);
  const auto w_up_scaled_panels = call.persistent<float, 3>(7);
  const auto w_down_panels = call.persistent<float, 3>(8);

  // Arena: values that are never alive together share a slot.
  const auto slot = kgen::lay_out({
      2048 * B * S,  // attended, normed_scale, h_normed_scale
      2048 * B * S,  // q, h
      5504 * B * S,  // hidden
  });
  const kgen::Arena arena = call.arena(slot.total);
  const auto q = arena.view<float, 4>(slot[1], {B, S, 8, 64});
  const auto attended = arena.view<float, 4>(slot[0], {B, S, 8, 64});
  const auto h = arena.view<float, 3>(slot[1], {B, S, 512});
  const auto hidden = arena.view<float, 3>(slot[2], {B, S, 1376});
  const auto normed_scale = arena.view<float, 3>(slot[0], {B, S, 1});
  const auto h_normed_scale = arena.view<float, 3>(slot[0], {B, S, 1});

  stub_normed_scale(normed_scale, x, call.launch("normed_scale"));

  const auto v_heads = v_cache.slice<1>(P, S);          // written in place
  const auto v_flat = v_heads.reshape<3>({B, S, 256});  // written in place
  const auto q_first_rotated = q.slice<3>(0, 32);       // written in place
  const auto q_second_rotated = q.slice<3>(32, 32);     // written in place
  const auto k = k_cache.slice<1>(P, S);                // written in place
  const auto k_first_rotated = k.slice<3>(0, 32);       // written in place
  const auto k_second_rotated = k.slice<3>(32, 32);     // written in place
  const auto cos_rows = cos_table.slice<0>(P, S);       // a view: no copy
  const auto cos = cos_rows.unsqueeze<1>();             // a view: no copy
  const auto sin_rows = sin_table.slice<0>(P, S);       // a view: no copy
  const auto sin = sin_rows.unsqueeze<1>();             // a view: no copy
  stub_k(v_flat, q_first_rotated, q_second_rotated, k_first_rotated, k_second_rotated, x, wq_q_first_3_scaled_panels,
         normed_scale, wq_q_second_3_scaled_panels, wk_k_first_3_scaled_panels, wk_k_second_3_scaled_panels,
         wv_scaled_panels, cos, sin, call.launch("k"));

  const auto k_used = k_cache.slice<1>(0, P + S);  // a view: no copy
  const auto v_used = v_cache.slice<1>(0, P + S);  // a view: no copy
  stub_attended(attended, q, k_used, v_used, call.launch("attended"));

  const auto attended_flat = attended.reshape<3>({B, S, 512});  // a view: no copy
  stub_h(h, attended_flat, wo_panels, x, call.launch("h"));
  stub_normed_scale(h_normed_scale, h, call.launch("h_normed_scale"));
  stub_hidden(hidden, h, w_gate_scaled_panels, h_normed_scale, w_up_scaled_panels, call.launch("hidden"));
  stub_h(y, hidden, w_down_panels, h, call.launch("y"));
}

}  // namespace
}  // namespace graph_llama_block

const kgen_graph* kgen_graph_llama_block(void) {
  static const kgen::GraphInfo graph = {
      .name = "llama_block",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"B", "S", "512"}},
          {.name = "position", .type = kgen::ElementType::i64, .dims = {}, .on_host = true},
      },
      .outputs{
          {.name = "y", .type = kgen::ElementType::f32, .dims = {"B", "S", "512"}},
      },
      .constants{
          {.name = "attention_norm",
           .type = kgen::ElementType::f32,
           .shape = {512},
           .file = "llama_block.safetensors",
           .key = "attention_norm",
           .load_only = true},
          {.name = "wq",
           .type = kgen::ElementType::f32,
           .shape = {512, 512},
           .file = "llama_block.safetensors",
           .key = "wq",
           .load_only = true},
          {.name = "wk",
           .type = kgen::ElementType::f32,
           .shape = {512, 256},
           .file = "llama_block.safetensors",
           .key = "wk",
           .load_only = true},
          {.name = "wv",
           .type = kgen::ElementType::f32,
           .shape = {512, 256},
           .file = "llama_block.safetensors",
           .key = "wv",
           .load_only = true},
          {.name = "wo",
           .type = kgen::ElementType::f32,
           .shape = {512, 512},
           .file = "llama_block.safetensors",
           .key = "wo",
           .load_only = true},
          {.name = "mlp_norm",
           .type = kgen::ElementType::f32,
           .shape = {512},
           .file = "llama_block.safetensors",
           .key = "mlp_norm",
           .load_only = true},
          {.name = "w_gate",
           .type = kgen::ElementType::f32,
           .shape = {512, 1376},
           .file = "llama_block.safetensors",
           .key = "w_gate",
           .load_only = true},
          {.name = "w_up",
           .type = kgen::ElementType::f32,
           .shape = {512, 1376},
           .file = "llama_block.safetensors",
           .key = "w_up",
           .load_only = true},
          {.name = "w_down",
           .type = kgen::ElementType::f32,
           .shape = {1376, 512},
           .file = "llama_block.safetensors",
           .key = "w_down",
           .load_only = true},
          {.name = "cos_table",
           .type = kgen::ElementType::f32,
           .shape = {1024, 64},
           .file = "llama_block.safetensors",
           .key = "cos"},
          {.name = "sin_table",
           .type = kgen::ElementType::f32,
           .shape = {1024, 64},
           .file = "llama_block.safetensors",
           .key = "sin"},
      },
      .states{
          {.name = "k_cache", .type = kgen::ElementType::f32, .shape = {8, 1024, 4, 64}},
          {.name = "v_cache", .type = kgen::ElementType::f32, .shape = {8, 1024, 4, 64}},
      },
      .persistents{
          {.name = "wq_q_first_3_scaled_panels", .type = kgen::ElementType::f32, .shape = {16, 512, 16}},
          {.name = "wq_q_second_3_scaled_panels", .type = kgen::ElementType::f32, .shape = {16, 512, 16}},
          {.name = "wk_k_first_3_scaled_panels", .type = kgen::ElementType::f32, .shape = {8, 512, 16}},
          {.name = "wk_k_second_3_scaled_panels", .type = kgen::ElementType::f32, .shape = {8, 512, 16}},
          {.name = "wv_scaled_panels", .type = kgen::ElementType::f32, .shape = {16, 512, 16}},
          {.name = "wo_panels", .type = kgen::ElementType::f32, .shape = {32, 512, 16}},
          {.name = "w_gate_scaled_panels", .type = kgen::ElementType::f32, .shape = {86, 512, 16}},
          {.name = "w_up_scaled_panels", .type = kgen::ElementType::f32, .shape = {86, 512, 16}},
          {.name = "w_down_panels", .type = kgen::ElementType::f32, .shape = {32, 1376, 16}},
      },
      .load = graph_llama_block::load,
      .run = graph_llama_block::run,
  };
  return kgen::as_c(graph);
}
