# Written by kgen from paged_decode.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  paged_decode.cpp
  stubs/stub_attended.cpp
  stubs/stub_k.cpp
  stubs/stub_lengths.cpp
  stubs/stub_normed_scale.cpp
  stubs/stub_sin_rows.cpp
  stubs/stub_v_all.cpp
  stubs/stub_wo_panels.cpp
  stubs/stub_wq_q_first_2_copy.cpp
  stubs/stub_wq_q_first_3_scaled_panels.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  paged_decode.hpp
  stubs.hpp
)
