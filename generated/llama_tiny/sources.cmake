# Written by kgen from llama_tiny.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  llama_tiny.cpp
  stubs/stub_decoder_layer_a.cpp
  stubs/stub_decoder_layer_attended.cpp
  stubs/stub_decoder_layer_hidden.cpp
  stubs/stub_decoder_layer_normed.cpp
  stubs/stub_decoder_layer_v_heads_copy.cpp
  stubs/stub_decoder_layer_wk_panels.cpp
  stubs/stub_decoder_layer_wq_panels.cpp
  stubs/stub_decoder_layer_wv_panels.cpp
  stubs/stub_logits.cpp
)
set(kgen_headers
  llama_tiny.hpp
  stubs.hpp
)
