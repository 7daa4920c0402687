# Written by kgen from llama_decode.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  llama_decode.cpp
  stubs/stub_decoder_layer_a.cpp
  stubs/stub_decoder_layer_attended.cpp
  stubs/stub_decoder_layer_hidden.cpp
  stubs/stub_decoder_layer_k.cpp
  stubs/stub_decoder_layer_normed_scale.cpp
  stubs/stub_decoder_layer_v_all.cpp
  stubs/stub_decoder_layer_wo_panels.cpp
  stubs/stub_decoder_layer_wq_q_first_2_copy.cpp
  stubs/stub_decoder_layer_wq_q_first_3_scaled_panels.cpp
  stubs/stub_lengths.cpp
  stubs/stub_logits.cpp
  stubs/stub_sin_rows.cpp
)
set(kgen_headers
  llama_decode.hpp
  stubs.hpp
)
