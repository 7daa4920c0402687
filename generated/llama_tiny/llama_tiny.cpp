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
  kgen::View<const float, 1> attention_norm;
  kgen::View<const float, 2> wq;
  kgen::View<const float, 2> wk;
  kgen::View<const float, 2> wv;
  kgen::View<const float, 2> wo;
  kgen::View<const float, 1> mlp_norm;
  kgen::View<const float, 2> w_gate;
  kgen::View<const float, 2> w_up;
  kgen::View<const float, 2> w_down;
  kgen::View<float, 4> k_cache;
  kgen::View<float, 4> v_cache;
};

decoder_layer_memory decoder_layer_memory_of(kgen::Call& call, std::int64_t index, std::int64_t B) {
  return {
      .attention_norm = call.constant<float, 1>(4, index),
      .wq = call.constant<float, 2>(5, index),
      .wk = call.constant<float, 2>(6, index),
      .wv = call.constant<float, 2>(7, index),
      .wo = call.constant<float, 2>(8, index),
      .mlp_norm = call.constant<float, 1>(9, index),
      .w_gate = call.constant<float, 2>(10, index),
      .w_up = call.constant<float, 2>(11, index),
      .w_down = call.constant<float, 2>(12, index),
      .k_cache = call.state<float, 4>(0, {B, 256, 2, 16}, index),
      .v_cache = call.state<float, 4>(1, {B, 256, 2, 16}, index),
  };
}

// The arena of one call of decoder_layer: values that are never alive together share a slot.
kgen::Offsets<4> decoder_layer_slots(std::int64_t B, std::int64_t S) {
  return kgen::lay_out({
      256 * B * S,  // normed, q, a
      256 * B * S,  // q_flat, attended, a_normed
      128 * B * S,  // k_flat
      704 * B * S,  // v_flat, up, hidden
  });
}

void decoder_layer(kgen::Call& call, const kgen::Arena& arena, const decoder_layer_memory& memory,
                   kgen::View<float, 3> h_out, kgen::View<const float, 3> h, kgen::View<const float, 3> cos,
                   kgen::View<const float, 3> sin, std::int64_t B, std::int64_t S, std::int64_t P) {
  const auto slot = decoder_layer_slots(B, S);
  const auto normed = arena.view<float, 3>(slot[0], {B, S, 64});
  const auto q_flat = arena.view<float, 3>(slot[1], {B, S, 64});
  const auto k_flat = arena.view<float, 3>(slot[2], {B, S, 32});
  const auto v_flat = arena.view<float, 3>(slot[3], {B, S, 32});
  const auto q = arena.view<float, 4>(slot[0], {B, S, 4, 16});
  const auto attended = arena.view<float, 4>(slot[1], {B, S, 4, 16});
  const auto a = arena.view<float, 3>(slot[0], {B, S, 64});
  const auto a_normed = arena.view<float, 3>(slot[1], {B, S, 64});
  const auto up = arena.view<float, 3>(slot[3], {B, S, 176});
  const auto hidden = arena.view<float, 3>(slot[3], {B, S, 176});

  stub_decoder_layer_normed(normed, h, memory.attention_norm, call.launch("decoder_layer.normed"));
  stub_decoder_layer_q_flat(q_flat, normed, memory.wq, call.launch("decoder_layer.q_flat"));
  stub_decoder_layer_q_flat(k_flat, normed, memory.wk, call.launch("decoder_layer.k_flat"));
  stub_decoder_layer_q_flat(v_flat, normed, memory.wv, call.launch("decoder_layer.v_flat"));

  const auto q_first_rotated = q.slice<3>(0, 8);          // written in place
  const auto q_second_rotated = q.slice<3>(8, 8);         // written in place
  const auto q_heads = q_flat.reshape<4>({B, S, 4, 16});  // a view: no copy
  stub_decoder_layer_q(q_first_rotated, q_second_rotated, q_heads, cos, sin, call.launch("decoder_layer.q"));

  const auto k = memory.k_cache.slice<1>(P, S);           // written in place
  const auto k_first_rotated = k.slice<3>(0, 8);          // written in place
  const auto k_second_rotated = k.slice<3>(8, 8);         // written in place
  const auto k_heads = k_flat.reshape<4>({B, S, 2, 16});  // a view: no copy
  stub_decoder_layer_q(k_first_rotated, k_second_rotated, k_heads, cos, sin, call.launch("decoder_layer.k"));

  const auto v_heads_copy = memory.v_cache.slice<1>(P, S);  // written in place
  const auto v_heads = v_flat.reshape<4>({B, S, 2, 16});    // a view: no copy
  stub_decoder_layer_v_heads_copy(v_heads_copy, v_heads, call.launch("decoder_layer.v_heads_copy"));

  const auto k_used = memory.k_cache.slice<1>(0, P + S);  // a view: no copy
  const auto v_used = memory.v_cache.slice<1>(0, P + S);  // a view: no copy
  stub_decoder_layer_attended(attended, q, k_used, v_used, call.launch("decoder_layer.attended"));

  const auto attended_flat = attended.reshape<3>({B, S, 64});  // a view: no copy
  stub_decoder_layer_a(a, attended_flat, memory.wo, h, call.launch("decoder_layer.a"));
  stub_decoder_layer_normed(a_normed, a, memory.mlp_norm, call.launch("decoder_layer.a_normed"));
  stub_decoder_layer_q_flat(up, a_normed, memory.w_up, call.launch("decoder_layer.up"));
  stub_decoder_layer_hidden(hidden, a_normed, memory.w_gate, up, call.launch("decoder_layer.hidden"));
  stub_decoder_layer_a(h_out, hidden, memory.w_down, a, call.launch("decoder_layer.h_out"));
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
  const auto final_norm = call.constant<float, 1>(0);
  const auto lm_head = call.constant<float, 2>(1);
  const auto cos_table = call.constant<float, 2>(2);
  const auto sin_table = call.constant<float, 2>(3);

  // Arena: values that are never alive together share a slot.
  const auto slot = kgen::lay_out({
      256 * B * S,                      // h, h_normed
      decoder_layer_slots(B, S).total,  // the arena of decoder_layer
      256 * B * S,                      // the other h
  });
  const kgen::Arena arena = call.arena(slot.total);
  const auto h = arena.view<float, 3>(slot[0], {B, S, 64});
  const auto h_normed = arena.view<float, 3>(slot[0], {B, S, 64});

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
  stub_decoder_layer_normed(h_normed, h, final_norm, call.launch("h_normed"));
  stub_decoder_layer_q_flat(logits, h_normed, lm_head, call.launch("logits"));
}

}  // namespace
}  // namespace graph_llama_tiny

const kgen_graph* kgen_graph_llama_tiny(void) {
  static const kgen::GraphInfo graph = {
      .name = "llama_tiny",
      .inputs{
          {.name = "x", .type = kgen::ElementType::f32, .dims = {"B", "S", "64"}},
          {.name = "position", .type = kgen::ElementType::i64, .dims = {}},
      },
      .outputs{
          {.name = "logits", .type = kgen::ElementType::f32, .dims = {"B", "S", "256"}},
      },
      .constants{
          {.name = "final_norm",
           .type = kgen::ElementType::f32,
           .shape = {64},
           .file = "llama_tiny.safetensors",
           .key = "final_norm"},
          {.name = "lm_head",
           .type = kgen::ElementType::f32,
           .shape = {64, 256},
           .file = "llama_tiny.safetensors",
           .key = "lm_head"},
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
           .calls = 32},
          {.name = "decoder_layer.wq",
           .type = kgen::ElementType::f32,
           .shape = {64, 64},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.wq",
           .calls = 32},
          {.name = "decoder_layer.wk",
           .type = kgen::ElementType::f32,
           .shape = {64, 32},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.wk",
           .calls = 32},
          {.name = "decoder_layer.wv",
           .type = kgen::ElementType::f32,
           .shape = {64, 32},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.wv",
           .calls = 32},
          {.name = "decoder_layer.wo",
           .type = kgen::ElementType::f32,
           .shape = {64, 64},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.wo",
           .calls = 32},
          {.name = "decoder_layer.mlp_norm",
           .type = kgen::ElementType::f32,
           .shape = {64},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.mlp_norm",
           .calls = 32},
          {.name = "decoder_layer.w_gate",
           .type = kgen::ElementType::f32,
           .shape = {64, 176},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.w_gate",
           .calls = 32},
          {.name = "decoder_layer.w_up",
           .type = kgen::ElementType::f32,
           .shape = {64, 176},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.w_up",
           .calls = 32},
          {.name = "decoder_layer.w_down",
           .type = kgen::ElementType::f32,
           .shape = {176, 64},
           .file = "llama_tiny.safetensors",
           .key = "layers.{index}.w_down",
           .calls = 32},
      },
      .states{
          {.name = "decoder_layer.k_cache", .type = kgen::ElementType::f32, .shape = {4, 256, 2, 16}, .calls = 32},
          {.name = "decoder_layer.v_cache", .type = kgen::ElementType::f32, .shape = {4, 256, 2, 16}, .calls = 32},
      },
      .run = graph_llama_tiny::run,
  };
  return kgen::as_c(graph);
}
