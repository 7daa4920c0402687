// Written by kgen from llama_tiny.yaml.
// Edit it as you like: `kgen plan` merges what is new with your edits.

#include "llama_tiny.hpp"

#include <cstdint>

#include "kgen/runtime/call.hpp"
#include "kgen/runtime/graph_info.hpp"
#include "stubs.hpp"

namespace graph_llama_tiny {
namespace {

// What belongs to one call of decoder_layer: its constants, state and results of load.
struct decoder_layer_memory {
  kgen::View<float, 4> k_cache;
  kgen::View<float, 4> v_cache;
  kgen::View<const float, 3> wq_q_first_3_scaled_panels;   // computed by load
  kgen::View<const float, 3> wq_q_second_3_scaled_panels;  // computed by load
  kgen::View<const float, 3> wk_k_first_3_scaled_panels;   // computed by load
  kgen::View<const float, 3> wk_k_second_3_scaled_panels;  // computed by load
  kgen::View<const float, 3> wv_scaled_panels;             // computed by load
  kgen::View<const float, 3> wo_panels;                    // computed by load
  kgen::View<const float, 3> w_gate_scaled_panels;         // computed by load
  kgen::View<const float, 3> w_up_scaled_panels;           // computed by load
  kgen::View<const float, 3> w_down_panels;                // computed by load
};

decoder_layer_memory decoder_layer_memory_of(kgen::Call& call, std::int64_t index, std::int64_t B) {
  return {
      .k_cache = call.state<float, 4>(0, {B, 256, 2, 16}, index),
      .v_cache = call.state<float, 4>(1, {B, 256, 2, 16}, index),
      .wq_q_first_3_scaled_panels = call.persistent<float, 3>(1, index),
      .wq_q_second_3_scaled_panels = call.persistent<float, 3>(2, index),
      .wk_k_first_3_scaled_panels = call.persistent<float, 3>(3, index),
      .wk_k_second_3_scaled_panels = call.persistent<float, 3>(4, index),
      .wv_scaled_panels = call.persistent<float, 3>(5, index),
      .wo_panels = call.persistent<float, 3>(6, index),
      .w_gate_scaled_panels = call.persistent<float, 3>(7, index),
      .w_up_scaled_panels = call.persistent<float, 3>(8, index),
      .w_down_panels = call.persistent<float, 3>(9, index),
  };
}

// The arena of one call of decoder_layer: values that are never alive together share a slot.
kgen::Offsets<3> decoder_layer_slots(std::int64_t B, std::int64_t S) {
  return kgen::lay_out({
      256 * B * S,  // attended, normed_scale, a_normed_scale
      256 * B * S,  // q, a
      704 * B * S,  // hidden
  });
}

// What one call of decoder_layer computes from its constants alone.
void decoder_layer_load(kgen::Call& call, std::int64_t index) {
  // Arena: values that are never alive together share a slot.
  const auto slot = kgen::lay_out({
      8192,  // wq_q_first_2_copy, wq_q_second_2_copy, wk_k_first_2_copy, wk_k_second_2_copy
  });
  const kgen::Arena arena = call.arena(slot.total);
  const auto wq_q_first_2_copy = arena.view<float, 3>(slot[0], {64, 4, 8});
  const auto wq_q_second_2_copy = arena.view<float, 3>(slot[0], {64, 4, 8});
  const auto wk_k_first_2_copy = arena.view<float, 3>(slot[0], {64, 2, 8});
  const auto wk_k_second_2_copy = arena.view<float, 3>(slot[0], {64, 2, 8});

  const auto wq = call.constant<float, 2>(5, index);
  const auto wq_q_first = wq.reshape<3>({64, 4, 16});   // a view: no copy
  const auto wq_q_first_2 = wq_q_first.slice<2>(0, 8);  // a view: no copy
  stub_decoder_layer_wq_q_first_2_copy(wq_q_first_2_copy, wq_q_first_2, call.launch("decoder_layer.wq_q_first_2_copy"));

  const auto attention_norm = call.constant<float, 1>(4, index);
  const auto wq_q_first_3_scaled_panels = call.persistent<float, 3>(1, index);
  const auto wq_q_first_3 = wq_q_first_2_copy.reshape<2>({64, 32});      // a view: no copy
  const auto attention_norm_along = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_decoder_layer_wq_q_first_3_scaled_panels(wq_q_first_3_scaled_panels, wq_q_first_3, attention_norm_along,
                                                call.launch("decoder_layer.wq_q_first_3_scaled_panels"));
  const auto wq_q_second = wq.reshape<3>({64, 4, 16});    // a view: no copy
  const auto wq_q_second_2 = wq_q_second.slice<2>(8, 8);  // a view: no copy
  stub_decoder_layer_wq_q_first_2_copy(wq_q_second_2_copy, wq_q_second_2,
                                       call.launch("decoder_layer.wq_q_second_2_copy"));
  call.release_constant(5, index);  // wq

  const auto wq_q_second_3_scaled_panels = call.persistent<float, 3>(2, index);
  const auto wq_q_second_3 = wq_q_second_2_copy.reshape<2>({64, 32});      // a view: no copy
  const auto attention_norm_along_2 = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_decoder_layer_wq_q_first_3_scaled_panels(wq_q_second_3_scaled_panels, wq_q_second_3, attention_norm_along_2,
                                                call.launch("decoder_layer.wq_q_second_3_scaled_panels"));

  const auto wk = call.constant<float, 2>(6, index);
  const auto wk_k_first = wk.reshape<3>({64, 2, 16});   // a view: no copy
  const auto wk_k_first_2 = wk_k_first.slice<2>(0, 8);  // a view: no copy
  stub_decoder_layer_wq_q_first_2_copy(wk_k_first_2_copy, wk_k_first_2, call.launch("decoder_layer.wk_k_first_2_copy"));

  const auto wk_k_first_3_scaled_panels = call.persistent<float, 3>(3, index);
  const auto wk_k_first_3 = wk_k_first_2_copy.reshape<2>({64, 16});        // a view: no copy
  const auto attention_norm_along_3 = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_decoder_layer_wq_q_first_3_scaled_panels(wk_k_first_3_scaled_panels, wk_k_first_3, attention_norm_along_3,
                                                call.launch("decoder_layer.wk_k_first_3_scaled_panels"));
  const auto wk_k_second = wk.reshape<3>({64, 2, 16});    // a view: no copy
  const auto wk_k_second_2 = wk_k_second.slice<2>(8, 8);  // a view: no copy
  stub_decoder_layer_wq_q_first_2_copy(wk_k_second_2_copy, wk_k_second_2,
                                       call.launch("decoder_layer.wk_k_second_2_copy"));
  call.release_constant(6, index);  // wk

  const auto wk_k_second_3_scaled_panels = call.persistent<float, 3>(4, index);
  const auto wk_k_second_3 = wk_k_second_2_copy.reshape<2>({64, 16});      // a view: no copy
  const auto attention_norm_along_4 = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_decoder_layer_wq_q_first_3_scaled_panels(wk_k_second_3_scaled_panels, wk_k_second_3, attention_norm_along_4,
                                                call.launch("decoder_layer.wk_k_second_3_scaled_panels"));

  const auto wv = call.constant<float, 2>(7, index);
  const auto wv_scaled_panels = call.persistent<float, 3>(5, index);
  const auto attention_norm_along_5 = attention_norm.reshape<2>({64, 1});  // a view: no copy
  stub_decoder_layer_wq_q_first_3_scaled_panels(wv_scaled_panels, wv, attention_norm_along_5,
                                                call.launch("decoder_layer.wv_scaled_panels"));
  call.release_constant(4, index);  // attention_norm
  call.release_constant(7, index);  // wv

  const auto wo = call.constant<float, 2>(8, index);
  const auto wo_panels = call.persistent<float, 3>(6, index);
  stub_decoder_layer_wo_panels(wo_panels, wo, call.launch("decoder_layer.wo_panels"));
  call.release_constant(8, index);  // wo

  const auto mlp_norm = call.constant<float, 1>(9, index);
  const auto w_gate = call.constant<float, 2>(10, index);
  const auto w_gate_scaled_panels = call.persistent<float, 3>(7, index);
  const auto mlp_norm_along = mlp_norm.reshape<2>({64, 1});  // a view: no copy
  stub_decoder_layer_wq_q_first_3_scaled_panels(w_gate_scaled_panels, w_gate, mlp_norm_along,
                                                call.launch("decoder_layer.w_gate_scaled_panels"));
  call.release_constant(10, index);  // w_gate

  const auto w_up = call.constant<float, 2>(11, index);
  const auto w_up_scaled_panels = call.persistent<float, 3>(8, index);
  const auto mlp_norm_along_2 = mlp_norm.reshape<2>({64, 1});  // a view: no copy
  stub_decoder_layer_wq_q_first_3_scaled_panels(w_up_scaled_panels, w_up, mlp_norm_along_2,
                                                call.launch("decoder_layer.w_up_scaled_panels"));
  call.release_constant(9, index);   // mlp_norm
  call.release_constant(11, index);  // w_up

  const auto w_down = call.constant<float, 2>(12, index);
  const auto w_down_panels = call.persistent<float, 3>(9, index);
  stub_decoder_layer_wo_panels(w_down_panels, w_down, call.launch("decoder_layer.w_down_panels"));
  call.release_constant(12, index);  // w_down
}

void decoder_layer(kgen::Call& call, const kgen::Arena& arena, const decoder_layer_memory& memory,
                   kgen::View<float, 3> h_out, kgen::View<const float, 3> h, kgen::View<const float, 3> cos,
                   kgen::View<const float, 3> sin, std::int64_t B, std::int64_t S, std::int64_t P) {
  const auto slot = decoder_layer_slots(B, S);
  const auto q = arena.view<float, 4>(slot[1], {B, S, 4, 16});
  const auto attended = arena.view<float, 4>(slot[0], {B, S, 4, 16});
  const auto a = arena.view<float, 3>(slot[1], {B, S, 64});
  const auto hidden = arena.view<float, 3>(slot[2], {B, S, 176});
  const auto normed_scale = arena.view<float, 3>(slot[0], {B, S, 1});
  const auto a_normed_scale = arena.view<float, 3>(slot[0], {B, S, 1});

  stub_decoder_layer_normed_scale(normed_scale, h, call.launch("decoder_layer.normed_scale"));

  const auto v_heads = memory.v_cache.slice<1>(P, S);  // written in place
  const auto v_flat = v_heads.reshape<3>({B, S, 32});  // written in place
  const auto q_first_rotated = q.slice<3>(0, 8);       // written in place
  const auto q_second_rotated = q.slice<3>(8, 8);      // written in place
  const auto k = memory.k_cache.slice<1>(P, S);        // written in place
  const auto k_first_rotated = k.slice<3>(0, 8);       // written in place
  const auto k_second_rotated = k.slice<3>(8, 8);      // written in place
  stub_decoder_layer_k(v_flat, q_first_rotated, q_second_rotated, k_first_rotated, k_second_rotated, h,
                       memory.wq_q_first_3_scaled_panels, normed_scale, memory.wq_q_second_3_scaled_panels,
                       memory.wk_k_first_3_scaled_panels, memory.wk_k_second_3_scaled_panels, memory.wv_scaled_panels,
                       cos, sin, call.launch("decoder_layer.k"));

  const auto k_used = memory.k_cache.slice<1>(0, P + S);  // a view: no copy
  const auto v_used = memory.v_cache.slice<1>(0, P + S);  // a view: no copy
  stub_decoder_layer_attended(attended, q, k_used, v_used, call.launch("decoder_layer.attended"));

  const auto attended_flat = attended.reshape<3>({B, S, 64});  // a view: no copy
  stub_decoder_layer_a(a, attended_flat, memory.wo_panels, h, call.launch("decoder_layer.a"));
  stub_decoder_layer_normed_scale(a_normed_scale, a, call.launch("decoder_layer.a_normed_scale"));
  stub_decoder_layer_hidden(hidden, a, memory.w_gate_scaled_panels, a_normed_scale, memory.w_up_scaled_panels,
                            call.launch("decoder_layer.hidden"));
  stub_decoder_layer_a(h_out, hidden, memory.w_down_panels, a, call.launch("decoder_layer.h_out"));
}

// What depends on constants alone: computed once, and kept.
void load(kgen::Call& call) {
  const auto final_norm = call.constant<float, 1>(0);
  const auto lm_head = call.constant<float, 2>(1);
  const auto lm_head_scaled_panels = call.persistent<float, 3>(0);
  const auto final_norm_along = final_norm.reshape<2>({64, 1});  // a view: no copy
  stub_decoder_layer_wq_q_first_3_scaled_panels(lm_head_scaled_panels, lm_head, final_norm_along,
                                                call.launch("lm_head_scaled_panels"));
  call.release_constant(0);  // final_norm
  call.release_constant(1);  // lm_head
  for (std::int64_t index = 0; index < 32; ++index) decoder_layer_load(call, index);
}

void run(kgen::Call& call) {
  // Sizes, each checked against its range.
  const std::int64_t B = call.dim("B", 1, 4, call.input_extent(0, 0));
  const std::int64_t S = call.dim("S", 1, 128, call.input_extent(0, 1));
  const std::int64_t P = call.dim("P", 0, 255, call.input_scalar(1));
  call.require(P + S, 256, "cos_rows: the slice must end within axis 0 of cos_table");

  // Arguments: a wrong device, dtype, rank, shape, stride or alignment is an error that names the argument.
  const auto x = call.input<float, 3>(0, {B, S, 64});
  const auto logits = call.output<float, 3>(0, {B, S, 256});

  // Memory of the model.
  const auto cos_table = call.constant<float, 2>(2);
  const auto sin_table = call.constant<float, 2>(3);
  const auto lm_head_scaled_panels = call.persistent<float, 3>(0);

  // Arena: values that are never alive together share a slot.
  const auto slot = kgen::lay_out({
      256 * B * S,                      // h
      decoder_layer_slots(B, S).total,  // the arena of decoder_layer
      256 * B * S,                      // h_normed_scale, the other h
  });
  const kgen::Arena arena = call.arena(slot.total);
  const auto h = arena.view<float, 3>(slot[0], {B, S, 64});
  const auto h_normed_scale = arena.view<float, 3>(slot[2], {B, S, 1});

  const auto cos_rows = cos_table.slice<0>(P, S);  // a view: no copy
  const auto cos = cos_rows.unsqueeze<1>();        // a view: no copy
  const auto sin_rows = sin_table.slice<0>(P, S);  // a view: no copy
  const auto sin = sin_rows.unsqueeze<1>();        // a view: no copy
  // Each call reads what the call before it wrote.
  const kgen::View<float, 3> h_carried[2] = {arena.view<float, 3>(slot[2], {B, S, 64}), h};
  for (std::int64_t i = 0; i < 32; ++i) {
    decoder_layer(call, arena.part(slot[1]), decoder_layer_memory_of(call, i, B), h_carried[i % 2],
                  i == 0 ? x : h_carried[(i + 1) % 2], cos, sin, B, S, P);
  }
  stub_decoder_layer_normed_scale(h_normed_scale, h, call.launch("h_normed_scale"));
  stub_logits(logits, h, lm_head_scaled_panels, h_normed_scale, call.launch("logits"));
}

}  // namespace
}  // namespace graph_llama_tiny

const kgen_graph* kgen_graph_llama_tiny(void) {
  static const kgen::GraphInfo graph = {
      .name = "llama_tiny",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"B", "S", "64"}},
          {.name = "position", .type = kgen::ElementType::i64, .dims = {}, .on_host = true},
      },
      .outputs{
          {.name = "logits", .type = kgen::ElementType::f32, .dims = {"B", "S", "256"}},
      },
      .constants{
          {.name = "final_norm",
           .type = kgen::ElementType::f32,
           .shape = {64},
           .file = "llama_tiny.safetensors",
           .key = "final_norm",
           .load_only = true},
          {.name = "lm_head",
           .type = kgen::ElementType::f32,
           .shape = {64, 256},
           .file = "llama_tiny.safetensors",
           .key = "lm_head",
           .load_only = true},
          {.name = "cos_table",
           .type = kgen::ElementType::f32,
           .shape = {256, 16},
           .file = "llama_tiny.safetensors",
           .key = "cos"},
          {.name = "sin_table",
           .type = kgen::ElementType::f32,
           .shape = {256, 16},
           .file = "llama_tiny.safetensors",
           .key = "sin"},
          {.name = "decoder_layer.attention_norm",
           .type = kgen::ElementType::f32,
           .shape = {64},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.attention_norm",
           .calls = 32,
           .load_only = true},
          {.name = "decoder_layer.wq",
           .type = kgen::ElementType::f32,
           .shape = {64, 64},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.wq",
           .calls = 32,
           .load_only = true},
          {.name = "decoder_layer.wk",
           .type = kgen::ElementType::f32,
           .shape = {64, 32},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.wk",
           .calls = 32,
           .load_only = true},
          {.name = "decoder_layer.wv",
           .type = kgen::ElementType::f32,
           .shape = {64, 32},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.wv",
           .calls = 32,
           .load_only = true},
          {.name = "decoder_layer.wo",
           .type = kgen::ElementType::f32,
           .shape = {64, 64},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.wo",
           .calls = 32,
           .load_only = true},
          {.name = "decoder_layer.mlp_norm",
           .type = kgen::ElementType::f32,
           .shape = {64},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.mlp_norm",
           .calls = 32,
           .load_only = true},
          {.name = "decoder_layer.w_gate",
           .type = kgen::ElementType::f32,
           .shape = {64, 176},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.w_gate",
           .calls = 32,
           .load_only = true},
          {.name = "decoder_layer.w_up",
           .type = kgen::ElementType::f32,
           .shape = {64, 176},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.w_up",
           .calls = 32,
           .load_only = true},
          {.name = "decoder_layer.w_down",
           .type = kgen::ElementType::f32,
           .shape = {176, 64},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.w_down",
           .calls = 32,
           .load_only = true},
      },
      .states{
          {.name = "decoder_layer.k_cache", .type = kgen::ElementType::f32, .shape = {4, 256, 2, 16}, .calls = 32},
          {.name = "decoder_layer.v_cache", .type = kgen::ElementType::f32, .shape = {4, 256, 2, 16}, .calls = 32},
      },
      .persistents{
          {.name = "lm_head_scaled_panels", .type = kgen::ElementType::f32, .shape = {16, 64, 16}},
          {.name = "decoder_layer.wq_q_first_3_scaled_panels",
           .type = kgen::ElementType::f32,
           .shape = {2, 64, 16},
           .calls = 32},
          {.name = "decoder_layer.wq_q_second_3_scaled_panels",
           .type = kgen::ElementType::f32,
           .shape = {2, 64, 16},
           .calls = 32},
          {.name = "decoder_layer.wk_k_first_3_scaled_panels",
           .type = kgen::ElementType::f32,
           .shape = {1, 64, 16},
           .calls = 32},
          {.name = "decoder_layer.wk_k_second_3_scaled_panels",
           .type = kgen::ElementType::f32,
           .shape = {1, 64, 16},
           .calls = 32},
          {.name = "decoder_layer.wv_scaled_panels", .type = kgen::ElementType::f32, .shape = {2, 64, 16}, .calls = 32},
          {.name = "decoder_layer.wo_panels", .type = kgen::ElementType::f32, .shape = {4, 64, 16}, .calls = 32},
          {.name = "decoder_layer.w_gate_scaled_panels",
           .type = kgen::ElementType::f32,
           .shape = {11, 64, 16},
           .calls = 32},
          {.name = "decoder_layer.w_up_scaled_panels",
           .type = kgen::ElementType::f32,
           .shape = {11, 64, 16},
           .calls = 32},
          {.name = "decoder_layer.w_down_panels", .type = kgen::ElementType::f32, .shape = {4, 176, 16}, .calls = 32},
      },
      .load = graph_llama_tiny::load,
      .run = graph_llama_tiny::run,
  };
  return kgen::as_c(graph);
}
