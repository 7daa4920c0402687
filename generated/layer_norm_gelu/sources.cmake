# Written by kgen 0.1.0: kgen plan layer_norm_gelu.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 8aaa4eb8d00ee370.

# The emitted C++, relative to this folder.
set(kgen_sources
  layer_norm_gelu.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  layer_norm_gelu.hpp
  stubs.hpp
)
