# Written by kgen from llama_block.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  llama_block.cpp
  stubs/stub_attended.cu
  stubs/stub_h.cu
  stubs/stub_hidden.cu
  stubs/stub_k.cu
  stubs/stub_normed_scale.cu
  stubs/stub_wq_q_first_2_copy.cu
  stubs/stub_wq_q_first_3_scaled.cu
)
set(kgen_headers
  llama_block.hpp
  stubs.hpp
)
