# Written by kgen from llama_block.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  llama_block.cpp
  stubs/stub_attended.cpp
  stubs/stub_h.cpp
  stubs/stub_hidden.cpp
  stubs/stub_k.cpp
  stubs/stub_normed_scale.cpp
  stubs/stub_wo_panels.cpp
  stubs/stub_wq_q_first_2_copy.cpp
  stubs/stub_wq_q_first_3_scaled_panels.cpp
)
set(kgen_headers
  llama_block.hpp
  stubs.hpp
)
