# Written by kgen from llama_block.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  llama_block.cpp
  stubs/stub_attended.cu
  stubs/stub_h.cu
  stubs/stub_hidden.cu
  stubs/stub_normed.cu
  stubs/stub_v_heads_copy.cu
  stubs/stub_wq_q_first_2_copy.cu
)
set(kgen_headers
  llama_block.hpp
  stubs.hpp
)
